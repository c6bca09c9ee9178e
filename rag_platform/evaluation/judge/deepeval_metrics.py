"""DeepEval's five metrics over our judge: their prompts and formulas, our calls, cache and honesty.

DeepEval gives 1.0 to an answer of which the judge returned no verdicts at all; here it is asked again for as
many as are due, and what stays incomplete has failed. Nothing is sent to DeepEval, it writes no folder: see
``privacy``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from rag_platform.errors import MissingDependency, UpstreamError
from rag_platform.evaluation.judge.calls import Asked
from rag_platform.evaluation.judge.cases import JudgeCase
from rag_platform.privacy import keep_private

__all__ = ["INSTALL_JUDGE", "deepeval_version", "judged_by_deepeval", "load_deepeval"]

INSTALL_JUDGE = "pip install 'rag-platform[judge]'"
_CLASSES = {
    "Answer Relevancy": "AnswerRelevancyMetric",
    "Faithfulness": "FaithfulnessMetric",
    "Contextual Recall": "ContextualRecallMetric",
    "Contextual Precision": "ContextualPrecisionMetric",
    "Contextual Relevancy": "ContextualRelevancyMetric",
}


@cache
def load_deepeval() -> Any:  # noqa: ANN401
    """Return the module DeepEval, told to send, write and read nothing of its own.

    Raises:
        MissingDependency: It is not installed.
    """
    keep_private()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own dependencies, at import
        try:
            import deepeval.metrics
            import deepeval.models
            import deepeval.test_case
        except ImportError as error:
            raise MissingDependency(f"DeepEval's metrics need deepeval ({error}); {INSTALL_JUDGE}") from error
    return deepeval


def deepeval_version() -> str:
    """Return its version: another one has other prompts, so it is part of the judge's recipe."""
    return str(load_deepeval().__version__)


def judged_by_deepeval(case: JudgeCase, metric: str, asked: Asked) -> tuple[float, str]:
    """Return the score of one metric, 0 to 1, and what the judge has against it.

    Raises:
        MissingDependency: DeepEval is not installed.
        UpstreamError: The judge failed, or its verdicts are incomplete.
    """
    deepeval = load_deepeval()
    test_case = deepeval.test_case.LLMTestCase(
        input=case.question,
        actual_output=case.answer,
        expected_output=case.reference_answer or None,
        retrieval_context=list(case.contexts),
    )
    model = _model_class()(asked)
    metric_class: Any = getattr(deepeval.metrics, _CLASSES[metric])
    made = metric_class(model=model, async_mode=False, include_reason=False, eval_mode="llm")
    model.n_verdicts = lambda: _n_due(made, metric, case)
    made.measure(test_case, _show_indicator=False)
    verdicts = _verdicts(made)
    if not verdicts:
        raise UpstreamError(f"the judge found nothing in the texts that {metric} could be judged by")
    return float(made.score), _reason(verdicts)


def _n_due(made: Any, metric: str, case: JudgeCase) -> int | None:  # noqa: ANN401
    """Return how many verdicts the judge owes; None where that is its own to say."""
    if metric == "Answer Relevancy":
        return len(made.statements)
    if metric == "Faithfulness":
        return len(made.claims)
    return len(case.contexts) if metric == "Contextual Precision" else None


def _verdicts(made: Any) -> list[Any]:  # noqa: ANN401
    """Return all verdicts of a metric; of none DeepEval makes a perfect score."""
    if hasattr(made, "verdicts_list"):
        return [one for verdicts in made.verdicts_list for one in verdicts.verdicts]
    return list(made.verdicts)


def _reason(verdicts: Sequence[Any]) -> str:
    """Return what the judge has against the texts, of its own verdicts.

    DeepEval would ask once more for a summary of them, which moves no score and costs a call.
    """
    against = [one for one in verdicts if str(getattr(one.verdict, "value", one.verdict)).lower() != "yes"]
    said = [": ".join(filter(None, (getattr(one, "statement", ""), one.reason))) for one in against]
    return (
        "; ".join(filter(None, said)) or f"{len(verdicts) - len(against)} of {len(verdicts)} verdicts are yes"
    )


@cache
def _model_class() -> Any:  # noqa: ANN401
    """Return DeepEval's model over ``Asked``; it is made here because its base is heavy to import."""
    base: Any = load_deepeval().models.DeepEvalBaseLLM

    class AskedModel(base):  # type: ignore[misc]
        """Answers DeepEval's prompts in its schemas; ``n_verdicts`` says how many verdicts are due."""

        def __init__(self, asked: Asked) -> None:
            self._asked = asked
            self.n_verdicts: Callable[[], int | None] = lambda: None
            self.model, self.name = self, "judge"

        def load_model(self) -> AskedModel:
            return self

        def generate(self, prompt: str, schema: type[BaseModel]) -> BaseModel:
            return self._asked.ask(prompt, schema, check=self._check)

        async def a_generate(self, prompt: str, schema: type[BaseModel]) -> BaseModel:
            return self.generate(prompt, schema)

        def get_model_name(self) -> str:
            return "judge"

        def _check(self, found: BaseModel) -> None:
            verdicts: list[object] | None = getattr(found, "verdicts", None)
            due = None if verdicts is None else self.n_verdicts()
            if verdicts is not None and due is not None and len(verdicts) != due:
                raise ValueError(f"there are {len(verdicts)} verdicts where {due} are due")

    return AskedModel
