"""A model that searches by itself: what is believed of it, and what does not fit into what it reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import Body, Fault, ModelServer, Says, call, speaking
from support import drop, ingest

from rag_platform.answering.ask import Asker, Delta, Done, Reply, Sources
from rag_platform.answering.chat_model import ChatModel
from rag_platform.answering.prompts import REFUSALS
from rag_platform.answering.providers import Connection
from rag_platform.answering.tools import is_bare_greeting, is_greeting
from rag_platform.errors import PromptTooLong
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.types import DEFAULT_COLLECTION

# LiteLLM keeps clients and an event loop for the life of the process
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

TEXTS = {
    "खानेपानी.txt": "खानेपानीको महसुल असार २५ गतेभित्र तिर्नुपर्छ। ढिलो भए पाँच प्रतिशत थप शुल्क लाग्छ।",
    "विद्यालय.txt": "विद्यालयको भर्ना वैशाख १५ गते सुरु हुन्छ। भर्ना शुल्क पाँच सय रुपैयाँ छ।",
    "अस्पताल.txt": "अस्पतालको ओपीडी बिहान १० बजे खुल्छ। टिकट पचास रुपैयाँमा पाइन्छ।",
}
WHEN, DATE = "खानेपानीको महसुल कहिलेसम्म तिर्नुपर्छ?", "खानेपानीको महसुल असार २५ गतेभित्र तिर्नुपर्छ"
MARS = "मंगल ग्रहमा कति उपग्रह छन्?"
TOO_LONG = Fault(
    400,
    raw=json.dumps(
        {"error": {"message": "request (9000 tokens) exceeds the available context size (2048 tokens)"}}
    ).encode(),
)


class NoMars:
    """A gate that knows what these documents do not answer."""

    def refuses(self, question: str, *seen: object, **how: object) -> bool:
        return question == MARS


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    home: Path = tmp_path_factory.mktemp("tools")
    made = System.from_settings(Settings.load(None, RAG_HOME=home, EMBEDDING_MODEL="hashing"))
    drop(made, TEXTS)
    ingest(made)
    yield made
    made.close()


def ask(system: System, question: str, server: ModelServer, **more: Any) -> Reply:
    chat = ChatModel(Connection("openai", "m", server.url, "k"), timeout_s=5, first_wait_s=0.01)
    asker = Asker(system.searcher, system.generator, gate=NoMars())
    sources, *deltas, done = asker.stream(
        question,
        collection=DEFAULT_COLLECTION,
        model="hashing",
        options=system.search_options,
        generator=chat,
        **more,
    )
    assert isinstance(sources, Sources)
    assert isinstance(done, Done)
    assert sources.hits == done.reply.hits
    assert "".join(one.text for one in deltas if isinstance(one, Delta)) == done.reply.answer
    return done.reply


def test_facts_from_a_search_that_found_none_are_refused(system: System) -> None:
    """The model knows Mars; the documents do not, whatever it cites."""
    knows = Says(("मंगल ग्रहका दुई ", "उपग्रह छन् [1]।"))
    with speaking([call(MARS), knows]) as server:
        reply = ask(system, MARS, server)
    assert (reply.answer, reply.refused, reply.citations) == (REFUSALS["ne"], True, ())
    assert (reply.mode, reply.standalone) == ("tools", MARS)
    assert reply.hits, "what was found is shown, though it does not answer"
    assert "its answer was refused" in reply.notes[0]


def test_a_model_that_refuses_itself_is_not_told_off(system: System) -> None:
    with speaking([call(MARS), Says((REFUSALS["ne"],))]) as server:
        reply = ask(system, MARS, server)
    assert (reply.answer, reply.refused, reply.notes) == (REFUSALS["ne"], True, ())


def test_it_may_search_again_and_find(system: System) -> None:
    elsewhere = call(MARS, filters=["source=अस्पताल.txt"])
    with speaking([elsewhere, call(WHEN), Says((f"{DATE} [2]।",))]) as server:
        reply = ask(system, WHEN, server)
    assert not reply.refused
    assert [one.quote for one in reply.citations if one.verified] == [f"{DATE}।"]
    assert reply.searched == (MARS, WHEN)


def test_facts_behind_a_search_that_are_not_in_it_are_marked_or_left_out(system: System) -> None:
    invents = Says((f"{DATE} [1]। नेपालको राजधानी काठमाडौँ हो।",))
    with speaking([call(WHEN), invents]) as server:
        reply = ask(system, WHEN, server)
    assert reply.answer == f"{DATE} [1]। नेपालको राजधानी काठमाडौँ हो [अप्रमाणित]।"
    with speaking([call(WHEN), Says(("नेपालको राजधानी काठमाडौँ हो।",))]) as server:
        strict = ask(system, WHEN, server, strict=True)
    assert (strict.answer, strict.refused, strict.citations) == (REFUSALS["ne"], True, ())


@pytest.mark.parametrize(
    ("question", "greets", "bare"),
    [
        ("नमस्ते! सन्चै हुनुहुन्छ?", True, False),
        ("Hello, how are you?", True, True),
        ("Thanks a lot!", True, True),
        ("नमस्ते, राजधानी कुन हो?", False, False),
        ("Hi, who won?", False, False),
        ("हेलो, नेपालको राजधानी", True, False),
        ("किताब कहाँ छ?", False, False),
    ],
)
def test_what_greets_and_asks_nothing(question: str, greets: bool, bare: bool) -> None:
    assert (is_greeting(question), is_bare_greeting(question)) == (greets, bare)


def test_a_greeting_that_names_something_is_not_passed_off_as_sourced(system: System) -> None:
    with speaking([Says(("राजधानी काठमाडौँ हो [1]।",))]) as server:
        reply = ask(system, "हेलो, नेपालको राजधानी", server)
    assert reply.answer == "राजधानी काठमाडौँ हो।\n\n(यो जवाफ कागजातबाट लिइएको होइन, मोडेलको आफ्नै हो।)"
    assert (reply.hits, reply.citations) == ((), ())


def reads(most: int, then: str) -> Any:
    """Return a model that refuses more passages than it can read, and says something to fewer."""

    def says(body: Body) -> Says | Fault:
        asked = body["messages"][-1]["content"]
        return TOO_LONG if asked.count("\n\n[") > most else Says((then,))

    return says


@pytest.mark.parametrize("most", [1, 2])
def test_passages_that_a_model_cannot_read_are_left_out_and_told(system: System, most: int) -> None:
    with speaking(reads(most, f"{DATE} [1]।")) as server:
        reply = ask(system, WHEN, server, tools=False)
    assert reply.answer == f"{DATE} [1]।"
    assert len(reply.hits) == 3
    assert reply.notes == (f"the model can read {most} of the 3 passages at once: the last were left out",)
    assert [body["messages"][-1]["content"].count("\n\n[") for body in server.bodies] == list(
        range(3, most - 1, -1)
    )


def test_a_prompt_of_one_passage_that_is_too_long_is_an_error(system: System) -> None:
    with speaking(reads(0, "")) as server, pytest.raises(PromptTooLong, match="reads more"):
        ask(system, WHEN, server, tools=False)
    assert len(server.bodies) == 3


def test_a_conversation_that_outgrows_the_model_is_answered_from_what_was_found(system: System) -> None:
    with speaking([call(WHEN), TOO_LONG, TOO_LONG, Says((f"{DATE} [1]।",))]) as server:
        reply = ask(system, WHEN, server)
    assert (reply.answer, reply.mode) == (f"{DATE} [1]।", "tools")
    assert reply.notes == (
        "the conversation is longer than the model can read: it searched no further",
        "the model can read 2 of the 3 passages at once: the last were left out",
    )
    with speaking([TOO_LONG, Says((f"{DATE} [1]।",))]) as server:
        reply = ask(system, WHEN, server)
    assert (reply.answer, reply.mode) == (f"{DATE} [1]।", "retrieve")
