"""A run as one HTML page that needs nothing else: no script, no font, no picture from outside.

Everything that comes from a document, a question or a model is text here: escaped, never markup.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rag_platform.evaluation.compare import Answered, Change, Comparison
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
from rag_platform.evaluation.report.tables import board_html
from rag_platform.evaluation.results import Run
from rag_platform.text.markup import html_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_CHANGES", "as_page"]

MOST_CHANGES = 50
"""Questions shown of those gained, and of those lost."""
_MOST_GROUPS = 30
_STYLE = """
body { font: 15px/1.5 "Noto Sans Devanagari", "Noto Sans", system-ui, sans-serif; margin: 2rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .3rem .7rem; text-align: left;
vertical-align: top; border-bottom: 1px solid #ddd; overflow-wrap: anywhere } td.n { text-align: right }
caption { caption-side: bottom; text-align: left; padding: .5rem 0; color: #555 } svg { max-width: 100%;
height: auto } details { border-top: 1px solid #ddd; padding: .4rem 0 } summary { cursor: pointer }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem } blockquote { margin: .5rem 0;
padding-left: .8rem; border-left: 3px solid #ddd; overflow-wrap: anywhere }
"""
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
    yield f"{_HEAD}<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
    yield from _table(("", ""), ((key.replace("_", " "), _shown(value)) for key, value in run.about.items()))
    yield f"<h2>Leaderboard</h2>{board_html(board)}"
    yield f"<h2>{html_text(board.main)} over the grid</h2><p>Scores that failed count as 0.</p>"
    for grid in grids(board):
        yield _heat(grid)
    yield f"<h2>Intervals</h2><p>Dark: tied with the best.</p>{interval_svg(board)}"
    yield from _costs(board)
    for by in GROUPS:
        yield from _groups(breakdown(run, board.main, by), board.main, by)
    yield from _beside(board)
    if comparison is not None:
        yield from _comparison(comparison)
    yield "</body></html>\n"


def _costs(board: Leaderboard) -> Iterator[str]:
    yield "<h2>Quality against time and cost</h2><p>Dark, joined: no cell is better and takes no more.</p>"
    yield scatter_svg(points(board, lambda row: row.seconds), "seconds a question", board.main)
    if any(row.cost for row in board.rows):
        yield scatter_svg(points(board, lambda row: row.cost), "US dollars for all answers", board.main)
    else:
        yield "<p>No cell cost anything.</p>"


def _heat(grid: Grid) -> str:
    """Return a table coloured by value."""
    there = [value for row in grid.values for value in row if not math.isnan(value)] or [0.0]
    lines = [f"<tr><th></th>{''.join(f'<th>{html_text(name)}</th>' for name in grid.rerankers)}</tr>"]
    for model, row in zip(grid.models, grid.values, strict=True):
        cells = "".join(_shaded(value, min(there), max(there)) for value in row)
        lines.append(f"<tr><th>{html_text(model)}</th>{cells}</tr>")
    named = f"<h3>{html_text(grid.variant)}</h3>" if grid.variant else ""
    return f"{named}<table>{''.join(lines)}</table>"


def _shaded(value: float, low: float, high: float, note: str = "") -> str:
    background, colour = shade(value, low, high)
    shown = "none" if math.isnan(value) else f"{value:.3f}"
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
    head = "".join(f"<th>{html_text(name)}</th>" for name in names[:_MOST_GROUPS])
    yield f"<table><tr><th></th>{head}</tr>"
    for cell, row in rows.items():
        cells = (_shaded(group.value, min(there), max(there), _count(group)) for group in row[:_MOST_GROUPS])
        yield f"<tr><th>{html_text(cell)}</th>{''.join(cells)}</tr>"
    yield "</table>"


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
    yield from _table(("embedding model", "reranker", "published Retrieval Avg", f"our {board.main}"), rows)


def _comparison(found: Comparison) -> Iterator[str]:
    yield f"<h2>{html_text(found.b.run_id)} against {html_text(found.a.run_id)}</h2>"
    yield "<p>A is the earlier run, B the one of this page; differences are B minus A.</p>"
    yield from _table(("differs", "A", "B"), ((key, *sides) for key, sides in found.differs.items()))
    head = ("measure", "kind", "difference", "95 % interval", "p (Holm)", "n", "better", "same", "worse")
    rows = []
    for one in found.differences:
        p = one.paired
        ends = f"[{p.low:+.3f}, {p.high:+.3f}]"
        mean = f"{p.mean:+.3f}"
        rows.append(
            (one.measure, one.kind or "all", mean, ends, f"{one.p_holm:.4f}", p.n, p.wins, p.ties, p.losses)
        )
    yield from _table(head, rows)
    for title, changes in (("lost", found.lost), ("gained", found.gained)):
        yield f"<h3>{len(changes)} questions {title} in {html_text(found.main)}</h3>"
        yield from map(_change, changes[:MOST_CHANGES])


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
        f"<blockquote>{html_text(place)}<br>{html_text(text)}</blockquote>"
        for place, text in zip(made.places, made.contexts, strict=True)
    )
    return f"<div><h4>{name}</h4><p>{html_text(made.answer) or '(no answer)'}</p>{contexts}</div>"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"<table><tr>{''.join(f'<th>{html_text(name)}</th>' for name in head)}</tr>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{html_text(value)}</td>' for value in row)}</tr>"
    yield "</table>"


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value or "")
