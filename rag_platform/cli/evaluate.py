"""``rag evaluate``: measure on labelled sets; the measuring itself is the library's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.options import EnvFile, Output, Verbose, open_settings
from rag_platform.cli.render import Format, Row, emit, say
from rag_platform.cli.search import SearchMode

if TYPE_CHECKING:
    from rag_platform.evaluation.datasets import Dataset
    from rag_platform.evaluation.ranking import Measure
    from rag_platform.evaluation.retrieval import Evaluation, TopScores
    from rag_platform.evaluation.statistics import Interval
    from rag_platform.settings import Settings
    from rag_platform.system import System

__all__ = ["evaluate", "retrieval", "step_progress"]

evaluate = typer.Typer(name="evaluate", help="Measure on labelled sets.", no_args_is_help=True)
_ALL = "all"


@evaluate.callback()
def _group() -> None:
    """Measure on labelled sets."""


@evaluate.command()
def retrieval(
    dataset: Annotated[str, typer.Argument(help="Folder of a set, or a bundled one: nepali_starter.")],
    mode: Annotated[SearchMode | None, typer.Option("--mode", help="Which parts search.")] = None,
    encoder: Annotated[
        str | None, typer.Option("--encoder", "--embedding", help="Embedding model, see `rag models`.")
    ] = None,
    reranker: Annotated[str | None, typer.Option("--reranker", help="Reranker, or none.")] = None,
    k: Annotated[int, typer.Option("--k", min=1, max=1000, help="Depth of the measures.")] = 10,
    measures: Annotated[
        str | None, typer.Option("--measures", help="Others than the usual, as nDCG@10,MAP@100.")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option("--candidates", "--top-k", min=1, help="Candidates of each part.")
    ] = None,
    chunk_size: Annotated[int | None, typer.Option("--chunk-size", help="Tokens of a chunk.")] = None,
    run_file: Annotated[
        Path | None, typer.Option("--run-file", help="Write the rankings here, as a TREC run.")
    ] = None,
    qrels_file: Annotated[
        Path | None, typer.Option("--qrels-file", help="Write the judgements that belong to the run here.")
    ] = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Measure search on a labelled set, over a throw-away collection built from its documents."""
    from rag_platform.evaluation.layouts import load_dataset
    from rag_platform.evaluation.ranking import parse_measure
    from rag_platform.evaluation.retrieval import default_measures
    from rag_platform.evaluation.trec import write_qrels, write_run

    settings = open_settings(
        env_file,
        verbose,
        RAG_MODE=mode,
        EMBEDDING_MODEL=encoder,
        RERANKER_MODEL=reranker,
        TOP_K_RETRIEVAL=candidates,
        CHUNK_SIZE=chunk_size,
    )
    wanted = tuple(map(parse_measure, measures.split(","))) if measures else default_measures(k)
    found = load_dataset(dataset)
    value, evaluation = _measured(found, settings, wanted)
    _tell(evaluation)
    emit(output, value, _rows(evaluation))
    if run_file:
        write_run(run_file, evaluation.run, tag=f"{value['encoder']}-{value['mode']}")
    if qrels_file:
        write_qrels(qrels_file, evaluation.qrels)


def _measured(dataset: Dataset, settings: Settings, measures: Sequence[Measure]) -> tuple[Row, Evaluation]:
    """Measure, and return the result for JSON and as it is."""
    from rag_platform.measuring import measure_retrieval

    with step_progress() as progress:
        found = measure_retrieval(dataset, settings, measures, progress)
    return _value(found.evaluation, found.system, found.n_chunks), found.evaluation


@contextmanager
def step_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show on stderr what is being done: a bar on a terminal, elsewhere a line for each step."""
    from rich.console import Console
    from rich.progress import Progress

    if not sys.stderr.isatty():
        told = set()

        def tell(step: str, done: int, of: int) -> None:
            if step not in told:
                told.add(step)
                say(f"{step}: {of}")

        yield tell
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda step, done, of: progress.update(task, description=step, completed=done, total=of)


def _value(evaluation: Evaluation, system: System, n_chunks: int) -> Row:
    """Return the result for JSON: what was measured, how, and what came of it."""
    from rag_platform.chunking.chunkers import chunk_recipe
    from rag_platform.evaluation.retrieval import TopScores

    overall, options = evaluation.intervals(), system.search_options
    encoder = system.encoder(system.settings.embedding_model)
    return {
        "dataset": evaluation.dataset.name,
        "n_documents": evaluation.dataset.n_documents,
        "n_chunks": n_chunks,
        "n_queries": len(evaluation.judged),
        "n_unjudged": evaluation.n_unjudged,
        "encoder": encoder.name,
        "reranker": options.reranker,
        "mode": options.mode,
        "fusion": options.fusion,
        "weights": list(options.weights),
        "candidates": options.candidates,
        "recipe": {"encoder": encoder.recipe, "chunks": chunk_recipe(system.chunker, system.settings.kinds)},
        "measures": {name: interval.mean for name, interval in overall.items()},
        "intervals": {name: [interval.low, interval.high] for name, interval in overall.items()},
        "by_kind": {kind: _group_value(group) for kind, group in evaluation.by_kind().items()},
        "by_language": {name: _group_value(group) for name, group in evaluation.by_language().items()},
        "unanswerable": _scores_value(TopScores.of(evaluation.unanswerable)),
        "answerable": _scores_value(TopScores.of(evaluation.judged)),
        "seconds_a_query": _seconds(evaluation),
    }


def _group_value(group: Mapping[str, Interval]) -> Row:
    """Return the measures of some questions by name, beside their number and intervals."""
    n = next(iter(group.values())).n
    means = {name: interval.mean for name, interval in group.items()}
    ends = {name: [interval.low, interval.high] for name, interval in group.items()}
    return {"n_queries": n, **means, "intervals": ends}


def _scores_value(scores: TopScores) -> Row:
    return {"n_queries": scores.n, "n_without_hits": scores.n_without, "top_score": dict(scores.quantiles)}


def _seconds(evaluation: Evaluation) -> Row:
    import numpy as np

    seconds = [outcome.seconds for outcome in evaluation.outcomes]
    return {"p50": float(np.quantile(seconds, 0.5)), "p95": float(np.quantile(seconds, 0.95))}


def _rows(evaluation: Evaluation) -> list[Row]:
    """Return a row for each kind of question, or language where the set tells no kinds, and one for all."""
    kinds = evaluation.by_kind()
    groups = {**(kinds or evaluation.by_language()), _ALL: evaluation.intervals()}
    return [
        {"kind" if kinds else "language": kind, "n": next(iter(group.values())).n, **_cells(group)}
        for kind, group in groups.items()
    ]


def _cells(group: Mapping[str, Interval]) -> Row:
    return {name: f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" for name, one in group.items()}


def _tell(evaluation: Evaluation) -> None:
    """Say on stderr what the measures leave out."""
    from rag_platform.evaluation.retrieval import TopScores

    if evaluation.unanswerable:
        ours, others = TopScores.of(evaluation.unanswerable), TopScores.of(evaluation.judged)
        say(
            f"left out of the measures: {ours.n} unanswerable questions; median of their top scores"
            f" {_median(ours)}, of the answerable ones {_median(others)}; {ours.n_without} found nothing"
        )
    if evaluation.n_unjudged:
        say(f"left out of the measures: {evaluation.n_unjudged} questions that nobody judged")


def _median(scores: TopScores) -> str:
    return f"{scores.quantiles['median']:.3f}" if scores.quantiles else "none"
