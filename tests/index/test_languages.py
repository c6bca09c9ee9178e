"""Documents in the neighbours of Nepali are found by the words of a question, inflected as they may be."""

from __future__ import annotations

from pathlib import Path

import pytest
from points import COLLECTION, MODEL, Corpus

from rag_platform.index.edge import EdgeIndex
from rag_platform.index.exact import ExactIndex
from rag_platform.protocols import Index
from rag_platform.text.analyze import weighted_terms

TEXTS = {
    "hi-पुस्तकालय.txt": ["पुस्तकालय में किताबें मुफ़्त मिलती हैं और लड़कों के लिए अलग कमरा है।"],
    "hi-पानी.txt": ["गाँव में नहरों से खेतों तक पानी पहुँचाया जाता है।"],
    "mr-ग्रंथालय.txt": ["ग्रंथालयात वाचकांना वर्तमानपत्रे मोफत मिळतात आणि सदस्यत्व वर्षभर असते."],
    "mr-कर.txt": ["मालमत्ताकराची पावती नगरपालिकेच्या कार्यालयात मिळते."],
    "bn-পাঠাগার.txt": ["পাঠাগারে শিশুদের জন্য গল্পের বই বিনামূল্যে দেওয়া হয়।"],
    "bn-জমি.txt": ["জমির খাজনা চৈত্র মাসের মধ্যে তহশিলদারের কাছে জমা দিতে হয়।"],
    "te-గ్రంథాలయం.txt": ["గ్రంథాలయంలో పిల్లలకు కథల పుస్తకాలు ఉచితంగా ఇస్తారు."],
    "te-నీరు.txt": ["పొలాలకు కాలువల ద్వారా సాగునీటిని అందిస్తారు."],
    "ne-पुस्तक.txt": ["विद्यालयले विद्यार्थीलाई निःशुल्क पाठ्यपुस्तक दिन्छ।"],
}


@pytest.fixture(scope="module", params=["exact", "edge"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    made: Index = (
        ExactIndex() if request.param == "exact" else EdgeIndex(Path(tmp_path_factory.mktemp("edge")))
    )
    Corpus(TEXTS).publish(made)
    return made


@pytest.mark.parametrize(
    ("query", "source"),
    [
        ("लड़के को किताब कहाँ मिलेगी?", "hi-पुस्तकालय.txt"),
        ("नहर का पानी खेत", "hi-पानी.txt"),
        ("ग्रंथालय सदस्य", "mr-ग्रंथालय.txt"),
        ("मालमत्ता कर नगरपालिका", "mr-कर.txt"),
        ("শিশুর গল্প", "bn-পাঠাগার.txt"),
        ("তহশিলদার", "bn-জমি.txt"),
        ("గ్రంథాలయ పుస్తకం", "te-గ్రంథాలయం.txt"),
        ("కాలువలు పొలం", "te-నీరు.txt"),
        ("पाठ्यपुस्तक", "ne-पुस्तक.txt"),
    ],
)
def test_the_document_is_found_first(index: Index, query: str, source: str) -> None:
    reader = index.open(COLLECTION, MODEL)
    best = reader.lexical(weighted_terms(query), limit=3)[0]
    assert reader.fetch([best.chunk_id])[best.chunk_id].source == source
