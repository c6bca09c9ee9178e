"""One question on its way: read, searched, generated, checked, told. The order of the steps only.

How a follow-up is read, what is checked and when a question is refused is decided in the modules beside; a
model that searches by itself stands in ``tool_run``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag_platform.answering.chat import Chat, Message, Said
from rag_platform.answering.citations import Verifier, first_page, source_text
from rag_platform.answering.conversation import Turn, condensing, standalone
from rag_platform.answering.expansion import Expander
from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.answering.fitting import fitted
from rag_platform.answering.nearness import Nearness
from rag_platform.answering.prompts import PromptGenerator, messages, refusal, spoken, written
from rag_platform.answering.ranked import ranked
from rag_platform.answering.refusal import Gate
from rag_platform.answering.reply import Delta, Done, Event, Reply, ReplyMode, Sources
from rag_platform.protocols import Generator
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.search import SearchResult
from rag_platform.types import Chunk, Hit, Passage, Usage
from rag_platform.watching import step, timed

__all__ = ["Run", "passage"]

_LONGEST_QUESTION = 500
"""Characters of a stand-alone question; what a model writes beyond is none."""


@dataclass
class Run:
    """One question, and what is known of its answer by now.

    Attributes:
        search: Searches the collections of the question.
        gate: None: the generator alone refuses.
        strict: Leave out what the sources do not support.
        page_of: Tells the page of a position of a chunk's document; None: the first that the chunk touches.
        load_near: Returns what compares sentences with the question; None: words tell alone.
        expander: Writes the question in other words that are searched, too; None: nothing does.
        searched: All that was searched by now, as it was worded.
        said: The answer so far, as it was told.
    """

    question: str
    history: tuple[Turn, ...]
    search: Callable[[str, SearchOptions], SearchResult]
    options: SearchOptions
    generator: Generator
    model: str
    gate: Gate | None = None
    strict: bool = False
    page_of: Callable[[Chunk, int], int] | None = None
    load_near: Callable[[], Nearness | None] | None = None
    expander: Expander | None = None
    searched: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)
    said: str = ""

    def retrieved(self) -> Iterator[Event]:
        """Search whatever is asked, then answer from what was found."""
        asked = self._standalone()
        result = self.found(asked, self.options)
        yield Sources(result.hits)
        if isinstance(self.generator, PromptGenerator):
            yield from self.told(written(self._prompt(asked, result.hits)))
            yield self.done("prompt", asked, result.hits, result.generations)
            return
        verifier = self.verifier(result.hits)
        yield from self.checked(verifier, self._answered(asked, result))
        mode: ReplyMode = "retrieve" if isinstance(self.generator, Chat) else "extractive"
        yield self.done(mode, asked, result.hits, result.generations, verifier)

    def found(self, asked: str, options: SearchOptions) -> SearchResult:
        """Search a question, in other words, too, where a model may write them."""
        wordings = self.expander.wordings(asked) if self.expander else ()
        self.searched += [one for one in (asked, *wordings) if one not in self.searched]
        return self.search(asked, replace(options, wordings=wordings) if wordings else options)

    def _answered(self, asked: str, result: SearchResult) -> Iterable[str]:
        """Return what is said to a question that was searched, unchecked, or the words of a refusal."""
        if isinstance(self.generator, ExtractiveGenerator):
            with step("generation"):
                return [self._quoted(self.generator, asked, result)]
        if self.is_hopeless(asked, result):
            return [refusal(self.question)]
        is_read = isinstance(self.generator, Chat)
        return self.pieces(asked if is_read else result.explanation.reading or asked, result.hits)

    def _quoted(self, extractive: ExtractiveGenerator, asked: str, result: SearchResult) -> str:
        """Return the sentences of the hits that answer; where no gate knows, the generator alone refuses."""
        by, passages = extractive.by(self._near), [passage(hit) for hit in result.hits]
        found = by.ranked(asked, passages, result.explanation.reading)
        refused = self.gate.refuses(asked, result, found) if self.gate else None
        if refused is None:
            return by.answer(asked, passages).text
        return refusal(self.question) if refused or not found.sentences else by.told(found).text

    def is_hopeless(self, asked: str, result: SearchResult) -> bool:
        """Say whether nothing that was found can answer, so that a model need not read it."""
        if self.gate is None:
            return False
        found, passages = None, [passage(hit) for hit in result.hits]
        if near := self._near:
            found = ranked(asked, passages, reading=result.explanation.reading, near=near)
        return bool(self.gate.refuses(asked, result, found, is_read=True))

    @property
    def _near(self) -> Nearness | None:
        return self.load_near() if self.load_near else None

    def pieces(self, asked: str, hits: Sequence[Hit]) -> Iterator[str]:
        """Yield what the generator says to a question, unchecked; without hits a model is not asked."""
        if not isinstance(self.generator, Chat):
            with step("generation"):
                answer = self.generator.answer(asked, [passage(hit) for hit in hits])
            self.usage += answer.usage
            yield answer.text
        elif not hits:
            yield refusal(self.question)
        else:
            chat = self.generator
            said = fitted(lambda n: chat.stream(self._prompt(asked, hits[:n])), len(hits), self.notes.append)
            for piece in timed("generation", said):
                if isinstance(piece, str):
                    yield piece
                else:
                    self.heard(piece)

    def heard(self, said: Said) -> None:
        """Count what a turn of a model took, and note where it was cut off."""
        self.usage += said.usage
        if said.cut_off:
            self.notes.append("the answer was cut off at the most tokens it may have")

    def verifier(self, hits: Sequence[Hit]) -> Verifier:
        """Return what checks the answer against these hits."""
        return Verifier(
            hits, strict=self.strict, language=spoken(self.question), page_of=self.page_of or first_page
        )

    def checked(self, verifier: Verifier, pieces: Iterable[str]) -> Iterator[Event]:
        """Yield the words of an answer as they are checked, to the end."""
        for piece in pieces:
            yield from self.told(verifier.feed(piece))
        yield from self.told(verifier.finish())

    def told(self, text: str) -> Iterator[Event]:
        """Yield words that may be said."""
        if text:
            self.said += text
            yield Delta(text)

    def done(
        self,
        mode: ReplyMode,
        asked: str,
        hits: Sequence[Hit],
        generations: Mapping[str, int],
        verifier: Verifier | None = None,
    ) -> Done:
        """Return the end: the reply with all that was told."""
        refused = verifier is not None and verifier.refused
        reply = Reply(
            question=self.question,
            standalone=asked,
            answer=self.said,
            citations=tuple(verifier.citations) if verifier and not refused else (),
            hits=tuple(hits),
            refused=refused,
            mode=mode,
            generations=dict(generations),
            model=self.model,
            generator=self.generator.name,
            usage=self.usage + (self.expander.usage if self.expander else Usage()),
            unsupported=tuple(verifier.unsupported) if verifier else (),
            notes=(*self.notes, *(self.expander.notes if self.expander else ())),
            searched=tuple(self.searched),
        )
        return Done(reply)

    def _standalone(self) -> str:
        """Return what is searched: by the model where one answers, else by the rule."""
        if not self.history:
            return self.question
        if not isinstance(self.generator, Chat):
            return standalone(self.question, self.history)
        text = ""
        for piece in timed("condensing", self.generator.stream(condensing(self.question, self.history))):
            if isinstance(piece, Said):
                self.usage += piece.usage
                text = next(iter(piece.text.strip().splitlines()), "").strip().strip("\"'“”")
        if text and len(text) <= _LONGEST_QUESTION:
            return text
        self.notes.append("the model gave no stand-alone question: it was made by the rule")
        return standalone(self.question, self.history)

    def _prompt(self, asked: str, hits: Sequence[Hit]) -> list[Message]:
        """Return what a model is asked: the prompt of the passages, with what was said before inside."""
        system, user = messages(asked, [passage(hit) for hit in hits])
        turns = [{"role": turn.role, "content": turn.content} for turn in self.history]
        return [system, *turns, user]


def passage(hit: Hit) -> Passage:
    """Return what a generator reads of a hit."""
    return Passage(source_text(hit), hit.chunk.source, hit.chunk.page_first, hit.chunk.path)
