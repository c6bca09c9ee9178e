"""A run's tables as files for other programs, written whole and read back: CSV, Parquet or JSON Lines.

One file a table in a folder, beside ``run.json``. What the tables hold is decided in ``results``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rag_platform.errors import DamagedFile
from rag_platform.storage import atomic, storage_errors, write_json
from rag_platform.tables import check

if TYPE_CHECKING:
    import pandas as pd

    from rag_platform.evaluation.results import Run

__all__ = ["Form", "read_exported", "write_export"]


class Form(StrEnum):
    """How tables are written."""

    csv = "csv"
    parquet = "parquet"
    jsonl = "jsonl"


def write_export(run: Run, folder: Path, form: Form = Form.csv) -> list[str]:
    """Write a run to a folder and return the names of the files."""
    write_json(folder / "run.json", run.about)
    tables = {"scores": run.scores(), "answers": run.answers(), "cells": run.cells()}
    if len(repeats := run.repeats()):
        tables["repeats"] = repeats
    for name, frame in tables.items():
        with atomic(folder / f"{name}.{form}") as file:
            file.write(_WRITERS[form](frame))
    return ["run.json", *(f"{name}.{form}" for name in tables)]


def read_exported(folder: Path, name: str, schema: pa.Schema) -> pa.Table | None:
    """Return a table that ``write_export`` wrote to a folder, in whichever form; None: there is none.

    Raises:
        DamagedFile: The file holds something else.
    """
    for form, read in _READERS.items():
        path = folder / f"{name}.{form}"
        if not path.is_file():
            continue
        try:
            with storage_errors("read", path):
                return _conformed(read(path, schema), schema)
        except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
            raise DamagedFile(
                f"{path} is not what `rag runs export` writes ({error}); export the run again"
            ) from error
    return None


def _conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with exactly the columns of a schema; a score that no form can write is NaN again."""
    columns = []
    for one in schema:
        column = table[one.name]
        if pa.types.is_floating(one.type):
            column = column.cast(one.type).fill_null(math.nan)
        columns.append(column.cast(one.type))
    return check(pa.table(columns, schema=schema), schema)


def _lists(schema: pa.Schema) -> list[str]:
    return [one.name for one in schema if pa.types.is_list(one.type)]


def _to_csv(frame: pd.DataFrame) -> bytes:
    """Return a table as CSV; a list in a cell is JSON."""
    lists = [name for name in frame.columns if name in ("contexts", "sources", "pages")]
    flat = frame.assign(**{name: frame[name].map(_json_list) for name in lists})
    return flat.to_csv(index=False).encode()


def _json_list(values: list[object]) -> str:
    return json.dumps(list(values), ensure_ascii=False, default=int)


def _from_csv(path: Path, schema: pa.Schema) -> pa.Table:
    from pyarrow import csv

    lists = _lists(schema)
    types = {one.name: pa.string() if one.name in lists else one.type for one in schema}
    table = csv.read_csv(
        path,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        # Only an empty number is none: a text that is empty, or says NA, says so.
        convert_options=csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=False),
    )
    for name in lists:
        column = pa.array(map(json.loads, table[name].to_pylist()), schema.field(name).type)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def _from_parquet(path: Path, schema: pa.Schema) -> pa.Table:
    from pyarrow import parquet

    with path.open("rb") as file:
        return parquet.read_table(file, columns=schema.names)


def _to_jsonl(frame: pd.DataFrame) -> bytes:
    # Not pandas' own, which writes numbers with 15 digits at most: a score would not come back as it was.
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return "".join(f"{json.dumps(row, ensure_ascii=False, default=_plain)}\n" for row in rows).encode()


def _plain(value: Any) -> object:  # noqa: ANN401
    """Return an array or a number of NumPy as JSON has it."""
    return value.tolist()


def _from_jsonl(path: Path, schema: pa.Schema) -> pa.Table:
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return pa.table({one.name: pa.array([row[one.name] for row in rows], one.type) for one in schema})


_WRITERS: Mapping[Form, Callable[[pd.DataFrame], bytes]] = {
    Form.csv: _to_csv,
    Form.parquet: lambda frame: frame.to_parquet(index=False),
    Form.jsonl: _to_jsonl,
}
_READERS: Mapping[Form, Callable[[Path, pa.Schema], pa.Table]] = {
    Form.parquet: _from_parquet,
    Form.csv: _from_csv,
    Form.jsonl: _from_jsonl,
}
