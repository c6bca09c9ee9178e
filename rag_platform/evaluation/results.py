"""The results of a sweep as files: what a run was, its scores and answers, the state of its cells.

Below ``RAG_HOME/evaluations/<run_id>/`` stand ``run.json``, ``cells.parquet``, ``scores/<cell>.parquet`` and
``answers/<cell>.parquet``, and ``repeats/<cell>.parquet`` where a judge was asked several times; every file
appears whole or not at all. A folder that a run was exported to is read as well. How a score comes about is
not known here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from rag_platform.errors import DamagedFile, NotPublished, UnknownName
from rag_platform.evaluation.exports import read_exported
from rag_platform.storage import atomic, storage_errors, write_json
from rag_platform.tables import check

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ANSWERS", "CELLS", "FOLDER", "REPEATS", "SCORES", "Cell", "Run", "last_used", "latest", "runs"]

FOLDER = "evaluations"
_ABOUT = "run.json"
_CELLS = "cells.parquet"
Row = Mapping[str, object]


def _schema(*columns: tuple[str, pa.DataType, str]) -> pa.Schema:
    return pa.schema([pa.field(n, t, nullable=False, metadata={"description": d}) for n, t, d in columns])


_CELL_COLUMNS: tuple[tuple[str, pa.DataType, str], ...] = (
    ("embedding_model", pa.string(), "catalogue name of the encoder"),
    ("reranker", pa.string(), "catalogue name of the reranker; none: the order of the search"),
    ("variant", pa.string(), "what else was changed; empty: nothing"),
)

SCORES = _schema(
    *_CELL_COLUMNS,
    ("query_id", pa.string(), "the question, by its id in the set"),
    ("kind", pa.string(), "kind of question, as the set tells it"),
    ("language", pa.string(), "its language, as the set tells it"),
    ("document", pa.string(), "source of its first label; empty without any"),
    ("measure", pa.string(), "notation of the measure, as nDCG@10"),
    ("value", pa.float64(), "the score; NaN unless status is ok"),
    ("status", pa.string(), "ok, failed or skipped"),
    ("reason", pa.string(), "why it failed or was skipped"),
    ("seconds", pa.float64(), "what this score took: of search and reranking, or of the judge"),
    ("tokens", pa.int64(), "tokens of the judge"),
    ("cost", pa.float64(), "cost of the judge, in US dollars"),
    ("fingerprint", pa.string(), "of everything that the score depends on"),
)
"""One row a (cell, question, measure)."""

ANSWERS = _schema(
    *_CELL_COLUMNS,
    ("query_id", pa.string(), "the question, by its id in the set"),
    ("query", pa.string(), "its words"),
    ("answer", pa.string(), "what was answered; empty without a generator"),
    ("refused", pa.bool_(), "whether the answer says that there is none"),
    ("contexts", pa.list_(pa.string()), "passages that the answer was written from, best first"),
    ("sources", pa.list_(pa.string()), "their documents"),
    ("pages", pa.list_(pa.int32()), "their first pages"),
    ("reference_answer", pa.string(), "a right answer of the set; may be empty"),
    ("seconds", pa.float64(), "what the answer took"),
    ("tokens", pa.int64(), "tokens of the generator"),
    ("cost", pa.float64(), "cost of the generator, in US dollars"),
    ("fingerprint", pa.string(), "of generator, question and contexts"),
)
"""One row a (cell, question)."""

REPEATS = _schema(
    *_CELL_COLUMNS,
    ("query_id", pa.string(), "the question, by its id in the set"),
    ("measure", pa.string(), "metric of the judge"),
    ("repeat", pa.int32(), "which time it was judged, from 0; the score is that of 0"),
    ("value", pa.float64(), "what the judge gave; NaN unless status is ok"),
    ("status", pa.string(), "ok, failed or skipped"),
    ("reason", pa.string(), "of the judge, or why there is no value"),
)
"""One row a (cell, question, metric, repeat), where everything was judged more than once."""

CELLS = _schema(
    *_CELL_COLUMNS,
    ("status", pa.string(), "complete, partial, unavailable, gate_failed or failed"),
    ("reason", pa.string(), "why it is not complete"),
    ("n_questions", pa.int64(), "questions that were asked"),
    ("seconds_encode", pa.float64(), "embedding and publishing the documents, when it was done"),
    ("seconds_retrieve", pa.float64(), "searching all questions, reranking apart"),
    ("seconds_rerank", pa.float64(), "reranking all candidates; a pair that cells share counts in each"),
    ("seconds_generate", pa.float64(), "answering all questions"),
    ("seconds_judge", pa.float64(), "judging all answers"),
    ("gate_passed", pa.bool_(), "whether encoder and reranker passed the sanity gate, or have none"),
    ("fingerprint", pa.string(), "of everything that its scores depend on"),
)
"""One row a cell."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One place of the grid: an encoder with a reranker, under a variant."""

    embedding_model: str
    reranker: str
    variant: str = ""

    @property
    def slug(self) -> str:
        """Name of its files, different for different cells.

        >>> Cell("BAAI/bge-m3", "none").slug
        'BAAI--bge-m3~none'
        """
        names = (self.embedding_model, self.reranker, *([self.variant] if self.variant else []))
        return "~".join(quote(name.replace("/", "--"), safe="").replace("~", "%7E") for name in names)


@dataclass(frozen=True, slots=True)
class Run:
    """One sweep: what was measured, how, and where the results are; ``run.json``.

    Attributes:
        folder: Where its files are.
        run_id: The same for the same inputs, so that repeating a sweep goes on with it.
        name: A person's name for it; another name is another run.
        note: A person's words.
        created_at: ISO 8601, UTC.
        dataset: Name of the labelled set.
        dataset_fingerprint: Of its questions and labels.
        corpus_fingerprint: Of its documents' bytes.
        recipe: How documents are read and cut, and how they are searched.
        generator: What answers; ``none``.
        judge: What judges; empty without one.
        code_version: Of the platform and its measures.
        embedding_models: Of the grid, those that cannot run here included.
        rerankers: Of the grid, likewise.
        variants: What each changes.
        measures: In their order.
    """

    folder: Path
    run_id: str
    name: str
    note: str
    created_at: str
    dataset: str
    dataset_fingerprint: str
    corpus_fingerprint: str
    recipe: str
    generator: str
    judge: str
    code_version: str
    embedding_models: tuple[str, ...]
    rerankers: tuple[str, ...]
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    measures: tuple[str, ...] = ()

    @classmethod
    def load(cls, home: Path, run_id: str) -> Self:
        """Return a run by its id, by the beginning of it or its name where only one has it, or by a folder.

        A folder may be that of the run, anywhere, or one that it was exported to.

        Raises:
            UnknownName: There is no such run, or several are meant.
        """
        root = home / FOLDER
        known = {path.parent.name: path.parent for path in sorted(root.glob(f"*/{_ABOUT}"))}
        if run_id not in known:
            if (folder := _folder(run_id)) is not None:
                return cls.read(folder)
            loaded = {key: cls.read(folder) for key, folder in known.items()}
            meant = [
                key
                for key, run in loaded.items()
                if run_id and (key.startswith(run_id) or run.name == run_id)
            ]
            if len(meant) != 1:
                raise UnknownName("run", run_id, meant or known)
            return loaded[meant[0]]
        return cls.read(known[run_id])

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the run whose files are in ``folder``.

        Raises:
            DamagedFile: There is something else.
        """
        path = folder / _ABOUT
        with storage_errors("read", path):
            text = path.read_text("utf-8")
        try:
            values: dict[str, Any] = json.loads(text)
            for name in ("embedding_models", "rerankers", "measures"):
                values[name] = tuple(values[name])
            return cls(folder, **{f.name: values[f.name] for f in fields(cls) if f.name != "folder"})
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFile(f"{path} is no run ({error}); remove its folder and sweep again") from error

    @property
    def about(self) -> dict[str, Any]:
        """What ``run.json`` holds."""
        return {name: value for name, value in asdict(self).items() if name != "folder"}

    def save(self) -> Self:
        """Write ``run.json``; models that an earlier call of this run named stay, and so does its date."""
        path = self.folder / _ABOUT
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock():
            merged = self
            if path.exists():
                before = self.read(self.folder)
                merged = replace(
                    self,
                    created_at=before.created_at,
                    note=self.note or before.note,
                    embedding_models=_union(before.embedding_models, self.embedding_models),
                    rerankers=_union(before.rerankers, self.rerankers),
                    variants={**before.variants, **self.variants},
                )
            if not path.exists() or merged.about != self.read(self.folder).about:
                write_json(path, merged.about)
            path.touch()  # the run that was worked on last, also where nothing was left to do
        return merged

    def saved_variants(self) -> Mapping[str, Mapping[str, str]]:
        """Return what each variant changed when this run was worked on last; nothing before that."""
        return self.read(self.folder).variants if (self.folder / _ABOUT).exists() else {}

    def scores(self) -> pd.DataFrame:
        """Return every score, a row a (cell, question, measure); columns in ``SCORES``."""
        return self._parts("scores", SCORES)

    def answers(self) -> pd.DataFrame:
        """Return every answer with its contexts, a row a (cell, question); columns in ``ANSWERS``."""
        return self._parts("answers", ANSWERS)

    def repeats(self) -> pd.DataFrame:
        """Return every value of a judge that was asked several times; columns in ``REPEATS``."""
        return self._parts("repeats", REPEATS)

    def cells(self) -> pd.DataFrame:
        """Return the state of every cell; columns in ``CELLS``."""
        return _frame(self._cells())

    @property
    def is_complete(self) -> bool:
        """Whether every cell ended, one of them well."""
        states = self._cells()["status"].to_pylist()
        return "complete" in states and "partial" not in states

    def states(self) -> dict[Cell, dict[str, Any]]:
        """Return the row of every cell that was begun."""
        rows = self._cells().to_pylist()
        return {Cell(row["embedding_model"], row["reranker"], row["variant"]): row for row in rows}

    def has_parts(self, cell: Cell) -> bool:
        """Say whether scores and answers of a cell are there."""
        return all((self.folder / kind / f"{cell.slug}.parquet").exists() for kind in ("scores", "answers"))

    def n_failed(self, cell: Cell) -> int:
        """Return how many scores of a cell failed."""
        statuses = _rows(self.folder / "scores" / f"{cell.slug}.parquet", SCORES)["status"].to_pylist()
        return sum(one == "failed" for one in statuses)

    def write_cell(
        self, cell: Cell, *, scores: Sequence[Row], answers: Sequence[Row], repeats: Sequence[Row] = ()
    ) -> None:
        """Replace the scores and answers of a cell, and what its judge said when asked again."""
        judged_again = self.folder / "repeats" / f"{cell.slug}.parquet"
        if repeats:
            _write(judged_again, REPEATS, [{**asdict(cell), **row} for row in repeats])
        else:
            judged_again.unlink(missing_ok=True)
        for kind, schema, rows in (("answers", ANSWERS, answers), ("scores", SCORES, scores)):
            _write(self.folder / kind / f"{cell.slug}.parquet", schema, [{**asdict(cell), **r} for r in rows])

    def write_states(self, states: Mapping[Cell, Row]) -> None:
        """Replace the rows of some cells in ``cells.parquet``; safe beside other processes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock():
            rows = {
                (row["embedding_model"], row["reranker"], row["variant"]): row
                for row in _rows(self.folder / _CELLS, CELLS).to_pylist()
            }
            rows.update({_key(cell): {**asdict(cell), **row} for cell, row in states.items()})
            _write(self.folder / _CELLS, CELLS, [rows[key] for key in sorted(rows)])

    def _lock(self) -> FileLock:
        return FileLock(self.folder / ".lock", timeout=60)

    def _cells(self) -> pa.Table:
        path = self.folder / _CELLS
        exported = None if path.exists() else read_exported(self.folder, "cells", CELLS)
        return _rows(path, CELLS) if exported is None else exported

    def _parts(self, kind: str, schema: pa.Schema) -> pd.DataFrame:
        paths = sorted((self.folder / kind).glob("*.parquet"))
        exported = None if paths else read_exported(self.folder, kind, schema)
        if exported is not None:
            return _frame(exported)
        return _frame(pa.concat_tables([schema.empty_table(), *(_rows(path, schema) for path in paths)]))


def runs(home: Path) -> list[Run]:
    """Return all runs of a home, newest first."""
    found = [Run.read(path.parent) for path in (home / FOLDER).glob(f"*/{_ABOUT}")]
    return sorted(found, key=lambda run: (run.created_at, run.run_id), reverse=True)


def latest(home: Path) -> Run:
    """Return the newest run that is complete.

    Raises:
        NotPublished: There is none.
    """
    for run in runs(home):
        if run.is_complete:
            return run
    raise NotPublished("no sweep is complete yet; start one with: rag sweep nepali_starter")


def last_used(home: Path) -> Run:
    """Return the run that a sweep began or went on with last, complete or not.

    Raises:
        NotPublished: There is none.
    """
    found = runs(home)
    if not found:
        raise NotPublished("nothing was swept yet; start with: rag sweep nepali_starter")
    return max(found, key=lambda run: (run.folder / _ABOUT).stat().st_mtime_ns)


def _folder(written: str) -> Path | None:
    """Return the folder of a run that is named by its path, or by that of its ``run.json``."""
    path = Path(written).expanduser()
    folder = path.parent if path.name == _ABOUT else path
    try:
        return folder if written and (folder / _ABOUT).is_file() else None
    except OSError:  # a name too long for a file
        return None


def _key(cell: Cell) -> tuple[str, str, str]:
    return cell.embedding_model, cell.reranker, cell.variant


def _union(before: Iterable[str], now: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *now)))


def _rows(path: Path, schema: pa.Schema) -> pa.Table:
    if not path.exists():
        return schema.empty_table()
    try:
        with storage_errors("read", path), path.open("rb") as file:
            return check(pq.read_table(file).cast(schema), schema)
    except pa.ArrowInvalid as error:
        raise DamagedFile(f"{path} is damaged ({error}); remove it and repeat the sweep") from error


def _write(path: Path, schema: pa.Schema, rows: Sequence[Row]) -> None:
    table = check(pa.Table.from_pylist([dict(row) for row in rows], schema=schema), schema)
    with atomic(path) as file:
        pq.write_table(table, file, compression="zstd")


def _frame(rows: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = rows.to_pandas()
    return frame
