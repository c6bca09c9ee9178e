"""Questions in one language to documents in another, the whole way, with the bundled encoder and no model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from model_server import Says, speaking
from support import drop, ingest

from rag_platform.answering.chat_model import ChatModel
from rag_platform.answering.prompts import REFUSALS
from rag_platform.answering.providers import Access, connect
from rag_platform.answering.reply import Reply
from rag_platform.protocols import Generator
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.types import DEFAULT_COLLECTION

# LiteLLM keeps clients and an event loop for the life of the process
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

MODEL = "intfloat/multilingual-e5-small"
TEXTS = {
    "पशु.txt": "पशुपालन शाखाले कुकुरलाई रेबिजविरुद्धको खोप निःशुल्क लगाउँछ। खोप लगाउन बिहान ११ बजेसम्म आउनुपर्छ।",
    "सडक.txt": "मुख्य सडकमा भारी सवारी साधन राति मात्र चल्न पाउँछन्। नियम तोड्नेलाई पाँच सय रुपैयाँ जरिवाना हुन्छ।",
    "बजार.txt": "हाट बजार हरेक बिहीबार लाग्छ। पसल राख्न अघिल्लो दिन दर्ता गर्नुपर्छ।",
    "पोखरी.txt": "पोखरीमा माछा मार्न पाइँदैन। डिलमा सय वटा रूख रोपिएका छन्।",
    "hall.txt": "The community hall can be hired for weddings. The rent is 4,000 rupees a day.",
}
RABIES = "पशुपालन शाखाले कुकुरलाई रेबिजविरुद्धको खोप निःशुल्क लगाउँछ"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    home = tmp_path_factory.mktemp("languages")
    made = System.from_settings(Settings.load(None, RAG_HOME=home, EMBEDDING_MODEL=MODEL))
    drop(made, TEXTS)
    ingest(made)
    yield made
    made.close()


def ask(system: System, question: str, generator: Generator | None = None) -> Reply:
    return system.asker.ask(
        question,
        collection=DEFAULT_COLLECTION,
        model=MODEL,
        options=system.search_options,
        generator=generator,
        tools=False,
    )


@pytest.mark.parametrize(
    ("question", "source", "quote"),
    [
        ("How much does the rabies vaccination of a dog cost?", "पशु.txt", f"{RABIES}।"),
        ("On which day is the market held?", "बजार.txt", "हाट बजार हरेक बिहीबार लाग्छ।"),
        ("haat bazar kun din lagcha?", "बजार.txt", "हाट बजार हरेक बिहीबार लाग्छ।"),
        ("सामुदायिक भवनको भाडा दिनको कति हो?", "hall.txt", "The rent is 4,000 rupees a day."),
    ],
)
def test_the_sentence_that_answers_is_quoted_whatever_its_language(
    system: System, question: str, source: str, quote: str
) -> None:
    reply = ask(system, question)
    assert not reply.refused
    cited = [(one.source, one.quote, one.verified) for one in reply.citations]
    assert (source, quote, True) in cited
    assert all(one.quote in TEXTS[one.source] for one in reply.citations)


@pytest.mark.parametrize(
    ("question", "refusal"),
    [
        ("Who won the football world cup in 1998?", REFUSALS["en"]),
        ("hawaijahaj ko ticket kati parcha?", REFUSALS["ne"]),
    ],
)
def test_what_no_document_says_is_refused_in_its_language(
    system: System, question: str, refusal: str
) -> None:
    reply = ask(system, question)
    assert (reply.answer, reply.refused, reply.citations) == (refusal, True, ())


def test_a_model_reads_what_shares_no_word_with_the_question(system: System) -> None:
    question = "घरमा पालेको जनावरले टोक्दा लाग्ने रोगबाट बच्न सुई हान्न पैसा लाग्छ?"
    with speaking([Says((f"{RABIES} [1]।",))]) as server:
        to = connect("openai_compatible", own=Access("k", server.url, "m"), generic=Access())
        reply = ask(system, question, ChatModel(to, first_wait_s=0.01))
    assert len(server.bodies) == 1
    assert (reply.hits[0].chunk.source, reply.citations[0].verified) == ("पशु.txt", True)
