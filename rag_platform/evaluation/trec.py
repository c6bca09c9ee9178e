"""TREC files: runs and relevance judgements, in and out, as trec_eval and ir_measures read them.

Run: ``query Q0 unit rank score tag``. Judgements: ``query 0 unit grade``, or the three columns of BEIR
(``query unit grade``), with or without a header. What is measured with them stands in ``ranking``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np

from rag_platform.evaluation.ranking import Qrels, Ranked, Run
from rag_platform.evaluation.records import Place, read_text
from rag_platform.storage import atomic

__all__ = ["judgements", "read_qrels", "read_run", "write_qrels", "write_run"]


def judgements(path: Path) -> Iterator[tuple[Place, str, str, int]]:
    """Yield place, query, unit and grade of each line of a file of judgements.

    Raises:
        InvalidDataset: A line has other columns, or a grade is no whole number.
    """
    for place, cells in _lines(path):
        if len(cells) not in (3, 4):
            raise place.wrong(f"{len(cells)} columns, expected query, unit, grade or query, 0, unit, grade")
        query, unit, grade = cells[0], cells[-2], cells[-1]
        if not grade.lstrip("+-").isdecimal() or not grade.isascii():
            if place.line == 1:
                continue  # the header
            raise place.wrong(f"the grade is {grade!r}, expected a whole number")
        yield place, query, unit, int(grade)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Return the judgements of a file.

    Raises:
        InvalidDataset: A line is wrong, or a unit is judged twice for one query.
    """
    found: dict[str, dict[str, int]] = {}
    for place, query, unit, grade in judgements(path):
        if unit in found.setdefault(query, {}):
            raise place.wrong(f"{unit!r} is judged twice for query {query!r}")
        found[query][unit] = grade
    return found


def read_run(path: Path) -> dict[str, list[Ranked]]:
    """Return the rankings of a run file, ordered by score, equal scores by unit backwards, as trec_eval does.

    Raises:
        InvalidDataset: A line is wrong, or a unit stands twice for one query.
    """
    found: dict[str, dict[str, float]] = {}
    for place, cells in _lines(path):
        if len(cells) != 6:
            raise place.wrong(f"{len(cells)} columns, expected query, Q0, unit, rank, score, tag")
        query, unit = cells[0], cells[2]
        try:
            score = float(cells[4])
        except ValueError:
            raise place.wrong(f"the score is {cells[4]!r}, expected a number") from None
        if not math.isfinite(score):
            raise place.wrong(f"the score is {cells[4]!r}, expected a finite number")
        if unit in found.setdefault(query, {}):
            raise place.wrong(f"{unit!r} stands twice for query {query!r}")
        found[query][unit] = score
    return {query: _ordered(units) for query, units in found.items()}


def write_run(path: Path, run: Run, *, tag: str) -> None:
    """Write rankings so that every reader finds the same order: equal scores are told apart by a hair.

    White space in an id becomes ``%20``.

    Raises:
        StorageError: The file cannot be written.
    """
    lines = []
    for query, ranking in run.items():
        above = np.float32(np.inf)
        for rank, one in enumerate(ranking, start=1):
            # trec_eval keeps scores in 32 bits and orders equal ones by name, whatever the rank says.
            above = min(np.float32(one.score), np.nextafter(above, np.float32(-np.inf)))
            lines.append(f"{_word(query)} Q0 {_word(one.unit)} {rank} {above:.9g} {_word(tag)}\n")
    with atomic(path) as file:
        file.write("".join(lines).encode())


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Write judgements in the four columns of TREC.

    White space in an id becomes ``%20``.

    Raises:
        StorageError: The file cannot be written.
    """
    lines = [
        f"{_word(query)} 0 {_word(unit)} {grade}\n"
        for query, grades in qrels.items()
        for unit, grade in grades.items()
    ]
    with atomic(path) as file:
        file.write("".join(lines).encode())


def _lines(path: Path) -> Iterator[tuple[Place, list[str]]]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            by_tab = [cell.strip() for cell in line.split("\t")]
            yield Place(path, number), by_tab if len(by_tab) > 1 else line.split()


def _ordered(units: dict[str, float]) -> list[Ranked]:
    backwards = sorted(units, reverse=True)
    return [Ranked(unit, units[unit]) for unit in sorted(backwards, key=lambda unit: -units[unit])]


def _word(text: str) -> str:
    """Return an id without white space, which separates the columns: file names may have some."""
    return "".join(quote(char) if char.isspace() else char for char in text)
