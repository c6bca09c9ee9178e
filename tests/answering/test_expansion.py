"""A question in other words: searched, joined, told and counted; a model that fails at it stops nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from model_server import Fault, ModelServer, Says, call, speaking
from support import drop, ingest

from rag_platform.answering.ask import Asker, Reply
from rag_platform.answering.chat_model import ChatModel
from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.answering.providers import Access, connect
from rag_platform.errors import CallerError
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.types import DEFAULT_COLLECTION, Usage

# LiteLLM keeps clients and an event loop for the life of the process
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

TEXTS = {
    "कर.txt": "सम्पत्ति करको दर नगरसभाले तोक्छ।",
    "महसुल.txt": "विद्युत् महसुल हरेक महिनाको सात गतेभित्र बुझाउनुपर्छ।",
    "पुस्तकालय.txt": "पुस्तकालय बिहान ९ बजे खुल्छ।",
    "library.txt": "Members may borrow three books for fourteen days.",
    "विद्यालय.txt": "विद्यालयको भर्ना वैशाख १५ गते सुरु हुन्छ।",
}
ASKED, ANSWER = "बत्तीको पैसा कहिले तिर्ने?", "विद्युत् महसुल हरेक महिनाको सात गतेभित्र बुझाउनुपर्छ [1]।"
OTHERS = ("विद्युत् महसुल कहिले बुझाउने?", "विद्युत् महसुल बुझाउने मिति")


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    home = tmp_path_factory.mktemp("expansion")
    made = System.from_settings(Settings.load(None, RAG_HOME=home, EMBEDDING_MODEL="hashing"))
    drop(made, TEXTS)
    ingest(made)
    yield made
    made.close()


def ask(system: System, server: ModelServer | None, question: str = ASKED, **more: Any) -> Reply:
    seconds, default = more.pop("seconds", 10.0), more.pop("default", 0)
    if server is not None:
        to = connect("openai_compatible", own=Access("k", server.url, "m"), generic=Access())
        more["generator"] = ChatModel(to, timeout_s=5, first_wait_s=0.01)
    asker = Asker(system.searcher, system.generator, expand=default, expand_s=seconds)
    return asker.ask(
        question,
        collection=DEFAULT_COLLECTION,
        model="hashing",
        options=system.search_options,
        **{"tools": False} | more,
    )


def written(*wordings: object) -> Says:
    return Says((json.dumps(wordings, ensure_ascii=False),))


def test_other_words_find_what_the_question_did_not_say(system: System) -> None:
    with speaking([Says((ANSWER,)), written(*OTHERS), Says((ANSWER,))]) as server:
        plain = ask(system, server)
        reply = ask(system, server, expand=2)
    assert plain.searched == (ASKED,)
    assert reply.searched == (ASKED, *OTHERS)
    assert reply.hits[0].chunk.source == "महसुल.txt"
    assert reply.hits[0].score == pytest.approx(max(hit.score for hit in reply.hits))
    assert (reply.answer, reply.citations[0].verified, reply.notes) == (ANSWER, True, ())
    assert reply.usage == plain.usage + plain.usage
    assert ASKED in server.messages(1)[-1]["content"]
    assert "2 other wordings" in server.messages(1)[0]["content"]


def test_the_default_is_that_of_the_settings_and_a_request_can_turn_it_off(system: System) -> None:
    with speaking([written(*OTHERS), Says((ANSWER,)), Says((ANSWER,))]) as server:
        on, off = ask(system, server, default=1), ask(system, server, default=1, expand=0)
    assert (on.searched, off.searched) == ((ASKED, OTHERS[0]), (ASKED,))
    made = System.from_settings(Settings.load(None, RAG_HOME=system.home, EMBEDDING_MODEL="hashing"))
    assert (made.settings.query_expansion, made.settings.query_expansion_s) == (0, 4.0)
    made.close()


@pytest.mark.parametrize(
    ("turn", "note"),
    [
        (Says(('["विद्युत् महसुल', " कहिले")), "the model wrote no other wording"),
        (written(7, "", " \u200b ", ASKED, "क" * 501), "the model wrote no other wording"),
        (Says(("[" * 20_000 + "]" * 20_000,)), "the model wrote no other wording"),
        (Says(("बत्तीको पैसा हरेक महिना।",)), "the model wrote no other wording"),
        (Says(()), "the model failed (openai/m answered nothing"),
        (Fault(401), "the model failed ("),
        (Says(("[",), cut="broken"), "the model failed ("),
    ],
)
def test_a_model_that_fails_at_it_stops_nothing(system: System, turn: Says | Fault, note: str) -> None:
    with speaking([turn, Says((ANSWER,))]) as server:
        reply = ask(system, server, expand=2)
    assert (reply.searched, len(reply.notes)) == ((ASKED,), 1)
    assert reply.notes[0].startswith(note)
    assert reply.notes[0].endswith("the question was searched as it stands")


def test_a_model_that_is_slow_at_it_is_not_waited_for(system: System) -> None:
    slow = Says(('["विद्युत् महसुल कहिले', ' बुझाउने?"]'), pause_s=0.8)
    with speaking([slow, Says((ANSWER,))]) as server:
        began = time.monotonic()
        reply = ask(system, server, expand=2, seconds=0.3)
        took = time.monotonic() - began
    assert reply.searched == (ASKED,)
    assert reply.notes == ("the model took too long: the question was searched as it stands",)
    assert reply.usage == Usage(100, 10)
    assert took < 0.8 * 3  # two pieces and an empty one, each after its pause


def test_what_a_model_searches_by_itself_is_put_otherwise_too(system: System) -> None:
    script = [call(ASKED), written(*OTHERS), call("पुस्तकालय"), written("कति बजे"), Says((ANSWER,))]
    with speaking(script) as server:
        reply = ask(system, server, expand=2, tools=True)
    assert reply.searched == (ASKED, *OTHERS, "पुस्तकालय", "कति बजे")
    assert reply.usage.tokens == 5 * 110
    assert reply.mode == "tools"


def test_without_a_model_nobody_writes_other_words(system: System) -> None:
    reply = ask(system, None, generator=ExtractiveGenerator(), expand=2)
    assert reply.searched == (ASKED,)
    assert reply.notes == ("nobody writes other wordings: no model answers (extractive)",)
    assert ask(system, None, generator=ExtractiveGenerator(), default=2).notes == ()


def test_too_many_are_refused(system: System) -> None:
    with speaking([]) as server, pytest.raises(CallerError, match="0 to 4"):
        ask(system, server, expand=5)
