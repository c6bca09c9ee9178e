"""A model that searches by itself: its turns, its calls, and what is made of one that did not search.

What a call may do stands in ``tools``. What the model says is checked as any other answer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence

from rag_platform.answering.chat import Chat, Message, Said, ToolCall
from rag_platform.answering.citations import Verifier
from rag_platform.answering.prompts import is_refusal, refusal, spoken
from rag_platform.answering.reply import Event, Sources
from rag_platform.answering.run import Run, passage
from rag_platform.answering.support import cited, without_marks
from rag_platform.answering.tools import (
    TOOL,
    UNSOURCED,
    Found,
    calling,
    is_bare_greeting,
    is_greeting,
    is_translation,
    opening,
    results,
    search_of,
    shown,
)
from rag_platform.errors import CallerError, PromptTooLong, UpstreamError
from rag_platform.watching import timed

__all__ = ["with_tools"]

_TURNS = 4
"""Of a model that searches by itself; in the last one it has no tool and must answer."""
_MOST_CALLS = 4
"""Searches of one turn; what is beyond is answered by saying so."""
_NO_TOOLS = frozenset({400, 404, 422, 501})
"""What a server answers that does not know tools."""


class _Changed(Exception):
    """Two searches of one answer saw two generations."""


def with_tools(run: Run, chat: Chat) -> Iterator[Event]:
    """Let a model search by itself; where it should have and did not, it gets the passages anyway.

    Raises:
        UpstreamError: The provider failed, or the collection changed again and again.
    """
    if not chat.has_tools:
        run.notes.append(f"{chat.name} knows no tools: the question was searched as it stands")
        yield from run.retrieved()
        return
    for is_last in (False, True):
        try:
            yield from _Conversation(run, chat).events()
            return
        except _Changed:
            if is_last:
                raise UpstreamError("the collection changes faster than it is asked; ask again") from None
            run.notes.append("the collection changed meanwhile: the question was begun anew")


class _Conversation:
    """One conversation with a model that has the tool."""

    def __init__(self, run: Run, chat: Chat) -> None:
        self._run, self._chat, self._found = run, chat, Found()
        self._messages: list[Message] = opening(run.question, run.history)
        self._verifier: Verifier | None = None
        self._held = ""

    def events(self) -> Iterator[Event]:
        """Yield what is found and said."""
        said = Said("")
        for turn in range(1, _TURNS + 1):
            try:
                said = yield from self._listened((TOOL,) if turn < _TURNS else ())
            except PromptTooLong:
                yield from self._overflowed()
                return
            except UpstreamError as error:
                if turn > 1 or error.status not in _NO_TOOLS:
                    raise
                self._run.notes.append(f"{self._chat.name} refused tools ({error.status})")
                yield from self._run.retrieved()
                return
            if not said.calls or self._verifier:
                break
            self._messages += [calling(said), *map(self._result, range(len(said.calls)), said.calls)]
        yield from self._closed(said)

    def _listened(self, tools: Sequence[Message]) -> Generator[Event, None, Said]:
        """Yield words of an answer as they come; whoever only announces a search cites nothing."""
        self._held, said = "", Said("")
        for piece in timed("generation", self._chat.stream(self._messages, tools=tools)):
            if isinstance(piece, Said):
                self._run.heard(piece)
                said = piece
                continue
            self._held += piece
            if self._verifier is None and self._found.may_answer and cited(self._held):
                yield from self._begun()
            if self._verifier is not None:
                yield from self._run.told(self._verifier.feed(self._held))
                self._held = ""
        return said

    def _overflowed(self) -> Iterator[Event]:
        """Yield an answer to what was found by now: the model cannot read more of the conversation."""
        self._run.notes.append("the conversation is longer than the model can read: it searched no further")
        if self._found.queries:
            yield from self._closed(Said(""))
        else:
            yield from self._run.retrieved()

    def _begun(self) -> Iterator[Event]:
        """Yield the sources: from here on nothing more is searched."""
        self._verifier = self._run.verifier(self._found.hits)
        yield Sources(tuple(self._found.hits))

    def _result(self, at: int, call: ToolCall) -> Message:
        """Search what a call asks for and return its passages, or what is wrong with the call."""
        if at >= _MOST_CALLS:
            return results(call, f"not searched: at most {_MOST_CALLS} calls in one turn")
        try:
            query, options = search_of(call, self._run.options)
            result = self._run.found(query, options)
        except CallerError as error:
            self._run.notes.append(f"a call of the model was refused: {error}")
            return results(call, f"error: {error}")
        numbers = self._found.add(result, may_answer=not self._run.is_hopeless(query, result))
        if self._found.is_mixed:
            raise _Changed
        listed = [(number, passage(self._found.hits[number - 1])) for number in numbers]
        return results(call, shown(listed))

    def _closed(self, said: Said) -> Iterator[Event]:
        """Yield the rest, by what the model did: it searched, it had no need to, or it should have."""
        run, found = self._run, self._found
        said_text = said.text.strip()
        if found.may_answer:
            yield from self._answered(said_text)
        elif said_text and (is_greeting(run.question) or is_translation(run.question)):
            yield Sources(())
            remark = "" if is_bare_greeting(run.question) else f"\n\n{UNSOURCED[spoken(run.question)]}"
            yield from run.told(without_marks(said_text) + remark)
            yield run.done("tools", run.question, (), {})
        elif found.queries:
            if said_text and not is_refusal(said_text):
                run.notes.append("the model answered, but nothing that it found does: its answer was refused")
            yield from self._answered(refusal(run.question))
        else:
            run.notes.append("the model did not search: the question was searched for it")
            yield from run.retrieved()

    def _answered(self, text: str) -> Iterator[Event]:
        """Yield the rest of an answer from what was found; without words of its own the model reads that."""
        run, found = self._run, self._found
        asked = found.queries[0]
        pieces: Iterable[str] = [self._held]
        if self._verifier is None:
            yield from self._begun()
            pieces = [text] if text else run.pieces(asked, found.hits)
        assert self._verifier is not None
        yield from run.checked(self._verifier, pieces)
        yield run.done("tools", asked, found.hits, found.generations, self._verifier)
