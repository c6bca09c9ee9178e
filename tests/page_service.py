"""A service with documents of our own, for the tests of its page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from http_service import served, wait, wire

from rag_platform.platform import RagPlatform
from serving.app import create_app

LIBRARY_ACT = Path("eval_datasets/nepali_starter/library_act/documents/पुस्तकालय-ऐन-२०८०.pdf")
NOTICE = "सुनकोशी नगरपालिकाको सूचना। सम्पत्ति कर असार मसान्तभित्र तिर्नुहोला। ढिलो तिर्नेलाई दश प्रतिशत जरिवाना लाग्नेछ।"
HOSTILE = (
    "घरजग्गा नामसारी शुल्क <script>document.title='चोरी'</script> <img src=x onerror=\"document.title='चोरी'\">"
    " '\"><svg onload=document.title='चोरी'> {{ 7*7 }} एक हजार रुपैयाँ लाग्छ।"
)
HOSTILE_NAME = "<img src=x onerror=document.title='चोरी'>.txt"


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    system = wire(tmp_path_factory.mktemp("page"))
    rag = RagPlatform(system=system)
    rag.add_text(NOTICE, name="कर सूचना.txt")
    rag.add_text(HOSTILE, name=HOSTILE_NAME)
    rag.ingest(LIBRARY_ACT)
    rag.add_text("धारा शनिबार बिहान मर्मत हुन्छ।", name="खानेपानी.txt", collection="water")
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/readyz").status_code == 200)
        yield client
