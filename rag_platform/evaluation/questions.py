"""Questions drafted from documents by a language model, and refused unless they test what they should.

The kinds stand in ``question_kinds``; how a set is written and reviewed, in ``question_sets``. Nothing is
read from disk or searched here: both are handed in.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice, pairwise

from pydantic import BaseModel, ConfigDict, Field

from rag_platform.errors import CallerError, RagError, UnknownName, UpstreamError
from rag_platform.evaluation.budget import Budget, BudgetSpent
from rag_platform.evaluation.datasets import Case, Label
from rag_platform.evaluation.judge.calls import Asked, JudgeModel
from rag_platform.evaluation.question_kinds import (
    QUESTION_KINDS,
    QuestionKind,
    check_prompt,
    copied_run,
    draft_prompt,
    is_repeated,
    points_at_passage,
)
from rag_platform.text.analyze import analyze
from rag_platform.text.language import detect_language
from rag_platform.text.normalize import stored_text
from rag_platform.types import Chunk, Document, Hit, Span, Usage

__all__ = [
    "DRAFTS_A_QUESTION",
    "OTHERS",
    "Corpus",
    "Drafted",
    "Generated",
    "Refused",
    "generate",
    "quote_label",
    "shares",
    "targets",
]

_FEWEST_TERMS = 8
"""A passage of fewer words is a heading, and asks for nothing."""
_LONGEST_RUN = 7
"""Words in a row that any question may take from its passage: names of offices are that long."""
DRAFTS_A_QUESTION = 4
"""Passages that are tried for one question."""
_FAULTS_IN_A_ROW = 3
"""So many replies without any use, and the model is not usable at all."""
OTHERS = 5
"""Passages that search finds for a question and that must not answer it too."""

_MOST_QUOTES = 4
"""Of a draft: a server that keeps to the schema then stops a small model that repeats itself."""


class _Draft(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    question: str
    answer: str
    evidence: list[str] = Field(max_length=_MOST_QUOTES)


class _Answering(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    passages: list[int]


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents that are asked about.

    Attributes:
        sources: Of all of them.
        load: Returns a document as it was read, with its chunks.
        search: Returns the best hits of a question over all of them.
    """

    sources: Sequence[str]
    load: Callable[[str], tuple[Document, Sequence[Chunk]]]
    search: Callable[[str], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class Drafted:
    """A question that was kept, and the document that it was drafted from."""

    case: Case
    source: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A draft that was not kept, and why."""

    kind: str
    source: str
    query: str
    reason: str


@dataclass(slots=True)
class Generated:
    """What came of drafting; ``stopped`` says why it ended early, and is empty when it did not."""

    drafted: list[Drafted] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    stopped: str = ""

    @property
    def by_kind(self) -> Mapping[str, int]:
        """Questions kept of each kind."""
        return Counter(one.case.kind for one in self.drafted)


def generate(
    corpus: Corpus,
    model: JudgeModel,
    *,
    kinds: Sequence[str],
    n: int,
    seed: int = 0,
    budget: Budget | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Generated:
    """Draft questions, spread evenly over kinds and documents.

    The same call makes the same drafts: replies that the model keeps are not asked for again.

    Args:
        corpus: What is asked about.
        model: Who drafts, and who checks which passages answer.
        kinds: Names in ``QUESTION_KINDS``.
        n: Questions wanted; fewer come where passages or patience run out.
        seed: Of the choice of passages.
        budget: What new calls may cost; where it is spent, drafting ends with what there is.
        progress: Told of every draft: what is done, questions so far, questions wanted.

    Raises:
        UnknownName: There is no such kind.
        CallerError: No kind is named, or fewer than one question is wanted.
        UpstreamError: The model is out of reach, or gives nothing usable.
    """
    wanted, drafter = shares(kinds, n), _Drafter(corpus, model, budget)
    try:
        for kind, share in wanted.items():
            for target in islice(targets(corpus, kind, seed), DRAFTS_A_QUESTION * share):
                if drafter.made.by_kind.get(kind, 0) == share:
                    break
                drafter.draft(kind, *target)
                if progress:
                    progress("drafting questions", len(drafter.made.drafted), n)
    except BudgetSpent as end:
        drafter.made.stopped = str(end)
    return drafter.made


def shares(kinds: Sequence[str], n: int) -> dict[str, int]:
    """Return how many of ``n`` questions each kind gets: evenly, the first ones one more.

    Raises:
        UnknownName: There is no such kind.
        CallerError: No kind is named, or fewer than one question is wanted.
    """
    for kind in kinds:
        if kind not in QUESTION_KINDS:
            raise UnknownName("kind of question", kind, QUESTION_KINDS)
    if not kinds or n < 1:
        raise CallerError(
            f"{n} questions of {len(kinds)} kinds are wanted; at least one of one kind is needed"
        )
    names = list(dict.fromkeys(kinds))
    return {kind: n // len(names) + (at < n % len(names)) for at, kind in enumerate(names)}


def targets(corpus: Corpus, name: str, seed: int) -> Iterator[tuple[Document, tuple[Chunk, ...]]]:
    """Yield passages for a kind of question, one of each document in turn, none twice."""
    kind, chance = QUESTION_KINDS[name], random.Random(f"{seed}/{name}")
    waiting: dict[str, list[tuple[Chunk, ...]]] = {}
    order = list(corpus.sources)
    chance.shuffle(order)
    for source in cycle(order):
        if source not in waiting:
            waiting[source] = _groups(corpus.load(source)[1], kind)
            chance.shuffle(waiting[source])
        if waiting[source]:
            yield corpus.load(source)[0], waiting[source].pop()
        elif len(waiting) == len(order) and not any(waiting.values()):
            return


def _groups(chunks: Sequence[Chunk], kind: QuestionKind) -> list[tuple[Chunk, ...]]:
    """Return the passages, or the pairs from neighbouring pages, that allow a question."""
    good = [one for one in chunks if kind.suits(one) and len(analyze(one.text)) >= _FEWEST_TERMS]
    if kind.n_passages == 1:
        return [(one,) for one in good]
    first = {one.page_first: one for one in reversed(good) if one.page_first == one.page_last}
    pages = sorted(first)
    return [(first[page], first[after]) for page, after in pairwise(pages)]


class _Drafter:
    """Drafts one question after the other, and knows those before."""

    def __init__(self, corpus: Corpus, model: JudgeModel, budget: Budget | None) -> None:
        self._corpus, self._model, self._budget = corpus, model, budget
        self.made, self._faults = Generated(), 0

    def draft(self, kind: str, document: Document, chunks: tuple[Chunk, ...]) -> None:
        """Draft a question of these passages and keep it, or why it was refused."""
        asked, query = Asked(self._model, budget=self._budget), ""
        try:
            draft = asked.ask(draft_prompt(QUESTION_KINDS[kind], chunks), _Draft)
            query = " ".join(stored_text(draft.question).split())
            case = self._checked(kind, query, draft, document, chunks, asked)
            self.made.drafted.append(Drafted(case, document.source))
            self._faults = 0
        except _NotKept as refusal:
            self._refuse(kind, document, query, str(refusal))
            self._faults = 0
        except UpstreamError as error:
            self._faults += 1
            if self._faults == _FAULTS_IN_A_ROW:
                raise
            self._refuse(kind, document, query, str(error))
        finally:
            self.made.usage, self.made.calls = self.made.usage + asked.usage, self.made.calls + asked.calls

    def _refuse(self, kind: str, document: Document, query: str, reason: str) -> None:
        self.made.refused.append(Refused(kind, document.source, query, reason))

    def _checked(
        self,
        kind: str,
        query: str,
        draft: _Draft,
        document: Document,
        chunks: tuple[Chunk, ...],
        asked: Asked,
    ) -> Case:
        rule, passage = QUESTION_KINDS[kind], "\n".join(chunk.indexed_text for chunk in chunks)
        if not analyze(query):
            raise _NotKept("the model saw no such question")
        if points_at_passage(query):
            raise _NotKept("speaks of the passage as if it lay open")
        if copied_run(query, passage) > _LONGEST_RUN:
            raise _NotKept(f"copies more than {_LONGEST_RUN} words of the passage in a row")
        if fault := rule.fault(query, "\n".join(draft.evidence), passage):
            raise _NotKept(fault)
        if is_repeated(query, [one.case.query for one in self.made.drafted]):
            raise _NotKept("was asked already")
        labels, spans = _labels(rule, draft, document, chunks) if rule.answerable else ((), ())
        self._check_answering(query, rule, chunks, spans, asked)
        return Case(
            case_id=f"{kind}-{self.made.by_kind.get(kind, 0) + 1}",
            query=query,
            labels=labels,
            kind=kind,
            language=detect_language(query),
            answerable=rule.answerable,
            reference_answer=stored_text(draft.answer).strip() if rule.answerable else "",
        )

    def _check_answering(
        self, query: str, rule: QuestionKind, chunks: Sequence[Chunk], spans: Sequence[Span], asked: Asked
    ) -> None:
        """Refuse a question that its own passages do not answer, or that others answer too."""
        others = [
            hit.chunk
            for hit in self._corpus.search(query)
            if hit.chunk.chunk_id not in {chunk.chunk_id for chunk in chunks}
            and not _holds(hit.chunk, chunks[0].source, spans)
        ][:OTHERS]
        shown = sorted((*chunks, *others), key=lambda chunk: chunk.chunk_id)  # the place tells nothing
        found = set(asked.ask(check_prompt(query, shown), _Answering).passages)
        own = {number for number, chunk in enumerate(shown, start=1) if chunk in chunks}
        if not rule.answerable and found:
            raise _NotKept("a passage answers it")
        if rule.answerable and not own <= found:
            raise _NotKept("its own passage does not answer it")
        if rule.answerable and found - own:
            raise _NotKept("another passage answers it as well")


class _NotKept(RagError):
    """A draft is refused; never leaves this module."""


def _holds(chunk: Chunk, source: str, spans: Sequence[Span]) -> bool:
    """Say whether a chunk overlaps the evidence: the same words, cut elsewhere."""
    return chunk.source == source and any(chunk.start < one.end and one.start < chunk.end for one in spans)


def _labels(
    rule: QuestionKind, draft: _Draft, document: Document, chunks: Sequence[Chunk]
) -> tuple[tuple[Label, ...], tuple[Span, ...]]:
    """Return where the evidence stands, one label a passage."""
    if not draft.answer.strip():
        raise _NotKept("has no answer")
    labels, spans = [], []
    for chunk in chunks:
        found = [one for quote in draft.evidence if (one := _located(document.text, quote, chunk))]
        if not found:
            raise _NotKept("its evidence does not stand in the passage")
        label, span = quote_label(document, chunk, found[0])
        labels.append(label)
        spans.append(span)
    return tuple(labels), tuple(spans)


def _located(text: str, quote: str, chunk: Chunk) -> Span | None:
    """Return where a quote stands in a chunk, white space apart, as a span of the document."""
    places = [at for at in range(chunk.start, chunk.end) if not text[at].isspace()]
    squeezed = _squeezed(stored_text(quote))
    start = "".join(text[at] for at in places).find(squeezed) if squeezed else -1
    return Span(places[start], places[start + len(squeezed) - 1] + 1) if start >= 0 else None


def quote_label(document: Document, chunk: Chunk, span: Span) -> tuple[Label, Span]:
    """Return the label of a span, with as many words around it as make it stand once on its page.

    Raises:
        RagError: Even the whole passage stands there more than once.
    """
    text = document.text
    pages = zip(document.pages, document.page_spans, strict=True)
    page_no, page = next(
        ((one.page_no, at) for one, at in pages if at.start <= span.start and span.end <= at.end),
        (None, Span(0, len(text))),
    )
    first, last = max(chunk.start, page.start), min(chunk.end, page.end)
    line = Span(
        max(first, text.rfind("\n", first, span.start) + 1),
        end if (end := text.find("\n", span.end, last)) >= 0 else last,
    )
    body = _squeezed(text[page.start : page.end])
    for wider in (span, line, Span(first, last)):
        quote = text[wider.start : wider.end].strip()
        if body.count(_squeezed(quote)) == 1:
            return Label(document.source, page_no, quote), wider
    raise _NotKept("its passage stands more than once in the document")


def _squeezed(text: str) -> str:
    return "".join(text.split())
