"""``rag questions``: draft questions from documents, go through them, make a set of those that were asked.

What a question must be like is the library's; here it is wired, shown and typed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.evaluate import step_progress
from rag_platform.cli.options import (
    Collection,
    Embedding,
    EnvFile,
    Output,
    Verbose,
    open_settings,
    open_system,
)
from rag_platform.cli.render import Format, Row, emit, say, visible
from rag_platform.errors import CallerError, InvalidSetting

if TYPE_CHECKING:
    from rag_platform.evaluation.datasets import Case
    from rag_platform.evaluation.judge import JudgeEndpoint
    from rag_platform.evaluation.judge.calls import JudgeModel
    from rag_platform.evaluation.question_plan import QuestionPlan
    from rag_platform.evaluation.question_sets import Review
    from rag_platform.evaluation.questions import Corpus, Generated
    from rag_platform.system import System
    from rag_platform.types import Chunk, Document

__all__ = ["drafting_endpoint", "generate_questions", "questions", "questions_from_log", "review_questions"]

questions = typer.Typer(name="questions", help="Make sets of questions.", no_args_is_help=True)
_KINDS = "lookup,thematic,romanized,table,date,multi-page,unanswerable"
_HITS = 8
"""Passages that are looked at for another answer."""
_CHOICES = "[a]ccept, [e]dit, [r]eject, [s]kip, [q]uit"
_KEPT_DOCUMENTS = 256


@questions.command("generate")
def generate_questions(
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the sets; made when it is not there.")
    ] = None,
    collection: Collection = None,
    kinds: Annotated[str, typer.Option("--kinds", help="Of questions, comma-separated.")] = _KINDS,
    n: Annotated[int, typer.Option("--n", min=1, help="Questions wanted.")] = 50,
    seed: Annotated[int, typer.Option("--seed", help="Of the choice of passages and of the split.")] = 0,
    test_share: Annotated[
        float, typer.Option("--test-share", min=0, max=1, help="Of the questions, those of the test set.")
    ] = 0.5,
    plan: Annotated[bool, typer.Option("--plan", help="Say what it would take, and stop.")] = False,
    budget: Annotated[
        float | None, typer.Option("--budget", min=0, help="US dollars that the model may cost now.")
    ] = None,
    max_calls: Annotated[
        int | None, typer.Option("--max-calls", min=0, help="Calls of the model at most.")
    ] = None,
    embedding: Embedding = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Draft questions from a published collection through the judge's model, else the one that answers.

    A budget stops it with what was drafted so far; the same command with a larger one goes on.
    """
    from rag_platform.evaluation.budget import Budget
    from rag_platform.evaluation.question_plan import plan_questions
    from rag_platform.evaluation.question_sets import Origin, check_free, write_set
    from rag_platform.evaluation.questions import generate

    if out is None and not plan:
        raise typer.BadParameter("a folder for the sets is needed", param_hint="--out")
    settings = open_settings(env_file, verbose, COLLECTION_NAME=collection, EMBEDDING_MODEL=embedding)
    if out is not None:
        check_free(out)
    system = open_system(settings, must_exist=True)
    endpoint, name = drafting_endpoint(system), settings.collection_name
    if budget is not None:
        _check_price(endpoint)
    corpus, model = _corpus(system), _model(system, endpoint)
    wanted = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    found = plan_questions(corpus, model, kinds=wanted, n=n, seed=seed)
    _tell_plan(found, endpoint.name)
    if out is None or plan:
        emit(output, {"model": endpoint.name, **asdict(found)}, [asdict(one) for one in found.kinds])
        return
    with step_progress() as progress:
        made = generate(
            corpus,
            model,
            kinds=wanted,
            n=n,
            seed=seed,
            budget=Budget(budget, max_calls),
            progress=progress,
        )
    files = {
        entry.source: system.raw.path(entry.content_sha256)
        for entry in system.catalog.entries(name)
        if entry.status == "ok"
    }
    written = write_set(out, made, files, Origin(name, endpoint.model, seed), test_share=test_share)
    _tell(made, n)
    value = _value(made, written)
    emit(output, value, [{"kind": kind, "questions": n} for kind, n in sorted(made.by_kind.items())])


def _check_price(endpoint: JudgeEndpoint) -> None:
    """Refuse a budget in dollars that could never be spent.

    Raises:
        CallerError: The price of the model is not known.
    """
    from rag_platform.remote import price_of

    if price_of(endpoint.model) is None:
        raise CallerError(
            f"the price of {endpoint.model} is not known here, so --budget could not stop it;"
            " limit its calls: --max-calls"
        )


def _tell_plan(plan: QuestionPlan, model: str) -> None:
    """Say on stderr what lies ahead."""
    kept = sum(one.kept for one in plan.kinds)
    passages = ", ".join(f"{one.passages} for {one.kind}" for one in plan.kinds)
    say(f"passages to ask about: {passages}")
    if kept:
        say(f"{kept} questions come of replies that were kept")
    price = "unknown: a price is missing"
    if plan.cost is not None:
        price = f"{_between(*(f'{end:.2f}' for end in plan.cost))} US dollars"
    say(
        f"to ask {model}: {_between(*plan.calls)} calls, about {_between(*plan.tokens)} tokens; cost: {price}"
    )


def _between(low: object, high: object) -> str:
    return str(low) if low == high else f"{low} to {high}"


def drafting_endpoint(system: System) -> JudgeEndpoint:
    """Return who drafts: the judge of the settings, else the model that answers.

    Raises:
        InvalidSetting: Neither is set, or not wholly.
        UnknownName: There is no such provider.
    """
    from rag_platform.evaluation.judge import JudgeEndpoint, judge_endpoint

    settings = system.settings
    judge = judge_endpoint(
        settings.eval_provider,
        settings.eval_model,
        api_key=settings.eval_api_key,
        base_url=settings.eval_base_url,
    )
    if judge is not None:
        return judge
    if not settings.llm_provider:
        raise InvalidSetting(
            "no model can draft questions; set EVAL_PROVIDER and EVAL_MODEL, or LLM_PROVIDER"
        )
    to = system.connection()
    return JudgeEndpoint(to.called, to.url(), to.key)


def _model(system: System, endpoint: JudgeEndpoint) -> JudgeModel:
    """Return the model; its replies are kept with the judge's, so that a stopped run goes on."""
    from rag_platform.evaluation.judge.calls import JudgeModel
    from rag_platform.evaluation.judge.judge import CACHE
    from rag_platform.evaluation.memo import Memo

    return JudgeModel(endpoint, Memo(system.home / CACHE), timeout_s=system.settings.eval_timeout_s)


def _corpus(system: System) -> Corpus:
    """Return the published collection of the settings.

    Raises:
        NotPublished: It is not published; ``UnknownName``: others are.
    """
    from dataclasses import replace

    from rag_platform.evaluation.questions import Corpus
    from rag_platform.platform import RagPlatform

    name, model = system.settings.collection_name, system.encoder(system.settings.embedding_model).name
    system.searcher.reader(name, model)
    platform = RagPlatform(system=system)
    options = replace(system.search_options, k=_HITS, threshold=None)

    @lru_cache(maxsize=_KEPT_DOCUMENTS)
    def load(source: str) -> tuple[Document, Sequence[Chunk]]:
        stored = platform.document(source, collection=name)
        return stored.document, stored.chunks

    return Corpus(
        sources=sorted(entry.source for entry in system.catalog.entries(name) if entry.status == "ok"),
        load=load,
        search=lambda query: platform.search(query, collection=name, options=options).hits,
    )


def _tell(made: Generated, n: int) -> None:
    """Say what was refused, what it took, and what is still to do."""
    for reason, times in Counter(one.reason for one in made.refused).most_common():
        say(f"refused {times}: {reason}")
    if made.stopped:
        say(f"stopped: {made.stopped}; repeat the command with a larger one to go on")
    elif len(made.drafted) < n:
        say(f"{len(made.drafted)} of {n} questions were kept; other passages come with another --seed")
    say(f"{made.calls} calls, {made.usage.tokens} tokens, {made.usage.cost:.4f} USD")
    say("no person has seen these questions yet; go through them with: rag questions review FOLDER")


def _value(made: Generated, written: dict[str, Path]) -> Row:
    return {
        "questions": len(made.drafted),
        "by_kind": dict(made.by_kind),
        "refused": dict(Counter(one.reason for one in made.refused)),
        "sets": {name: str(folder) for name, folder in written.items()},
        "calls": made.calls,
        "tokens": made.usage.tokens,
        "cost": made.usage.cost,
        "stopped": made.stopped,
    }


@questions.command("review")
def review_questions(
    folder: Annotated[Path, typer.Argument(help="Where `rag questions generate` wrote to.")],
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Go through drafted questions one by one; every verdict is kept at once, so stop whenever you like."""
    from rag_platform.evaluation.question_sets import Review

    open_settings(env_file, verbose)
    review = Review(folder)
    waiting = review.waiting
    for number, case in enumerate(waiting, start=1):
        sys.stdout.write(visible(f"\n{number} of {len(waiting)}\n{_shown(case)}\n"))
        if not _decided(review, case):
            break
    counts = Counter(review.verdicts.values())
    say(", ".join(f"{counts[name]} {name}" for name in ("accepted", "edited", "rejected")))
    say(f"{len(review.waiting)} questions wait for a verdict" if review.waiting else "all were reviewed")


def _shown(case: Case) -> str:
    lines = [f"{case.case_id} ({case.language}): {case.query}"]
    if not case.answerable:
        return "\n".join([*lines, "  no document answers it"])
    lines.append(f"  answer: {case.reference_answer}")
    for label in case.labels:
        page = f", page {label.page}" if label.page else ""
        lines.append(f"  {label.source}{page}: {' '.join(label.quote.split())}")
    return "\n".join(lines)


def _decided(review: Review, case: Case) -> bool:
    """Ask for a verdict until there is one; False: no more."""
    while True:
        choice = _line(f"{_CHOICES}: ")
        if choice is None or choice == "q":
            return False
        if choice == "s":
            return True
        if choice == "a":
            review.accept(case)
            return True
        if choice == "r":
            review.reject(case)
            return True
        if choice == "e":
            query = _line("question (empty: as it is): ")
            answer = _line("answer (empty: as it is): ") if query is not None and case.answerable else ""
            if query is None or answer is None:
                return False
            review.edit(case, query=query or case.query, answer=answer or case.reference_answer)
            return True
        say(f"{choice!r} is none of {_CHOICES}")


def _line(prompt: str) -> str | None:
    """Return what a person types, None at the end of the input."""
    sys.stdout.write(prompt)
    sys.stdout.flush()
    typed = sys.stdin.readline()
    return typed.strip() if typed else None


@questions.command("from-log")
def questions_from_log(
    out: Annotated[Path, typer.Option("--out", help="CSV file for the questions.")],
    log: Annotated[
        Path | None,
        typer.Argument(help="One JSON object a line, with the key question; none: the services' own log."),
    ] = None,
    output: Output = Format.table,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Make a file of questions, without labels, of those that people asked."""
    from rag_platform.evaluation.question_sets import from_log, write_questions
    from rag_platform.question_log import QuestionLog

    settings = open_settings(env_file, verbose)
    kept = QuestionLog.of(settings.root).files if log is None else [log]
    if not kept:
        raise CallerError(
            f"no service has kept a question in {settings.root}; set RAG_QUESTION_LOG=true, or name a log"
        )
    found = list(from_log(*kept))
    write_questions(out, found)
    say(f"{len(found)} questions written to {out}; use them with: rag sweep {out} --documents FOLDER")
    emit(output, {"questions": len(found), "files": [str(out)]}, [])
