"""A run as one HTML page that needs nothing else: no script, no font, no picture from outside.

Everything that comes from a document, a question or a model is text here: escaped, never markup.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_platform.evaluation.compare import Answered, Change, Comparison, Difference
from rag_platform.evaluation.leaderboard import GROUPS, Leaderboard, breakdown, leaderboard
from rag_platform.evaluation.published import SOURCE, published
from rag_platform.evaluation.report.charts import (
    Grid,
    Group,
    grids,
    grouped,
    interval_svg,
    points,
    scatter_svg,
    shade,
)
from rag_platform.evaluation.report.style import STYLE
from rag_platform.evaluation.report.tables import board_html
from rag_platform.evaluation.results import Run
from rag_platform.text.markup import html_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_CHANGES", "as_page"]

MOST_CHANGES = 50
"""Questions shown of those gained, and of those lost."""
_MOST_GROUPS = 30
_FIRST = 5
"""Measures of the first table."""
_HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    '<meta name="viewport" content="width=device-width">'
)


def as_page(run: Run, *, measure: str | None = None, comparison: Comparison | None = None) -> Iterator[str]:
    """Yield the report of a run piece by piece.

    Args:
        run: Which one.
        measure: By which cells are ordered and charts drawn; None: the run's first.
        comparison: With another run, shown question by question.

    Raises:
        UnknownName: The run has no such measure.
        CallerError: The run has no scores.
    """
    board = leaderboard(run, measure=measure)
    title = html_text(f"{run.name or run.run_id}: {run.dataset}")
    yield f"{_HEAD}<title>{title}</title><style>{STYLE}</style></head><body><main><h1>{title}</h1>"
    yield _wide(_about(run), "what was measured", "about")
    yield from _board(board)
    yield f"<h2>{html_text(board.main)} over the grid</h2><p>Scores that failed count as 0.</p>"
    for grid in grids(board):
        yield _heat(grid)
    yield f"<h2>Intervals</h2><p>Blue: tied with the best.</p>{_wide(interval_svg(board), 'intervals')}"
    yield from _costs(board)
    for by in GROUPS:
        yield from _groups(breakdown(run, board.main, by), board.main, by)
    yield from _beside(board)
    if comparison is not None:
        yield from _comparison(comparison)
    yield "</main></body></html>\n"


def _wide(content: str, name: str, kind: str = "") -> str:
    """Return content that scrolls sideways by itself where the page is narrow."""
    label = html_text(name)
    return f'<div class="wide {kind}" role="region" aria-label="{label}" tabindex="0">{content}</div>'


def _board(board: Leaderboard) -> Iterator[str]:
    """Yield the table of the first measures, where the status can be seen, and below it that of all."""
    few = replace(board, measures=board.measures[:_FIRST])
    yield f"<h2>Leaderboard</h2>{_wide(board_html(few), 'leaderboard', 'board')}"
    if few.measures != board.measures:
        every = _wide(board_html(board), "all measures", "board")
        yield f"<details><summary>All {len(board.measures)} measures</summary>{every}</details>"


def _about(run: Run) -> str:
    rows = (
        f'<tr><th scope="row">{html_text(key.replace("_", " "))}</th><td>{html_text(_shown(value))}</td></tr>'
        for key, value in run.about.items()
    )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _costs(board: Leaderboard) -> Iterator[str]:
    yield "<h2>Quality against time and cost</h2><p>Blue, joined: no cell is better and takes no more.</p>"
    seconds = scatter_svg(points(board, lambda row: row.seconds), "seconds a question", board.main)
    yield _wide(seconds, "quality against time")
    if any(row.cost for row in board.rows):
        dollars = scatter_svg(points(board, lambda row: row.cost), "US dollars for all answers", board.main)
        yield _wide(dollars, "quality against cost")
    else:
        yield "<p>No cell cost anything.</p>"


def _heat(grid: Grid) -> str:
    """Return a table coloured by value."""
    there = [value for row in grid.values for value in row if not math.isnan(value)] or [0.0]
    lines = []
    for model, row in zip(grid.models, grid.values, strict=True):
        cells = "".join(_shaded(value, min(there), max(there)) for value in row)
        lines.append(f'<tr><th scope="row">{html_text(model)}</th>{cells}</tr>')
    named = f"<h3>{html_text(grid.variant)}</h3>" if grid.variant else ""
    table = f"<table>{_head(grid.rerankers)}<tbody>{''.join(lines)}</tbody></table>"
    return named + _wide(table, f"grid {grid.variant}".strip())


def _head(names: Iterable[str]) -> str:
    """Return the head of a table whose first column names the rows."""
    cells = "".join(f'<th scope="col">{html_text(name)}</th>' for name in names)
    return f"<thead><tr><td></td>{cells}</tr></thead>"


def _shaded(value: float, low: float, high: float, note: str = "") -> str:
    background, colour = shade(value, low, high)
    shown = "–" if math.isnan(value) else f"{value:.3f}"
    return f'<td class="n" style="background:{background};color:{colour}">{shown}{html_text(note)}</td>'


def _groups(found: pd.DataFrame, measure: str, by: str) -> Iterator[str]:
    """Yield a table of cells by groups of questions, where there are groups."""
    names, rows = grouped(found)
    if len(names) < 2:
        return
    yield f"<h2>{html_text(measure)} by {by}</h2>"
    if len(names) > _MOST_GROUPS:
        yield f"<p>The first {_MOST_GROUPS} of {len(names)}; all are in the tables of the run.</p>"
    there = [group.value for row in rows.values() for group in row if not math.isnan(group.value)] or [0.0]
    lines = []
    for cell, row in rows.items():
        cells = (_shaded(group.value, min(there), max(there), _count(group)) for group in row[:_MOST_GROUPS])
        lines.append(f'<tr><th scope="row">{html_text(cell)}</th>{"".join(cells)}</tr>')
    table = f"<table>{_head(names[:_MOST_GROUPS])}<tbody>{''.join(lines)}</tbody></table>"
    yield _wide(table, f"by {by}", "groups")


def _count(group: Group) -> str:
    return f" (n {group.n_queries}{f', {group.n_failed} failed' if group.n_failed else ''})"


def _beside(board: Leaderboard) -> Iterator[str]:
    """Yield the published table with our figures of the same cells."""
    ours = {(row.cell.embedding_model, row.cell.reranker): row for row in board.rows if not row.cell.variant}
    yield f"<h2>Published by others</h2><p>{html_text(SOURCE)}. Other documents, questions and judge.</p>"
    rows = []
    for cell in published():
        row = ours.get((cell.embedding_model, cell.reranker))
        entry = row.measures.get(board.main) if row else None
        own = f"{entry.worst:.3f}" if entry else (row.status if row else "")
        rows.append((cell.embedding_model, cell.reranker, f"{cell.measures['Retrieval Avg']:.3f}", own))
    head = ("embedding model", "reranker", "published Retrieval Avg", f"our {board.main}")
    yield _table(head, rows, "published by others")


def _comparison(found: Comparison) -> Iterator[str]:
    yield f"<h2>{html_text(found.b.run_id)} against {html_text(found.a.run_id)}</h2>"
    yield "<p>A is the earlier run, B the one of this page; differences are B minus A.</p>"
    differs = ((key.replace("_", " "), *sides) for key, sides in found.differs.items())
    yield _table(("differs", "A", "B"), differs, "what differs", "differs")
    head = ("measure", "kind", "difference", "95 % interval", "p (Holm)", "n", "better", "same", "worse")
    first = [one for one in found.differences if not one.kind or one.measure == found.main]
    yield _table(head, map(_difference, first), "differences")
    if len(first) < len(found.differences):
        every = _table(head, map(_difference, found.differences), "every measure by kind")
        yield f"<details><summary>Every measure by kind</summary>{every}</details>"
    for title, changes in (("lost", found.lost), ("gained", found.gained)):
        yield f"<h3>{len(changes)} questions {title} in {html_text(found.main)}</h3>"
        yield from map(_change, changes[:MOST_CHANGES])


def _difference(one: Difference) -> tuple[object, ...]:
    p = one.paired
    ends, mean = f"[{p.low:+.3f}, {p.high:+.3f}]", f"{p.mean:+.3f}"
    return one.measure, one.kind or "all", mean, ends, f"{one.p_holm:.4f}", p.n, p.wins, p.ties, p.losses


def _change(change: Change) -> str:
    """Return one question with what both runs made of it."""
    values = f"{change.a.value:.3f} → {change.b.value:.3f}"
    answer = f"<p>Right: {html_text(change.reference_answer)}</p>" if change.reference_answer else ""
    return (
        f"<details><summary>{values} {html_text(change.query_id)}: {html_text(change.query)}</summary>"
        f"{answer}"
        f'<div class="two">{_side("A", change.a)}{_side("B", change.b)}</div></details>'
    )


def _side(name: str, made: Answered) -> str:
    contexts = "".join(
        f"<blockquote><cite>{html_text(place)}</cite><br>{html_text(text)}</blockquote>"
        for place, text in zip(made.places, made.contexts, strict=True)
    )
    return f"<div><b>{name}</b><p>{html_text(made.answer) or '(no answer)'}</p>{contexts}</div>"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], name: str, kind: str = "") -> str:
    titles = "".join(f'<th scope="col">{html_text(title)}</th>' for title in head)
    lines = (f"<tr>{''.join(f'<td>{html_text(value)}</td>' for value in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{titles}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    return _wide(table, name, kind)


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value or "none")
