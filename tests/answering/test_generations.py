"""An answer that searches several times, while another generation is published, is of one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from model_server import Says, call, speaking
from support import drop, ingest

from rag_platform.answering.ask import Reply
from rag_platform.answering.chat_model import ChatModel
from rag_platform.answering.providers import Access, connect
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.types import DEFAULT_COLLECTION

# LiteLLM keeps clients and an event loop for the life of the process
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

OLD, NEW = "खानेपानीको महसुल मासिक दुई सय रुपैयाँ छ।", "खानेपानीको महसुल मासिक तीन सय रुपैयाँ छ।"
OTHER = "पुस्तकालय बिहान ९ बजे खुल्छ।"
FEE, HOURS = "खानेपानीको महसुल कति छ?", "पुस्तकालय कति बजे खुल्छ?"


class Meanwhile(list[Any]):
    """A script of a model; while it thinks about a turn, something else happens."""

    def __init__(self, turns: list[Says], at: int, happens: Callable[[], object]) -> None:
        super().__init__(turns)
        self._left, self._happens = len(turns) - at, happens

    def pop(self, at: Any = -1) -> Any:
        if len(self) == self._left:
            self._happens()
        return super().pop(at)


@pytest.fixture
def system(tmp_path: Any) -> Iterator[System]:
    made = System.from_settings(Settings.load(None, RAG_HOME=tmp_path, EMBEDDING_MODEL="hashing"))
    publish(made, OLD)
    yield made
    made.close()


def publish(system: System, text: str) -> None:
    drop(system, {"महसुल.txt": text, "पुस्तकालय.txt": OTHER})
    ingest(system)


def ask(system: System, script: list[Says], at: int, times: int = 1, **more: Any) -> Reply:
    """Return the answer of a model; before its turn ``at`` the fee rises, once or several times."""

    def rises() -> None:
        for n in range(times):
            publish(system, NEW if n == times - 1 else f"{NEW} मस्यौदा {n}।")

    with speaking([]) as server:
        server.script = Meanwhile(script, at, rises)
        to = connect("openai_compatible", own=Access("k", server.url, "m"), generic=Access())
        return system.asker.ask(
            FEE,
            collection=DEFAULT_COLLECTION,
            model="hashing",
            options=system.search_options,
            generator=ChatModel(to, first_wait_s=0.01),
            **more,
        )


@pytest.mark.parametrize("times", [1, 3])
def test_a_model_that_searches_twice_sees_what_it_saw_first(system: System, times: int) -> None:
    answer = Says((f"{OLD.removesuffix('।')} [1]।",))
    reply = ask(system, [call(FEE), call(FEE), call(HOURS), answer], 1, times)
    texts = {hit.chunk.text for hit in reply.hits}
    assert (reply.generations, NEW in texts, OLD in texts) == ({DEFAULT_COLLECTION: 1}, False, True)
    assert (reply.searched, reply.notes) == ((FEE, HOURS), ())
    assert reply.citations[0].verified
    again = system.asker.ask(
        FEE, collection=DEFAULT_COLLECTION, model="hashing", options=system.search_options
    )
    assert again.generations == {DEFAULT_COLLECTION: 1 + times}
    assert "तीन सय" in again.answer


def test_a_search_by_the_platform_after_that_of_the_model_sees_the_same(system: System) -> None:
    """What the model says without a source is not believed: the question is searched for it, later."""
    wrong = Says(calls=(("retrieve_documents", "{"),), finish="tool_calls")
    reply = ask(system, [wrong, Says(("महसुल छैन।",)), Says((f"{NEW.removesuffix('।')} [1]।",))], 1)
    assert (reply.mode, reply.generations) == ("retrieve", {DEFAULT_COLLECTION: 2})
    assert {hit.chunk.text for hit in reply.hits if "महसुल" in hit.chunk.text} == {NEW}
