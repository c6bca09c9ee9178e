"""Asks the documents: who answers, from what, under which rules. The way of a question stands in ``run``.

Nothing is stored: a failed service is an error of its own type and never an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rag_platform.answering.chat import Chat
from rag_platform.answering.conversation import Turn, checked
from rag_platform.answering.expansion import Expander
from rag_platform.answering.nearness import Nearness
from rag_platform.answering.refusal import Gate
from rag_platform.answering.reply import Delta, Done, Event, Reply, Sources
from rag_platform.answering.run import Run
from rag_platform.answering.tool_run import with_tools
from rag_platform.errors import CallerError
from rag_platform.protocols import Generator
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import Searcher
from rag_platform.text.normalize import stored_text
from rag_platform.types import Chunk

__all__ = ["Asker", "Delta", "Done", "Event", "Reply", "Sources", "Turn"]


class Asker:
    """Answers questions from published collections; safe to share between threads.

    Args:
        searcher: Searches them.
        load_generator: Returns who answers where a call names nobody.
        use_tools: Whether a model may search by itself, unless a call says otherwise.
        gate: What tells that the documents do not answer; None: the generator alone says so.
        page_of: Tells the page of a position of a chunk's document; None: the first that the chunk touches.
        load_near: Returns what compares sentences by the vectors of an embedding model, None where it is not
            calibrated; None: where no model answers, words alone choose the sentences.
        expand: Other wordings of a question that the model writes and that are searched, too, unless a call
            says otherwise.
        expand_s: Seconds that it may take for all of one answer's.
    """

    def __init__(
        self,
        searcher: Searcher,
        load_generator: Callable[[], Generator],
        *,
        use_tools: bool = True,
        gate: Gate | None = None,
        page_of: Callable[[Chunk, int], int] | None = None,
        load_near: Callable[[str], Nearness | None] | None = None,
        expand: int = 0,
        expand_s: float = 4.0,
    ) -> None:
        self._searcher, self._load_generator = searcher, load_generator
        self._use_tools, self._gate, self._page_of = use_tools, gate, page_of
        self._load_near, self._expand, self._expand_s = load_near, expand, expand_s

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
        expand: int | None = None,
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
            expand: Other wordings of the question that the model writes and that are searched, too, 0 to 4;
                None: the default.

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
            expand=expand,
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
        expand: int | None = None,
    ) -> Iterator[Event]:
        """Yield the sources, then the words of the answer as they are checked, then the reply; as ``ask``."""
        asked = stored_text(question).strip()
        if not asked:
            raise CallerError("the question is blank; ask for something")

        who, load_near = generator or self._load_generator(), self._load_near
        run = Run(
            asked,
            checked(history),
            self._searcher.snapshot(collection=collection, model=model).search,
            options,
            who,
            model,
            gate=self._gate,
            strict=strict,
            page_of=self._page_of,
            load_near=partial(load_near, model) if load_near and options.mode != "lexical" else None,
        )
        n = self._expand if expand is None else expand
        if isinstance(who, Chat):
            run.expander = Expander(who, n, self._expand_s)
        elif expand:
            run.notes.append(f"nobody writes other wordings: no model answers ({who.name})")
        wants_tools = self._use_tools if tools is None else tools
        return with_tools(run, who) if wants_tools and isinstance(who, Chat) else run.retrieved()
