"""The rerankers as data: names, sizes, templates, limits, licences; and how a name is found.

No code that runs a model. Every family reads a pair in its own form and is scored at its own place; a form
that is not its own gives numbers that mean nothing.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from rag_platform.errors import CallerError, UnknownName

__all__ = ["RERANKERS", "CausalTemplate", "RerankerEngine", "RerankerSpec", "markdown_table", "resolve"]

RerankerEngine = Literal["none", "cross-encoder", "causal", "hosted", "listwise"]


@dataclass(frozen=True, slots=True)
class CausalTemplate:
    """How a causal language model is asked whether a passage answers a question.

    The parts are tokenised each on its own and joined, as the family's own code does. The passage ends the
    last of ``pair``, so a pair that is too long loses the end of its passage and nothing else.

    Attributes:
        before: Part before the pair; may be empty.
        pair: Parts that hold ``{query}`` and, at the very end, ``{passage}``.
        after: Parts behind the pair.
        yes: The one token whose logit is the score.
        no: The token whose logit is subtracted, or None.
        bos: The tokenizer's own first token stands in front.
    """

    before: str
    pair: tuple[str, ...]
    after: tuple[str, ...]
    yes: str
    no: str | None = None
    bos: bool = False


@dataclass(frozen=True, slots=True)
class RerankerSpec:
    """One reranker.

    Attributes:
        name: Name on the hub, or the platform's own; the catalogue's key.
        engine: What runs it.
        score: What its score is.
        note: When to use it, or why not.
        n_parameters: As its publisher states it, rounded; 0 where unknown or hosted.
        context: Tokens the model could read.
        max_tokens: Tokens it is given at most, the template included: what its family recommends.
        template: Of a causal model.
        remote: Name of a hosted model as LiteLLM says it.
        licence: SPDX name, or ``hosted``.
        revision: Commit on the hub; None where none is known for certain.
    """

    name: str
    engine: RerankerEngine
    score: str
    note: str
    n_parameters: int = 0
    context: int = 0
    max_tokens: int = 0
    template: CausalTemplate | None = None
    remote: str = ""
    licence: str = "hosted"
    revision: str | None = None


_QWEN = CausalTemplate(
    before=(
        "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the"
        ' Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    ),
    pair=(
        "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
        "<Query>: {query}\n<Document>: {passage}",
    ),
    after=("<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",),
    yes="yes",
    no="no",
)
"""The model card of Qwen3-Reranker; its probability, a softmax of both logits, is sigmoid(yes - no)."""

_GEMMA = CausalTemplate(
    before="",
    pair=("A: {query}", "\n", "B: {passage}"),
    after=(
        "\n",
        "Given a query A and a passage B, determine whether the passage contains an answer to the query by"
        " providing a prediction of either 'Yes' or 'No'.",
    ),
    yes="Yes",
    bos=True,
)
"""The model card of bge-reranker-v2-gemma and FlagEmbedding's code for it; the logit of Yes alone."""

_SPECS = (
    RerankerSpec(
        name="none",
        engine="none",
        score="order of the search",
        note="default: no model ships with the platform, and nothing without one was measured to help",
        licence="Apache-2.0",
    ),
    RerankerSpec(
        name="BAAI/bge-reranker-v2-m3",
        engine="cross-encoder",
        score="logit of the classification head",
        note="the reference system's choice; runs on a CPU",
        n_parameters=568_000_000,
        context=8192,
        max_tokens=1024,
        licence="Apache-2.0",
    ),
    RerankerSpec(
        name="Qwen/Qwen3-Reranker-0.6B",
        engine="causal",
        score="logit of `yes` less that of `no`",
        note="needs a GPU for more than a few passages",
        n_parameters=600_000_000,
        context=32768,
        max_tokens=8192,
        template=_QWEN,
        licence="Apache-2.0",
    ),
    RerankerSpec(
        name="BAAI/bge-reranker-v2-gemma",
        engine="causal",
        score="logit of `Yes`",
        note="needs a GPU",
        n_parameters=2_600_000_000,
        context=8192,
        max_tokens=1024,
        template=_GEMMA,
        licence="Apache-2.0",
    ),
    RerankerSpec(
        name="cross-encoder/mmarco-mMiniLMv2-L12-H384-v1",
        engine="cross-encoder",
        score="logit of the classification head",
        note="off: not trained on Nepali (14 languages, Hindi the nearest); runs only when named",
        n_parameters=118_000_000,
        context=512,
        max_tokens=512,
        licence="Apache-2.0",
    ),
    RerankerSpec(
        name="cohere",
        engine="hosted",
        score="relevance from 0 to 1",
        note="Cohere's API; `cohere/MODEL` for another model",
        remote="cohere/rerank-v3.5",
    ),
    RerankerSpec(
        name="jina",
        engine="hosted",
        score="relevance from 0 to 1",
        note="Jina's API; `jina/MODEL` for another model",
        remote="jina_ai/jina-reranker-v2-base-multilingual",
    ),
    RerankerSpec(
        name="llm",
        engine="listwise",
        score="place from the end",
        note="`llm/PROVIDER/MODEL`: any language model of LiteLLM orders the passages in one call",
    ),
)

RERANKERS: dict[str, RerankerSpec] = {spec.name: spec for spec in _SPECS}
"""Every reranker by name, the default first."""

_PROVIDERS = {"cohere": "cohere", "jina": "jina_ai", "llm": ""}
_SPELLINGS = {spelling.lower(): name for name in RERANKERS for spelling in (name.rpartition("/")[2], name)}


def resolve(name: str) -> RerankerSpec:
    """Return the reranker of that name, in any case, with or without its publisher; empty means ``none``.

    >>> resolve("bge-reranker-v2-m3").name
    'BAAI/bge-reranker-v2-m3'
    >>> resolve("llm/openai/gpt-4o-mini").remote
    'openai/gpt-4o-mini'

    Raises:
        UnknownName: The catalogue has no such reranker; the message holds the nearest one.
        CallerError: ``llm`` without a model.
    """
    wanted = name.strip() or "none"
    known = _SPELLINGS.get(wanted.lower())
    if known == "llm":
        raise CallerError("the reranker 'llm' needs a model: llm/PROVIDER/MODEL, say llm/openai/gpt-4o-mini")
    if known:
        return RERANKERS[known]
    family, _, model = wanted.partition("/")
    if family.lower() in _PROVIDERS and model:
        provider = _PROVIDERS[family.lower()]
        remote = f"{provider}/{model}" if provider else model
        return dataclasses.replace(RERANKERS[family.lower()], name=wanted, remote=remote)
    raise UnknownName("reranker", name, RERANKERS)


def _size(n: int) -> str:
    return f"{n / 1e9:g}B" if n >= 600_000_000 else f"{n // 1_000_000}M" if n else ""


def markdown_table() -> str:
    """Return the catalogue as the table of ``docs/models.md``."""
    titles = ["reranker", "parameters", "reads at most", "score", "licence", "note"]
    rows = [
        [
            f"`{s.name}`",
            _size(s.n_parameters),
            f"{s.max_tokens} of {s.context} tokens" if s.max_tokens else "",
            s.score,
            s.licence,
            s.note,
        ]
        for s in RERANKERS.values()
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in [titles, ["---"] * len(titles), *rows])
