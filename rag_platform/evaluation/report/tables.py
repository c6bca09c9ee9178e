"""A leaderboard as rows of text, Markdown, LaTeX and HTML.

In all of them: ``≥ 0.61`` is a cell with failed scores, by what it has at least; bold or ``*`` is tied with
the best; letters name the rows that are significantly worse (as ranx prints them), many in a row as ``c–k``.
Long reasons stand below the table, once each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from rag_platform.evaluation.leaderboard import Entry, Leaderboard, Row, place_of
from rag_platform.evaluation.published import Published
from rag_platform.evaluation.standing import cell_name
from rag_platform.text.markup import html_text, latex_text, markdown_text

__all__ = ["as_latex", "as_markdown", "board_html", "caption", "figure", "metadata", "notes", "text_rows"]

_PUBLISHED = "published by others"
_DIGITS = 4  # of a number that is plotted
_REASON = 60  # characters of a reason beside a status
_RUN = 3  # letters in a row that are all written
Style = Callable[[Entry, bool], str]


def figure(entry: Entry, *, interval: bool = False) -> str:
    """Return a value as people read it, with what failed said first.

    >>> done = Entry(0.75, 0.5, 1.0, 8, 0, 0, 0.75, True, ())
    >>> figure(done, interval=True)
    '0.750 [0.500, 1.000]'
    >>> figure(Entry(0.75, 0.5, 1.0, 8, 2, 0, 0.6, True, ()))
    '≥ 0.600 (0.750 of 8, 2 failed)'
    """
    if math.isnan(entry.value):
        why = f"{entry.n_failed} failed" if entry.n_failed else "no common question"
        return f"{'≥ ' if entry.n_failed else ''}{entry.worst:.3f} ({why})"
    ends = f" [{entry.ci_low:.3f}, {entry.ci_high:.3f}]" if interval else ""
    if entry.n_failed:
        return f"≥ {entry.worst:.3f} ({entry.value:.3f}{ends} of {entry.n_queries}, {entry.n_failed} failed)"
    return f"{entry.value:.3f}{ends}"


def caption(board: Leaderboard) -> str:
    """Return what must be known to read the board: the set, on how many questions, what it can show."""
    summary = board.summaries[board.main]
    said = [f"{board.run['dataset']}, run {board.run['run_id']} of {board.run['created_at'][:10]}."]
    said.append(f"Means over the {summary.n_common} questions that all compared cells have, 95 % intervals.")
    if summary.best is not None:
        others = f"{summary.n_tied - 1} others tied with the best in {board.main}"
        said.append(f"{others} (randomisation test, Holm, 5 %).")
    if math.isfinite(summary.detectable):
        said.append(f"A difference of {summary.detectable:.3f} shows in four of five such sets.")
    if not board.run["judge"]:
        said.append("No judge was set, so nothing here was judged by a model.")
    return " ".join(said)


def notes(board: Leaderboard) -> list[str]:
    """Return the reasons that are too long for a row, each once with the number that rows name it by."""
    return [f"({number}) {reason}" for reason, number in _numbered(board).items()]


def text_rows(board: Leaderboard, others: Sequence[Published] = ()) -> list[dict[str, object]]:
    """Return a row a cell for the terminal: the main measure with its interval, the others without."""
    there, beside = _beside(board, others)
    rows: list[dict[str, object]] = [
        {
            "": row.letter,
            **_names(board, row),
            **{name: _plain(row, name, interval=name == board.main) for name in board.measures},
            **({beside: there.pop((row.cell.embedding_model, row.cell.reranker), "")} if others else {}),
            "tied": "*" if row.tied_with_best else "",
            "status": _status(row, _numbered(board)),
        }
        for row in board.rows
    ]
    blank: dict[str, object] = dict.fromkeys(rows[0], "")
    for (model, reranker), value in there.items():
        told = {"embedding model": model, "reranker": reranker, beside: value, "status": _PUBLISHED}
        rows.append({**blank, **told})
    return rows


def as_markdown(board: Leaderboard, others: Sequence[Published] = ()) -> str:
    """Return a Markdown table; bold is tied with the best, raised letters name rows significantly worse."""

    def cell(entry: Entry, is_main: bool) -> str:
        shown = markdown_text(figure(entry, interval=is_main)).replace("\\[", "[").replace("\\]", "]")
        bold = f"**{shown}**" if _is_bold(entry) else shown
        return bold + (f" <sup>{_joined(entry)}</sup>" if entry.beats else "")

    head, rows = _grid(board, others, cell, markdown_text)
    lines = [head, ["---"] * len(head), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    below = "".join(f"\n{markdown_text(note)}\n" for note in (caption(board), *notes(board)))
    return f"{table}\n{below}"


def as_latex(board: Leaderboard, others: Sequence[Published] = ()) -> str:
    """Return a LaTeX table (``booktabs``); bold is tied with the best, raised letters name worse rows."""
    en_dash = r"\mbox{--}"

    def cell(entry: Entry, is_main: bool) -> str:
        shown = latex_text(figure(entry, interval=is_main)).replace("≥", r"$\geq$")
        bold = rf"\textbf{{{shown}}}" if _is_bold(entry) else shown
        return bold + (f"$^{{{_joined(entry).replace('–', en_dash)}}}$" if entry.beats else "")

    head, rows = _grid(board, others, cell, latex_text)
    n_figures = len(board.measures) + bool(others)
    columns = "l" * (len(head) - n_figures - 1) + "r" * n_figures + "l"
    body = "\n".join(" & ".join(row) + r" \\" for row in rows)
    below = "".join(f"\\par\\footnotesize {latex_text(note)}\n" for note in notes(board))
    return (
        "\\begin{table}\n\\centering\n"
        f"\\caption{{{latex_text(caption(board))}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n"
        f"{' & '.join(head)} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n{below}\\end{{table}}\n"
    )


def board_html(board: Leaderboard) -> str:
    """Return a table for a page or a notebook, without anything from outside."""

    def cell(entry: Entry, is_main: bool) -> str:
        shown = html_text(figure(entry, interval=is_main))
        bold = f"<b>{shown}</b>" if _is_bold(entry) else shown
        return bold + (f" <sup>{_joined(entry)}</sup>" if entry.beats else "")

    head, rows = _grid(board, (), cell, html_text)
    n_names = 1 + len(_names(board, board.rows[0]))
    for line in (head, *rows):  # the status beside the names: a page may be too narrow for the last column
        line.insert(n_names, line.pop())
    titles = "".join(f'<th scope="col">{name}</th>' if name else "<td></td>" for name in head)
    lines = "".join(f"<tr>{''.join(f'<td>{value}</td>' for value in row)}</tr>" for row in rows)
    table = f"<thead><tr>{titles}</tr></thead><tbody>{lines}</tbody>"
    below = "".join(f"<p>{html_text(note)}</p>" for note in notes(board))
    return f"<table><caption>{html_text(caption(board))}</caption>{table}</table>{below}"


def metadata(board: Leaderboard) -> tuple[str, dict[str, float | int]]:
    """Return a board as a Markdown table, and as numbers that a user interface plots from run to run.

    The numbers are the best value of every measure, the main measure of every cell (by
    ``model|reranker|variant``), and counts of cells and of failed scores.
    """
    compared = [row for row in board.rows if row.status == "complete"]
    numbers: dict[str, float | int] = {
        "cells": len(board.rows),
        "cells_complete": len(compared),
        "cells_tied_with_best": board.summaries[board.main].n_tied,
        "scores_failed": sum(entry.n_failed for row in board.rows for entry in row.measures.values()),
    }
    for name in board.measures:
        best = board.summaries[name].best
        values = (row.measures[name].value for row in board.rows if row.cell == best)
        numbers |= {f"best {name}": round(value, _DIGITS) for value in values}
    for row in compared:
        if board.main in row.measures and not math.isnan(row.measures[board.main].value):
            numbers[f"{board.main} {cell_name(row.cell)}"] = round(row.measures[board.main].value, _DIGITS)
    return as_markdown(board), numbers


def _grid(
    board: Leaderboard, others: Sequence[Published], cell: Style, text: Callable[[object], str]
) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table, every piece ready for its format."""
    there, beside = _beside(board, others)
    names = list(_names(board, board.rows[0]))
    head = ["", *map(text, (*names, *board.measures, *([beside] if others else []))), "status"]
    rows, numbered = [], _numbered(board)
    for row in board.rows:
        told = [row.measures.get(name) for name in board.measures]
        figures = [cell(entry, at == 0) if entry else "" for at, entry in enumerate(told)]
        if others:
            figures.append(text(there.pop((row.cell.embedding_model, row.cell.reranker), "")))
        rows.append(
            [row.letter, *map(text, _names(board, row).values()), *figures, text(_status(row, numbered))]
        )
    blank = [""] * (len(names) - 2 + len(board.measures))
    for (model, reranker), value in there.items():
        rows.append(["", text(model), text(reranker), *blank, text(value), _PUBLISHED])
    return head, rows


def _beside(board: Leaderboard, others: Sequence[Published]) -> tuple[dict[tuple[str, str], str], str]:
    """Return the published value of every published cell, and what it is of."""
    measure = board.main if others and board.main in others[0].measures else "Retrieval Avg"
    values = {(one.embedding_model, one.reranker): f"{one.measures[measure]:.3f}" for one in others}
    return values, f"published {measure}"


def _names(board: Leaderboard, row: Row) -> dict[str, str]:
    """Return what names a cell, the variant only where the run has some."""
    names = {"embedding model": row.cell.embedding_model, "reranker": row.cell.reranker}
    if any(one.cell.variant for one in board.rows):
        names["variant"] = row.cell.variant
    return names


def _plain(row: Row, measure: str, *, interval: bool) -> str:
    return figure(row.measures[measure], interval=interval) if measure in row.measures else ""


def _numbered(board: Leaderboard) -> dict[str, int]:
    reasons = dict.fromkeys(row.reason for row in board.rows if len(row.reason) > _REASON)
    return {reason: number for number, reason in enumerate(reasons, start=1)}


def _status(row: Row, numbered: Mapping[str, int]) -> str:
    """Return the status with its reason, or the number of a long one; a gate that failed is never silent."""
    if row.reason:
        told = f" ({numbered[row.reason]})" if row.reason in numbered else f": {row.reason}"
        return row.status + told
    return row.status if row.gate_passed else f"{row.status}, sanity gate failed"


def _is_bold(entry: Entry) -> bool:
    """Say whether it is tied with the best on questions that all have: on none, nobody is."""
    return entry.tied_with_best and not math.isnan(entry.value)


def _joined(entry: Entry) -> str:
    """Return letters in one word, apart where one of them has two; a long run by its ends."""
    runs: list[list[str]] = []
    for letter in entry.beats:
        if runs and place_of(letter) == place_of(runs[-1][-1]) + 1:
            runs[-1].append(letter)
        else:
            runs.append([letter])
    parts = [part for run in runs for part in ([f"{run[0]}–{run[-1]}"] if len(run) > _RUN else run)]
    return ("," if any(len(part) > 1 for part in parts) else "").join(parts)
