"""``rag evaluate``: measure on labelled sets; the measuring itself is the library's."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
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
    from rag_platform.evaluation.service import Asked, Report, Summary
    from rag_platform.evaluation.statistics import Interval
    from rag_platform.settings import Settings
    from rag_platform.system import System

__all__ = ["answers", "evaluate", "retrieval", "step_progress"]

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


@evaluate.command()
def answers(
    dataset: Annotated[
        str, typer.Argument(help="Folder or name of a set, or a CSV file of questions: nepali_starter.")
    ],
    url: Annotated[str, typer.Option("--url", help="Address of the service, as http://127.0.0.1:8080.")],
    documents: Annotated[
        Path | None, typer.Option("--documents", help="Folder of the documents of a CSV file of questions.")
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", help="That the service searches; else its own default.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Who answers, of those that the service allows.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", min=1, max=1000, help="Hits; else as many as the service returns.")
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for one answer.")] = 120.0,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Score a running service: every question is asked at /v1/ask, and every error counts.

    Exit code 1 when no question was answered.
    """
    from rag_platform.evaluation.service import Service, score_service
    from rag_platform.evaluation.sweep import sweep_measures
    from rag_platform.sweeping.request import SweepRequest, load_set

    open_settings(env_file, verbose)
    found = load_set(SweepRequest(dataset, str(documents) if documents else ""))
    given = {"collection": collection, "model": model, "k": k}
    options = {name: value for name, value in given.items() if value is not None}
    with Service(url, options=options, timeout_s=timeout) as service, step_progress() as tell:
        report = score_service(service, found, sweep_measures(), tell)
    _tell_service(report)
    emit(output, {**_service_value(report), "asked_with": options}, _service_rows(report))
    if len(report.failed) == len(report.asked):
        raise typer.Exit(1)


def _tell_service(report: Report) -> None:
    """Say on stderr what failed, and how refusals went."""
    for reason, n in Counter(one.reason for one in report.failed).most_common(5):
        say(f"{n} of {len(report.asked)} questions failed: {reason}")
    found = report.refusals
    say(
        f"refused {found.n_refused} of {len(report.asked)}: precision {found.precision:.3f}, recall"
        f" {found.recall:.3f} of {found.n_unanswerable} unanswerable; answered {found.answered:.3f} of"
        f" {found.n_answerable} answerable"
    )


def _service_value(report: Report) -> Row:
    """Return what a service reached, for JSON; what is not known is null."""
    replies = [one.reply for one in report.asked if one.reply]
    return {
        "dataset": report.dataset.name,
        "url": report.url,
        "n_questions": len(report.asked),
        "n_failed": len(report.failed),
        "generators": sorted({reply.generator for reply in replies}),
        "generations": sorted({reply.generation for reply in replies if reply.generation is not None}),
        "measures": _summaries_value(report.summaries),
        "by_kind": {kind: _summaries_value(group) for kind, group in report.by_kind.items()},
        "refusals": asdict(report.refusals),
        "seconds_a_query": _seconds([reply.seconds for reply in replies]),
        "tokens": sum(reply.answer.usage.tokens for reply in replies),
        "cost": sum(reply.answer.usage.cost for reply in replies),
        "questions": [_asked_value(one) for one in report.asked],
    }


def _summaries_value(group: Mapping[str, Summary]) -> Row:
    return {
        name: {key: None if value != value else value for key, value in asdict(one).items()}
        for name, one in group.items()
    }


def _asked_value(one: Asked) -> Row:
    return {
        "id": one.case.case_id,
        "question": one.case.query,
        "status": "ok" if one.reply else "failed",
        "reason": one.reason,
        "answer": one.reply.answer.text if one.reply else None,
        "refused": one.reply.answer.refused if one.reply else None,
        "sources": [hit.source for hit in one.reply.hits] if one.reply else [],
        "pages": [hit.page_first for hit in one.reply.hits] if one.reply else [],
        "measures": {name: m.value for name, m in one.measured.items() if m.status == "ok"},
    }


def _service_rows(report: Report) -> list[Row]:
    """Return a row a measure; ``at least`` counts every failure as 0."""
    return [
        {
            "measure": name,
            "mean": f"{one.value:.3f} [{one.ci_low:.3f}, {one.ci_high:.3f}]" if one.n_queries else "",
            "n": one.n_queries,
            "failed": one.n_failed,
            "skipped": one.n_skipped,
            "at least": "" if one.floor != one.floor else f"{one.floor:.3f}",
        }
        for name, one in report.summaries.items()
    ]


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
        "seconds_a_query": _seconds([outcome.seconds for outcome in evaluation.outcomes]),
    }


def _group_value(group: Mapping[str, Interval]) -> Row:
    """Return the measures of some questions by name, beside their number and intervals."""
    n = next(iter(group.values())).n
    means = {name: interval.mean for name, interval in group.items()}
    ends = {name: [interval.low, interval.high] for name, interval in group.items()}
    return {"n_queries": n, **means, "intervals": ends}


def _scores_value(scores: TopScores) -> Row:
    return {"n_queries": scores.n, "n_without_hits": scores.n_without, "top_score": dict(scores.quantiles)}


def _seconds(seconds: Sequence[float]) -> Row:
    import numpy as np

    ends = {"p50": 0.5, "p95": 0.95}
    return {name: float(np.quantile(seconds, q)) if seconds else None for name, q in ends.items()}


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
