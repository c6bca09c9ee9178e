"""A running service scored on a labelled set: every question is asked at ``/v1/ask``, every error counts.

The service's documents are not at hand, so labels are found by source, page and words. What a service is and
how it answers is not known here, only what it says over HTTP.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from rag_platform.errors import CallerError, UpstreamError
from rag_platform.evaluation.answer_measures import Measured, Refusals, answer_scores, refusals
from rag_platform.evaluation.datasets import Case, Dataset, Label
from rag_platform.evaluation.ranking import Measure, Ranked
from rag_platform.evaluation.statistics import mean_intervals
from rag_platform.privacy import address_parts, shown_address
from rag_platform.text.normalize import stored_text
from rag_platform.types import Answer, Usage

__all__ = ["Asked", "Reply", "Report", "ServedHit", "Service", "Summary", "score_service"]

_PATH = "/v1/ask"
_ATTEMPTS = 3
_AGAIN = (429, 502, 503)
_LONGEST_WAIT_S = 10.0
_OF_CLAIMS = ("citations", "faithful")
Tell = Callable[[str, int, int], None]


class _Context(BaseModel):
    text: str


class ServedHit(BaseModel):
    """A hit as a service tells it."""

    source: str
    text: str
    score: float
    page_first: int = 0
    page_last: int = 0
    start: int = 0
    end: int = 0
    header: str = ""
    context: list[_Context] = []

    @property
    def passage(self) -> str:
        """What a generator read of it."""
        around = (one.text for one in self.context)
        return "\n".join(part for part in (self.header, self.text, *around) if part)


class _Tokens(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


class _Body(BaseModel):
    answer: str
    refused: bool
    hits: list[ServedHit]
    generator: str = ""
    generation: int | None = None
    usage: _Tokens = Field(default_factory=_Tokens)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a service said to a question."""

    answer: Answer
    hits: tuple[ServedHit, ...]
    generator: str
    generation: int | None
    seconds: float


class Service(contextlib.AbstractContextManager["Service"]):
    """Asks a running service; open until its ``with`` block ends.

    Args:
        url: Its address; ``/v1/ask`` is added.
        options: Other fields of the request: ``collection``, ``k``, ``model`` ...
        timeout_s: Seconds that one answer may take.
        first_wait_s: Seconds before a busy service is asked again.

    Raises:
        CallerError: The address is none.
    """

    def __init__(
        self,
        url: str,
        *,
        options: Mapping[str, object] | None = None,
        timeout_s: float = 120.0,
        first_wait_s: float = 1.0,
    ) -> None:
        import httpx

        if address_parts(url) is None:
            raise CallerError(
                f"{shown_address(url)!r} is no address of a service; write http://127.0.0.1:8080"
            )
        self.url = url.rstrip("/").removesuffix(_PATH)
        self._options, self._timeout_s, self._first_wait_s = dict(options or {}), timeout_s, first_wait_s
        self._client = httpx.Client(timeout=timeout_s)

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def ask(self, question: str) -> Reply:
        """Return the answer to one question; a busy service is asked again.

        Raises:
            UpstreamError: It is out of reach (``status`` None), refuses, fails, or says something else.
        """
        import httpx

        body, begin = {**self._options, "question": question, "stream": False}, time.perf_counter()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                answer = self._client.post(self.url + _PATH, json=body)
            except httpx.TimeoutException:
                raise UpstreamError(
                    f"{self.url} gave no answer in {self._timeout_s:g} s", status=408
                ) from None
            except httpx.HTTPError as error:
                raise UpstreamError(f"{self.url} is out of reach ({error}); check that it runs") from error
            if answer.status_code not in _AGAIN or attempt == _ATTEMPTS:
                break
            asked = answer.headers.get("retry-after", "")
            wait_s = float(asked) if asked.isdigit() else self._first_wait_s * 2 ** (attempt - 1)
            time.sleep(min(wait_s, _LONGEST_WAIT_S))
        if answer.status_code != httpx.codes.OK:
            raise UpstreamError(
                f"{self.url} answered {answer.status_code}: {_reason(answer.text)}", status=answer.status_code
            )
        return _read(self.url, answer.content, time.perf_counter() - begin)


def _reason(text: str) -> str:
    """Return why a service refused: its ``detail``, without what differs from request to request."""
    try:
        reason = str(json.loads(text)["detail"])
    except (ValueError, KeyError, TypeError):
        reason = text
    return " ".join(reason.split())[:300]


def _read(url: str, content: bytes, seconds: float) -> Reply:
    try:
        body = _Body.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        raise UpstreamError(
            f"{url} answered something else than an answer ({place}: {first['msg']}); is it this platform?",
            status=200,
        ) from error
    usage = Usage(body.usage.prompt_tokens, body.usage.completion_tokens, body.usage.cost)
    said = Answer(body.answer, refused=body.refused, usage=usage)
    return Reply(said, tuple(body.hits), body.generator, body.generation, seconds)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what came of it.

    Attributes:
        reply: None where it failed.
        reason: Why it failed.
        measured: Every measure with its status.
    """

    case: Case
    reply: Reply | None
    reason: str
    measured: Mapping[str, Measured]


@dataclass(frozen=True, slots=True)
class Summary:
    """One measure over questions.

    Attributes:
        value: Mean over the ``n_queries`` that are ok, NaN without any; ``ci_low`` and ``ci_high`` the ends
            of its 95 % interval.
        floor: Mean with every failure as 0: no service gains by failing.
        n_failed: Questions that failed; ``n_skipped`` those that the measure is not about.
    """

    value: float
    ci_low: float
    ci_high: float
    floor: float
    n_queries: int
    n_failed: int
    n_skipped: int

    @classmethod
    def of(cls, measured: Sequence[Measured]) -> Summary:
        """Return the summary of a measure's values."""
        values = [one.value for one in measured if one.status == "ok"]
        states = Counter(one.status for one in measured)
        about = len(values) + states["failed"]
        (one,) = mean_intervals(np.array([values], float))
        mean, low, high = (one.mean, one.low, one.high) if values else (math.nan,) * 3
        floor = math.fsum(values) / about if about else math.nan
        return cls(mean, low, high, floor, len(values), states["failed"], states["skipped"])


@dataclass(frozen=True)
class Report:
    """What a service reached on a set.

    Attributes:
        asked: Every question, in the order of the set.
    """

    dataset: Dataset
    url: str
    asked: Sequence[Asked] = field(default_factory=list)

    @property
    def failed(self) -> list[Asked]:
        """Questions without an answer."""
        return [one for one in self.asked if one.reply is None]

    @property
    def summaries(self) -> dict[str, Summary]:
        """Every measure over all questions."""
        return _summaries(self.asked)

    @property
    def by_kind(self) -> dict[str, dict[str, Summary]]:
        """Every measure over the questions of each kind."""
        kinds = dict.fromkeys(one.case.kind for one in self.asked)
        return {kind: _summaries([one for one in self.asked if one.case.kind == kind]) for kind in kinds}

    @property
    def refusals(self) -> Refusals:
        """Precision and recall of refusals; a question that failed is neither refused nor answered."""
        replied = [one for one in self.asked if one.reply is not None]
        found = refusals(
            [bool(one.reply and one.reply.answer.refused) for one in replied],
            [one.case.answerable for one in replied],
        )
        n_answerable = sum(one.case.answerable for one in self.asked)
        n_unanswerable = len(self.asked) - n_answerable
        right, answered = found.recall * found.n_unanswerable, found.answered * found.n_answerable
        return Refusals(
            precision=found.precision,
            recall=right / n_unanswerable if n_unanswerable else 0.0,
            answered=answered / n_answerable if n_answerable else 0.0,
            n_refused=found.n_refused,
            n_unanswerable=n_unanswerable,
            n_answerable=n_answerable,
        )


def score_service(
    service: Service, dataset: Dataset, measures: Sequence[Measure], tell: Tell | None = None
) -> Report:
    """Ask a service every question of a set, one after the other, and score what it says.

    Args:
        service: What is asked.
        dataset: The questions.
        measures: Of its hits; they see as many as the service returns.
        tell: Told of each question.

    Raises:
        CallerError: The set has several collections, which one service cannot tell apart.
        UpstreamError: Already the first question finds nobody there.
    """
    if len(dataset.collections) > 1:
        raise CallerError(f"{dataset.name!r} has {len(dataset.collections)} collections; a service has one")
    asked = []
    for done, case in enumerate(dataset.cases, start=1):
        try:
            reply: Reply | None = service.ask(case.query)
            reason = ""
        except UpstreamError as error:
            if done == 1 and error.status is None:
                raise
            reply, reason = None, str(error)
        asked.append(Asked(case, reply, reason, dict(_measured(case, reply, reason, measures))))
        if tell:
            tell("asking the service", done, len(dataset.cases))
    return Report(dataset, service.url, asked)


def _measured(
    case: Case, reply: Reply | None, reason: str, measures: Sequence[Measure]
) -> Iterator[tuple[str, Measured]]:
    """Yield every measure of one question; what it is not about is skipped, also where it failed."""
    failed = Measured(math.nan, "failed", reason)
    if not case.answerable or not case.labels:
        why = "not judged" if case.answerable else "unanswerable on purpose"
        yield from ((str(measure), Measured(math.nan, "skipped", why)) for measure in measures)
    elif reply is None:
        yield from ((str(measure), failed) for measure in measures)
    else:
        grades = {_unit(label): label.grade for label in case.labels}
        ranked = _ranked(reply.hits, case.labels)
        yield from ((str(measure), Measured(measure.of(ranked, grades))) for measure in measures)
    answer = reply.answer if reply else Answer("", refused=True)
    scores = answer_scores(
        answer,
        reference=case.reference_answer,
        passages=[hit.passage for hit in reply.hits] if reply else [],
        answerable=case.answerable,
    )
    for name, one in scores.items():
        is_about = one.status == "ok" or name in _OF_CLAIMS
        yield name, failed if reply is None and is_about else one


def _ranked(hits: Sequence[ServedHit], labels: Sequence[Label]) -> list[Ranked]:
    """Return the ranking of judged places that the hits mean; each counts once, at its first hit."""
    by_span = any(label.quote or label.span for label in labels)
    by_page = any(label.page for label in labels)
    found: dict[str, float] = {}
    for hit in hits:
        units = [_unit(label) for label in labels if _finds(hit, label)]
        if not units:
            end = f"#{hit.start}-{hit.end}" if by_span else f"#p{hit.page_first}" if by_page else ""
            units = [f"other {hit.source}{end}"]
        for unit in units:
            found.setdefault(unit, hit.score)
    return [Ranked(unit, score) for unit, score in found.items()]


def _finds(hit: ServedHit, label: Label) -> bool:
    """Say whether a hit has found a label: its source, and its words, span or page where these are known.

    As in the sweep, half of the shorter of the two is enough for words and spans; a page is found by a hit
    that touches it.
    """
    if not _is_source(hit.source, label.source):
        return False
    if label.quote:
        quote, text = _bare(label.quote), _bare(hit.text)
        half = (len(quote) + 1) // 2
        return bool(text) and (text in quote or quote[:half] in text or quote[-half:] in text)
    if label.span is not None:
        start, end = label.span
        shared = min(hit.end, end) - max(hit.start, start)
        return shared > 0 and 2 * shared >= min(hit.end - hit.start, end - start)
    return label.page is None or hit.page_first <= label.page <= hit.page_last


def _is_source(served: str, label: str) -> bool:
    """Say whether a service means a set's document: the same path, or the end of it."""
    served, label = (unicodedata.normalize("NFC", one) for one in (served, label))
    if label.endswith("/"):
        return served.startswith(label) or f"/{label}" in served
    return served == label or served.endswith(f"/{label}") or label.endswith(f"/{served}")


def _bare(text: str) -> str:
    return "".join(stored_text(text).split())


def _unit(label: Label) -> str:
    return repr((label.source, label.page, label.quote, label.span))


def _summaries(asked: Sequence[Asked]) -> dict[str, Summary]:
    names = dict.fromkeys(name for one in asked for name in one.measured)
    return {name: Summary.of([one.measured[name] for one in asked]) for name in names}
