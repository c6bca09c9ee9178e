"""The judge: scores cases by metric, one status each, a bounded number at once.

What may be judged of a case is decided here; prompts, calls and providers stand beside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from rag_platform.errors import UnknownName, UpstreamError
from rag_platform.evaluation.judge.calls import Asked, JudgeModel
from rag_platform.evaluation.judge.cases import DEEPEVAL_METRICS, METRICS, JudgeCase, Scored
from rag_platform.evaluation.judge.deepeval_metrics import deepeval_version, judged_by_deepeval
from rag_platform.evaluation.judge.own_metrics import NEPALI_INSTRUCTIONS, natural_nepali, supported_claims
from rag_platform.evaluation.judge.providers import JudgeEndpoint
from rag_platform.evaluation.memo import Memo
from rag_platform.text.language import detect_language
from rag_platform.types import fingerprint

__all__ = ["CACHE", "CALLS_A_METRIC", "Judge", "load_judge"]

CACHE = Path("cache") / "judge.sqlite"
"""Below the home: every reply of a judge."""
_VERSION = 1

CALLS_A_METRIC: dict[str, int] = {
    "Answer Relevancy": 2,
    "Faithfulness": 3,
    "Contextual Recall": 1,
    "Contextual Precision": 1,
    "Contextual Relevancy": 5,
    "Natural Nepali": 1,
    "Supported Claims": 1,
}
"""Calls for one score, for plans; ``Contextual Relevancy`` asks once a context, here for five."""

_NEEDS_REFERENCE = frozenset({"Contextual Recall", "Contextual Precision"})
_NEEDS_CLAIMS = frozenset({"Faithfulness", "Supported Claims"})
_NEEDS_CONTEXTS = frozenset(METRICS) - {"Answer Relevancy", "Natural Nepali"}
_NEPALI = frozenset({"ne", "mixed"})


class Judge:
    """Scores (case, metric) pairs; safe for several threads.

    Args:
        model: Who is asked.
        instructions: ``nepali`` if it is told how Nepali is read; only names the recipe, the words are the
            model's ``system``.
    """

    def __init__(self, model: JudgeModel, *, instructions: str = "deepeval") -> None:
        self._model, self._instructions = model, instructions

    @property
    def name(self) -> str:
        """LiteLLM's name of the model."""
        return self._model.endpoint.model

    @property
    def recipe(self) -> str:
        """Model, address, instructions, prompts and options: equal recipes judge equally."""
        made = f"{self._model.endpoint.name}|{self._instructions}|deepeval {deepeval_version()}|v{_VERSION}"
        return f"{made}|{self._model.recipe[:12]}"

    def score(self, case: JudgeCase, metric: str, *, repeat: int = 0) -> Scored:
        """Return what the judge makes of one metric of a case; its failure is a status, no exception.

        Args:
            case: What is judged.
            metric: One of ``METRICS``.
            repeat: Another number asks the same once more, for the judge's own variance.

        Raises:
            MissingDependency: DeepEval or LiteLLM is not installed.
            StorageError: Replies cannot be kept.
            UnknownName: There is no such metric.
        """
        if metric not in METRICS:
            raise UnknownName("judged metric", metric, METRICS)
        known = _without_judge(case, metric)
        if known is not None:
            return known
        asked = Asked(self._model, repeat)
        details: tuple[str, ...] = ()
        try:
            if metric in DEEPEVAL_METRICS:
                value, reason = judged_by_deepeval(case, metric, asked)
            elif metric == "Natural Nepali":
                value, reason = natural_nepali(case, asked)
            else:
                value, reason, details = supported_claims(case, asked)
        except UpstreamError as error:  # a prompt that is too long among them
            return _scored(asked, "failed", math.nan, str(error))
        return _scored(asked, "ok", value, reason, details)

    def fingerprint(self, case: JudgeCase, metric: str, *, repeat: int = 0) -> str:
        """Return what a score depends on, as one string: equal ones are the same score."""
        return fingerprint(self.recipe, case, metric, repeat)

    def score_many(
        self, jobs: Iterable[tuple[JudgeCase, str]], *, concurrency: int = 1, repeat: int = 0
    ) -> Iterator[Scored]:
        """Yield the scores of (case, metric) pairs in their order, judging so many at once.

        A run that is killed repeats the calls that were in flight: one for each that is judged at once.
        """
        waiting: list[Future[Scored]] = []
        with ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="judge") as pool:
            try:
                for case, metric in jobs:
                    waiting.append(pool.submit(self.score, case, metric, repeat=repeat))
                    if len(waiting) >= 2 * concurrency:
                        yield waiting.pop(0).result()
                while waiting:
                    yield waiting.pop(0).result()
            finally:
                for future in waiting:
                    future.cancel()


def load_judge(
    endpoint: JudgeEndpoint,
    home: Path | None,
    *,
    instructions: Literal["deepeval", "nepali"] = "deepeval",
    timeout_s: float = 120.0,
    first_wait_s: float = 0.5,
    max_tokens: int = 4_096,
) -> Judge:
    """Return a judge that keeps its replies below a home.

    Args:
        endpoint: Who is asked, of ``judge_endpoint``.
        home: ``RAG_HOME``; None: nothing is kept.
        instructions: ``nepali`` tells the judge beside DeepEval's English prompts how Nepali is read.
        timeout_s: Seconds that one call may take.
        first_wait_s: Seconds before a busy provider is asked again.
        max_tokens: Of a reply.

    Raises:
        MissingDependency: DeepEval is not installed.
    """
    deepeval_version()
    model = JudgeModel(
        endpoint,
        Memo(home / CACHE) if home is not None else None,
        system=NEPALI_INSTRUCTIONS if instructions == "nepali" else "",
        max_tokens=max_tokens,
        timeout_s=timeout_s,
        first_wait_s=first_wait_s,
    )
    return Judge(model, instructions=instructions)


def _without_judge(case: JudgeCase, metric: str) -> Scored | None:
    """Return the score that needs no call, None where the judge must be asked.

    Of a refusal no claim can be unfaithful: DeepEval would give it 1.0, here it is skipped and shows in the
    answered rate. Where nothing was retrieved, nothing retrieved is right.
    """
    if metric in _NEEDS_CLAIMS and case.refused:
        return Scored("skipped", math.nan, "refused: there is no claim to judge")
    if metric in _NEEDS_REFERENCE and not case.reference_answer.strip():
        return Scored("skipped", math.nan, "there is no reference answer")
    if metric in _NEEDS_CONTEXTS and not any(text.strip() for text in case.contexts):
        return Scored("ok", 0.0, "nothing was retrieved")
    is_about_answer = metric not in _NEEDS_CONTEXTS or metric in _NEEDS_CLAIMS
    if is_about_answer and not case.answer.strip():
        return Scored("skipped", math.nan, "there is no answer")
    if metric == "Natural Nepali" and (case.refused or detect_language(case.answer) not in _NEPALI):
        return Scored("skipped", math.nan, "the answer is a refusal or not in Nepali")
    return None


def _scored(
    asked: Asked, status: Literal["ok", "failed"], value: float, reason: str, details: tuple[str, ...] = ()
) -> Scored:
    return Scored(
        status,
        value,
        reason,
        tokens=asked.usage.tokens,
        cost=asked.usage.cost,
        seconds=asked.seconds,
        calls=asked.calls,
        details=details,
    )
