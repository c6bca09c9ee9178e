"""Asks the documents: search, generate, check, and say what the answer rests on. The order of the steps only.

How a follow-up is read, who generates, what is checked and when a question is refused is decided in the
modules beside. Nothing is stored: a failed service is an error of its own type and never an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rag_platform.answering.chat import Chat
from rag_platform.answering.citations import Citation, Unsupported, Verifier, source_text
from rag_platform.answering.conversation import Turn, checked, is_follow_up, standalone
from rag_platform.answering.prompts import PromptGenerator, spoken
from rag_platform.protocols import Generator
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher, SearchResult
from rag_platform.text.normalize import stored_text
from rag_platform.types import Hit, Passage, Usage

__all__ = ["Asker", "Delta", "Done", "Event", "Reply", "ReplyMode", "Sources"]

ReplyMode = Literal["extractive", "retrieve", "tools", "prompt"]
_LONGEST_QUESTION = 500
"""Characters of a stand-alone question; what a model writes beyond is no question."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said to a question, and what it rests on.

    Attributes:
        question: As it was asked.
        standalone: What was searched: the question, with its topic where it was a follow-up.
        answer: Checked, with marks ``[n]`` for ``hits[n - 1]``; the exact prompt in mode ``prompt``.
        citations: Where each cited sentence stands.
        hits: What was found.
        refused: The documents do not answer, and the answer says so.
        mode: ``extractive`` (sentences of the hits), ``retrieve`` (a model read them), ``tools`` (a model
            searched itself), ``prompt`` (nothing was asked).
        generations: The generation that was searched of each collection; empty where nothing was.
        model: The embedding model.
        generator: Who answered.
        unsupported: Sentences that what they cite does not support.
        notes: What a reader should know about how it was made.
    """

    question: str
    standalone: str
    answer: str
    citations: tuple[Citation, ...]
    hits: tuple[Hit, ...]
    refused: bool
    mode: ReplyMode
    generations: Mapping[str, int]
    model: str
    generator: str
    usage: Usage = field(default_factory=Usage)
    unsupported: tuple[Unsupported, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """What was found, before anything is said."""

    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next words of the answer, checked; all of them together are ``Reply.answer``."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The whole reply."""

    reply: Reply


Event = Sources | Delta | Done


@dataclass
class _Run:
    """One question on its way; what is known of it grows."""

    question: str
    history: tuple[Turn, ...]
    search: Callable[[str], SearchResult]
    generator: Generator
    model: str
    strict: bool
    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)


class Asker:
    """Answers questions from published collections; safe to share between threads.

    Args:
        searcher: Searches them.
        load_generator: Returns who answers where a call names nobody.
        use_tools: Whether a model may search by itself, unless a call says otherwise.
    """

    def __init__(
        self, searcher: Searcher, load_generator: Callable[[], Generator], *, use_tools: bool = True
    ) -> None:
        self._searcher, self._load_generator, self._use_tools = searcher, load_generator, use_tools

    def ask(
        self,
        question: str,
        *,
        collection: str | Sequence[str],
        model: str,
        options: SearchOptions,
        history: Sequence[Turn] = (),
        strict: bool = False,
        generator: Generator | None = None,
        tools: bool | None = None,
    ) -> Reply:
        """Return the answer to a question.

        Args:
            question: In any language.
            collection: The named corpus, or several.
            model: The embedding model whose published generations are searched.
            options: How it is searched.
            history: What was said before, without the question.
            strict: Leave out what the cited passages do not support, instead of marking it.
            generator: Who answers; None: the default.
            tools: Whether a model may search by itself; None: the default.

        Raises:
            CallerError: The question is blank, or something else about the call is wrong.
            NotPublished: Nothing is published.
            UpstreamError: The provider of the model failed.
        """
        events = self.stream(
            question,
            collection=collection,
            model=model,
            options=options,
            history=history,
            strict=strict,
            generator=generator,
            tools=tools,
        )
        return next(event.reply for event in events if isinstance(event, Done))

    def stream(
        self,
        question: str,
        *,
        collection: str | Sequence[str],
        model: str,
        options: SearchOptions,
        history: Sequence[Turn] = (),
        strict: bool = False,
        generator: Generator | None = None,
        tools: bool | None = None,
    ) -> Iterator[Event]:
        """Yield the sources, then the words of the answer as they are checked, then the reply; as ``ask``."""

        def search(query: str) -> SearchResult:
            return self._searcher.search(query, collection=collection, model=model, options=options)

        run = _Run(
            stored_text(question).strip(),
            checked(history),
            search,
            generator or self._load_generator(),
            model,
            strict,
        )
        return self._retrieved(run)

    def _retrieved(self, run: _Run) -> Iterator[Event]:
        """Search first, whatever is asked."""
        asked = _standalone(run)
        result = run.search(asked)
        yield Sources(result.hits)
        if isinstance(run.generator, PromptGenerator):
            prompt = run.generator.answer(asked, _passages(result.hits)).text
            yield Delta(prompt)
            yield Done(_reply(run, asked, result, prompt, mode="prompt"))
            return
        yield from self._generated(run, asked, result)

    def _generated(self, run: _Run, asked: str, result: SearchResult) -> Iterator[Event]:
        verifier = Verifier(result.hits, strict=run.strict, language=spoken(run.question))
        said = ""
        for piece in _pieces(run, asked, result):
            if checked_text := verifier.feed(piece):
                said += checked_text
                yield Delta(checked_text)
        if rest := verifier.finish():
            said += rest
            yield Delta(rest)
        mode: ReplyMode = "retrieve" if isinstance(run.generator, Chat) else "extractive"
        yield Done(_reply(run, asked, result, said, mode=mode, verifier=verifier))


def _standalone(run: _Run) -> str:
    """Return what is searched, by a model where one is asked anyway, else by the rule."""
    if not run.history or not is_follow_up(run.question):
        return run.question
    return standalone(run.question, run.history)


def _pieces(run: _Run, asked: str, result: SearchResult) -> Iterator[str]:
    answer = run.generator.answer(asked, _passages(result.hits))
    run.usage += answer.usage
    yield answer.text


def _passages(hits: Sequence[Hit]) -> list[Passage]:
    return [Passage(source_text(hit), hit.chunk.source, hit.chunk.page_first, hit.chunk.path) for hit in hits]


def _reply(
    run: _Run,
    asked: str,
    result: SearchResult,
    answer: str,
    *,
    mode: ReplyMode,
    verifier: Verifier | None = None,
) -> Reply:
    refused = bool(verifier and verifier.refused)
    return Reply(
        question=run.question,
        standalone=asked,
        answer=answer,
        citations=tuple(verifier.citations) if verifier and not refused else (),
        hits=result.hits,
        refused=refused,
        mode=mode,
        generations=result.generations,
        model=run.model,
        generator=run.generator.name,
        usage=run.usage,
        unsupported=tuple(verifier.unsupported) if verifier else (),
        notes=tuple(run.notes),
    )
