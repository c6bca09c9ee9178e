"""A quote is cited to its own page, not to the first page of its chunk."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import drop, ingest

from rag_platform.answering.pages import PageFinder
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.types import DEFAULT_COLLECTION

PAGES = (
    "सम्पत्ति कर मङ्सिर २० गतेभित्र तिर्नुपर्छ।",
    "ढिलो तिर्ने करदातालाई १२ प्रतिशत जरिवाना लाग्छ।",
    "राजस्व शाखा कोठा नम्बर १०४ मा छ।",
)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> System:
    home: Path = tmp_path_factory.mktemp("pages")
    made = System.from_settings(Settings.load(None, RAG_HOME=home, EMBEDDING_MODEL="hashing"))
    drop(made, {"सूचना.txt": "\f".join(PAGES)})
    ingest(made)
    return made


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("सम्पत्ति कर कहिलेभित्र तिर्नुपर्छ?", 1),
        ("ढिलो तिर्नेलाई कति जरिवाना लाग्छ?", 2),
        ("राजस्व शाखा कुन कोठामा छ?", 3),
    ],
)
def test_a_quote_has_its_own_page(system: System, question: str, page: int) -> None:
    reply = system.asker.ask(
        question, collection=DEFAULT_COLLECTION, model="hashing", options=system.search_options
    )
    chunk = reply.hits[0].chunk
    citation = next(one for one in reply.citations if one.quote == PAGES[page - 1])
    assert (chunk.page_first, chunk.page_last) == (1, 3)
    assert citation.page == page


def test_pages_of_another_version_are_not_taken_for_this_ones(system: System) -> None:
    reply = system.asker.ask(
        "राजस्व शाखा कुन कोठामा छ?",
        collection=DEFAULT_COLLECTION,
        model="hashing",
        options=system.search_options,
    )
    drop(system, {"सूचना.txt": "\f".join(("एक", "दुई", *PAGES))})
    ingest(system)
    find = PageFinder(system.catalog, system.tables)
    assert find(reply.hits[0].chunk, reply.citations[-1].start) == 1
