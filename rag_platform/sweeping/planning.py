"""What a sweep would do, counted before it starts: nothing is read, embedded or loaded for it.

Counts are what is known; where a document was not read yet they are upper ends or guesses, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path

from rag_platform.audit.container import inspect
from rag_platform.embedding import encoders
from rag_platform.embedding.calibration import CalibratedEncoder
from rag_platform.entries import Entry
from rag_platform.errors import RagError
from rag_platform.evaluation.contexts import Context
from rag_platform.evaluation.datasets import Member
from rag_platform.evaluation.judge import CALLS_A_METRIC
from rag_platform.evaluation.results import Cell, Run
from rag_platform.evaluation.standing import CELL
from rag_platform.evaluation.variants import read_context
from rag_platform.parsing.sniff import sniff
from rag_platform.plan import embedding_table
from rag_platform.remote import price_of
from rag_platform.reranking import rerankers
from rag_platform.storage import sha256_of
from rag_platform.sweeping.request import collection_of
from rag_platform.sweeping.wiring import Bench
from rag_platform.text.normalize import stored_text

__all__ = ["SweepPlan", "plan_sweep"]

_OCR_FORMATS = ("pdf", "png", "jpeg", "tiff", "webp", "bmp")
_CHUNKS_A_PAGE = 2
_CHARACTERS_A_CHUNK = 900
_TOKENS_READ, _TOKENS_WRITTEN = 3_000, 400
"""Of a call, for its price: a prompt with five passages of Devanagari, and a reply with its reasons."""
_A_CONTEXT = "Contextual Relevancy"
"""Asked once a context."""


@dataclass(slots=True)
class SweepPlan:
    """Work that a sweep has before it.

    Attributes:
        cells: Of the grid, with every variant.
        finished: Of these, scored in an earlier call.
        unavailable: Why cells cannot run here, by model.
        documents: To be read.
        ocr_pages: Pages that may need OCR, at most.
        chunks: Passages of the set.
        is_guess: Some documents were not read yet, or are cut otherwise: chunks and pages are guessed.
        embeddings: Passages to embed, over all models.
        questions: To embed, over all models.
        searches: Over all models and variants, at most.
        rerank_pairs: Pairs for rerankers to judge, at most: cells share them.
        generations: Answers to write, at most: equal contexts are answered once.
        judge_calls: At most.
        cost: Of generations and judge, US dollars, at most; None: a price is not known.
    """

    cells: int = 0
    finished: int = 0
    unavailable: dict[str, str] = field(default_factory=dict)
    documents: int = 0
    ocr_pages: int = 0
    chunks: int = 0
    is_guess: bool = False
    embeddings: int = 0
    questions: int = 0
    searches: int = 0
    rerank_pairs: int = 0
    generations: int = 0
    judge_calls: int = 0
    cost: float | None = 0.0


def plan_sweep(bench: Bench, cells: Sequence[Cell], run: Run) -> SweepPlan:
    """Return the work that is left of a sweep.

    Args:
        bench: The set on a system.
        cells: What is to be measured.
        run: Where their results would be; may not exist yet.
    """
    plan = SweepPlan(len(cells), unavailable=_unavailable(bench, cells))
    states = run.cells()
    done = set(starmap(Cell, states[states["status"] == "complete"][CELL].itertuples(index=False, name=None)))
    measured, wanted = run.saved_variants(), bench.request.changes
    done = {cell for cell in done if measured.get(cell.variant) == wanted.get(cell.variant)}
    plan.finished = sum(cell in done for cell in cells)
    left = [
        cell
        for cell in cells
        if cell not in done and not {cell.embedding_model, cell.reranker} & plan.unavailable.keys()
    ]
    entries = {entry.source: entry for entry in bench.system.catalog.entries(collection_of(bench.dataset))}
    members = [member for some in bench.dataset.collections.values() for member in some]
    by_member = {member.source: _chunks(plan, member, entries.get(member.source)) for member in members}
    plan.chunks = sum(by_member.values())
    _count(plan, bench, left, by_member, entries)
    return plan


def _count(
    plan: SweepPlan,
    bench: Bench,
    left: Sequence[Cell],
    by_member: dict[str, int],
    entries: dict[str, Entry],
) -> None:
    """Add what cells have before them."""
    n_questions = len(bench.dataset.cases)
    searched = [cell for cell in left if _context(bench, cell) is None]
    for model in dict.fromkeys(cell.embedding_model for cell in searched):
        table = embedding_table(model)
        plan.embeddings += sum(
            n
            for source, n in by_member.items()
            if source not in entries or table not in entries[source].stages
        )
        plan.questions += n_questions - _known_questions(bench, model)
    _count_other_passages(plan, bench, searched)
    if bench.request.generator != "none":
        plan.generations = n_questions * len(left)
    judge = bench.answering.judge
    if judge is not None:
        asked = sum(_judge_calls(plan, bench, cell) for cell in left)
        plan.judge_calls = n_questions * asked * bench.request.judge_repeats
    generator = bench.request.generator
    plan.cost = _cost(
        {
            **({judge.name: plan.judge_calls} if judge else {}),
            **({generator: plan.generations} if "/" in generator else {}),
        }
    )
    plan.searches = n_questions * len({(cell.embedding_model, cell.variant) for cell in searched})
    depth = bench.system.search_options.depth
    plan.rerank_pairs = n_questions * depth * sum(cell.reranker != "none" for cell in searched)


def _count_other_passages(plan: SweepPlan, bench: Bench, cells: Sequence[Cell]) -> None:
    """Add the passages of variants that cut or encode otherwise: as many more as they are smaller."""
    size = bench.system.settings.chunk_size
    for _, variant in dict.fromkeys((cell.embedding_model, cell.variant) for cell in cells):
        made = bench.makes(variant)
        if made is not None:
            plan.embeddings += math.ceil(plan.chunks * size / made.chunk_size)
            plan.is_guess = True


def _context(bench: Bench, cell: Cell) -> Context | None:
    return read_context(bench.request.changes.get(cell.variant, {}))


def _judge_calls(plan: SweepPlan, bench: Bench, cell: Cell) -> int:
    """Return the calls a question of a cell; of a context of its own at most one a passage of the set."""
    context = _context(bench, cell)
    n_read = bench.system.search_options.k
    if context is not None:
        n_read = 0 if context.kind == "none" else plan.chunks
    return sum(n_read if name == _A_CONTEXT else CALLS_A_METRIC[name] for name in bench.request.metrics)


def _cost(calls: Mapping[str, int]) -> float | None:
    """Return what calls of models cost by LiteLLM's price list; None where a price is not known."""
    total = 0.0
    for model, n in calls.items():
        if n:
            price = price_of(model)
            if price is None:
                return None
            total += n * (_TOKENS_READ * price.read + _TOKENS_WRITTEN * price.written)
    return total


def _known_questions(bench: Bench, model: str) -> int:
    encoder = bench.system.encoder(model)
    bare = encoder.inner if isinstance(encoder, CalibratedEncoder) else encoder
    texts = [stored_text(case.query).strip() for case in bench.dataset.cases]
    known = bench.system.cache.get_many(bare, texts, "query")
    return sum(text in known for text in texts)


def _unavailable(bench: Bench, cells: Sequence[Cell]) -> dict[str, str]:
    found = {}
    for name in dict.fromkeys(cell.embedding_model for cell in cells):
        if reason := encoders.can_load(bench.system.embedding(name)):
            found[name] = reason
    for name in dict.fromkeys(cell.reranker for cell in cells):
        if reason := rerankers.can_load(rerankers.resolve(name)):
            found[name] = reason
    return found


def _chunks(plan: SweepPlan, member: Member, entry: Entry | None) -> int:
    """Return the chunks of a document, guessed where it was not read yet; count what reading it takes."""
    if member.path is None:
        return 1 + len(member.text) // _CHARACTERS_A_CHUNK
    if entry is not None and entry.content_sha256 == sha256_of(member.path) and entry.status == "ok":
        return entry.n_chunks
    plan.documents += 1
    plan.is_guess = True
    n_pages, may_ocr = _pages(member.path)
    plan.ocr_pages += n_pages if may_ocr else 0
    return max(
        n_pages * _CHUNKS_A_PAGE, member.path.stat().st_size // (3 * _CHARACTERS_A_CHUNK) * (not may_ocr)
    )


def _pages(path: Path) -> tuple[int, bool]:
    """Return the pages of a file by its container, and whether they may need OCR."""
    try:
        form = sniff(path, path.name)
        return inspect(path, form).n_pages or 1, form in _OCR_FORMATS
    except RagError:  # reading it will say what is wrong with it
        return 1, True
