"""The sanity gate: does a loaded model rank five plain Nepali questions as it should?

A wrong prefix, pooling or template, and an untrained head, make a model that runs and measures nothing. The
gate finds them by what they do. It knows encoders and rerankers by their protocols only.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rag_platform.errors import GateFailed
from rag_platform.protocols import Encoder, FloatArray, Reranker
from rag_platform.types import Prompt

__all__ = [
    "PAIRS",
    "GateMode",
    "GatePair",
    "GateResult",
    "GatedEncoder",
    "GatedReranker",
    "check_encoder",
    "check_reranker",
    "gate_of",
]

_log = logging.getLogger(__name__)

GateMode = Literal["refuse", "record"]
"""What a failed gate does: the model is refused, or it runs and the failure is recorded with its results."""


@dataclass(frozen=True, slots=True)
class GatePair:
    """A question, the passage that answers it, and passages that plainly do not."""

    query: str
    right: str
    wrong: tuple[str, ...]


PAIRS = (
    GatePair(
        "नेपालको राजधानी कहाँ हो?",
        "काठमाडौँ देशको सबैभन्दा ठूलो सहर र सरकारको केन्द्र हो।",
        ("कहाँ जाने?", "नेपाल सरकार"),
    ),
    GatePair(
        "कर समयमा नतिर्दा कति जरिवाना लाग्छ?",
        "म्याद नाघेपछि बुझाउनुपर्ने रकममा वार्षिक दस प्रतिशत थप शुल्क लिइन्छ।",
        ("के गर्ने?", "सगरमाथा राष्ट्रिय निकुञ्ज घुम्न धेरै पर्यटक आउँछन्।"),
    ),
    GatePair(
        "सगरमाथाको उचाइ कति छ?",
        "विश्वको सर्वोच्च शिखर समुद्र सतहबाट आठ हजार आठ सय अठचालीस मिटर अग्लो छ।",
        ("बसको भाडा कति बढ्यो?", "सगरमाथा राष्ट्रिय निकुञ्ज घुम्न धेरै पर्यटक आउँछन्।"),
    ),
    GatePair(
        "ज्येष्ठ नागरिकले कति भत्ता पाउँछन्?",
        "अठसट्ठी वर्ष नाघेका वृद्धवृद्धालाई मासिक चार हजार रुपैयाँ दिइन्छ।",
        ("बैंक खाता खोल्न न्यूनतम रकम कति हो?", "ज्येष्ठ नागरिकले नाचगान गरेर रमाइलो गरे।"),
    ),
    GatePair(
        "धान रोपाइँ",
        "असारमा वर्षा सुरु भएपछि किसानहरू खेतमा बेर्ना सार्छन्।",
        ("काठमाडौँ", "२०८१ साल"),
    ),
)
"""The five; each right passage must also outrank the right one of the next question, so that no score that
ignores the question passes. Chosen on multilingual-e5-small, of all catalogue models the weakest: it passes
by 0.019 or more in cosine, and no prefixes, one for both sides, swapped ones, instruct's, and pooling by
first, last or greatest token each fail (docs/models.md)."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """What the gate saw.

    Attributes:
        passed: All questions had their right passage first.
        n_right: Questions that had.
        seen: A line for each question that had not, with both scores.
    """

    passed: bool
    n_right: int
    seen: tuple[str, ...]


def check_encoder(encoder: Encoder) -> GateResult:
    """Rank the passages of the pairs by cosine."""
    queries = encoder.encode([pair.query for pair in PAIRS], "query")
    passages = [_candidates(i) for i in range(len(PAIRS))]
    distinct = list(dict.fromkeys(text for texts in passages for text in texts))
    vectors = dict(zip(distinct, encoder.encode(distinct, "passage"), strict=True))
    return _judge(lambda i: np.stack([vectors[text] for text in passages[i]]) @ queries[i])


def check_reranker(reranker: Reranker) -> GateResult:
    """Rank the passages of the pairs by a reranker's scores: one call a question."""
    return _judge(lambda i: reranker.score(PAIRS[i].query, _candidates(i)))


def _candidates(i: int) -> list[str]:
    """Return the right passage of a question first, then the wrong ones."""
    return [PAIRS[i].right, *PAIRS[i].wrong, PAIRS[(i + 1) % len(PAIRS)].right]


def _judge(scores_of: Callable[[int], FloatArray]) -> GateResult:
    seen = []
    for i, pair in enumerate(PAIRS):
        scores = scores_of(i)
        best = 1 + int(np.argmax(scores[1:]))
        if not scores[0] > scores[best]:  # a tie is a failure: an untrained head may give one value to all
            seen.append(
                f"for {pair.query!r} {_candidates(i)[best]!r} ({scores[best]:.4g}) is not below"
                f" {pair.right!r} ({scores[0]:.4g})"
            )
    return GateResult(not seen, len(PAIRS) - len(seen), tuple(seen))


_RESULTS: dict[tuple[str, str], GateResult] = {}
"""Results of this process by kind of model and recipe: a model that is loaded again is not asked again."""


class _Gate:
    """Asks a model once, before its first use."""

    def __init__(self, kind: str, name: str, mode: GateMode) -> None:
        self._kind, self._name, self._mode = kind, name, mode
        self._lock = threading.Lock()

    def result(self, recipe: str, check: Callable[[], GateResult]) -> GateResult:
        """Return what was seen, asking the model when nobody has.

        Raises:
            GateFailed: It ranks wrongly, and the mode is ``refuse``.
        """
        key = (self._kind, recipe)
        with self._lock:
            if key not in _RESULTS:
                _RESULTS[key] = check()
                if not _RESULTS[key].passed:
                    _log.warning(self._message(_RESULTS[key]))
        result = _RESULTS[key]
        if not result.passed and self._mode == "refuse":
            raise GateFailed(self._message(result))
        return result

    def _message(self, result: GateResult) -> str:
        return (
            f"{self._kind} {self._name} ranks {result.n_right} of {len(PAIRS)} plain Nepali questions right: "
            + "; ".join(result.seen)
            + ". Check its prompts, pooling, template and weights; RAG_SANITY_GATE=record lets it run with"
            " the failure on record"
        )


class GatedEncoder:
    """An encoder that passes the gate before it encodes; otherwise it is the encoder.

    Args:
        encoder: What encodes; nothing of it is loaded before the first text.
        mode: What a failed gate does.
    """

    def __init__(self, encoder: Encoder, mode: GateMode) -> None:
        self._encoder = encoder
        self._gate = _Gate("encoder", encoder.name, mode)

    @property
    def name(self) -> str:
        """The encoder's own."""
        return self._encoder.name

    @property
    def dim(self) -> int:
        """The encoder's own."""
        return self._encoder.dim

    @property
    def recipe(self) -> str:
        """The encoder's own."""
        return self._encoder.recipe

    @property
    def max_tokens(self) -> int:
        """The encoder's own."""
        return self._encoder.max_tokens

    @property
    def gate(self) -> GateResult:
        """What the gate saw; loads the model.

        Raises:
            GateFailed: It ranks wrongly, and the mode is ``refuse``.
        """
        return self._gate.result(self.recipe, lambda: check_encoder(self._encoder))

    def prompted(self, text: str, prompt: Prompt) -> str:
        """Return the exact text the model reads."""
        return self._encoder.prompted(text, prompt)

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        """Return the model's own token count of the prompted text."""
        return self._encoder.count_tokens(text, prompt)

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        """Return ``(len(texts), dim)`` float32, rows L2-normalised, in the order of ``texts``.

        Raises:
            GateFailed: The model ranks wrongly, and the mode is ``refuse``.
        """
        if len(texts):
            _ = self.gate
        return self._encoder.encode(texts, prompt)


class GatedReranker:
    """A reranker that passes the gate before it scores; otherwise it is the reranker."""

    def __init__(self, reranker: Reranker, mode: GateMode) -> None:
        self._reranker = reranker
        self._gate = _Gate("reranker", reranker.name, mode)

    @property
    def name(self) -> str:
        """The reranker's own."""
        return self._reranker.name

    @property
    def recipe(self) -> str:
        """The reranker's own."""
        return self._reranker.recipe

    @property
    def gate(self) -> GateResult:
        """What the gate saw; loads the model, and asks a hosted one five times.

        Raises:
            GateFailed: It ranks wrongly, and the mode is ``refuse``.
        """
        return self._gate.result(self.recipe, lambda: check_reranker(self._reranker))

    def score(self, query: str, passages: Sequence[str]) -> FloatArray:
        """Return ``(len(passages),)`` float32 in the order of ``passages``, higher is better.

        Raises:
            GateFailed: The model ranks wrongly, and the mode is ``refuse``.
        """
        if len(passages):
            _ = self.gate
        return self._reranker.score(query, passages)


def gate_of(model: Encoder | Reranker) -> GateResult | None:
    """Return what the gate saw of a model, for the record; None of ``hashing`` and ``none``: no gate.

    Raises:
        GateFailed: It ranks wrongly, and the mode is ``refuse``.
    """
    gated = getattr(model, "inner", model)  # a calibrated encoder stands around the gated one
    return gated.gate if isinstance(gated, GatedEncoder | GatedReranker) else None
