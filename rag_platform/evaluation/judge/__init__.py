"""Answers judged by a language model: DeepEval's five metrics and two of our own, through LiteLLM.

Each (question, metric) ends as ok, failed or skipped, never as a missing value. What needs no model stands in
``answer_measures``; where the cases come from is not known here.
"""

from __future__ import annotations

from rag_platform.evaluation.judge.agreement import kappa, repeat_deviation
from rag_platform.evaluation.judge.cases import (
    DEEPEVAL_METRICS,
    METRICS,
    OWN_METRICS,
    RETRIEVAL_AVG,
    RETRIEVAL_METRICS,
    JudgeCase,
    Scored,
    Summary,
    retrieval_average,
    summary,
)
from rag_platform.evaluation.judge.judge import CALLS_A_METRIC, Judge, load_judge
from rag_platform.evaluation.judge.providers import PROVIDERS, JudgeEndpoint, judge_endpoint

__all__ = [
    "CALLS_A_METRIC",
    "DEEPEVAL_METRICS",
    "METRICS",
    "OWN_METRICS",
    "PROVIDERS",
    "RETRIEVAL_AVG",
    "RETRIEVAL_METRICS",
    "Judge",
    "JudgeCase",
    "JudgeEndpoint",
    "Scored",
    "Summary",
    "judge_endpoint",
    "kappa",
    "load_judge",
    "repeat_deviation",
    "retrieval_average",
    "summary",
]
