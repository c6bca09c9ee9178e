"""What a sweep of 30 cells costs when every step is done once, against a beginning from nothing in each cell.

``python benchmarks/sweep.py`` prints the table of docs/benchmarks.md. Eight documents of the bundled set with
ten questions each, PDFs by OCR, ten stand-in encoders (hashing under ten names) and tiny untrained rerankers
of the three real kinds: what is counted and how often is real, what a model says is not.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
RERANKERS = ("BAAI/bge-reranker-v2-m3", "Qwen/Qwen3-Reranker-0.6B", "BAAI/bge-reranker-v2-gemma")
ENCODERS = {f"stand-in-{dim}": dim for dim in (32, 48, 64, 96, 128, 192, 256, 320, 384, 512)}
"""By vector size: the smaller, the more words fall together, so that each ranks otherwise."""
N_DOCUMENTS = 8


@dataclass
class Work:
    """Counted work of some cells, and the seconds it took."""

    counts: Counter[str]
    seconds: float


def write_set(folder: Path) -> Path:
    """Copy eight items of the bundled set, each with its table of ten questions."""
    items = sorted(path.parent for path in (ROOT / "eval_datasets/nepali_starter").glob("*/data.csv"))
    for item in items[:N_DOCUMENTS]:
        shutil.copytree(item, folder / item.name)
    return folder


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count documents parsed, texts encoded and calls of rerankers, beside the work itself."""
    from rag_platform import pipeline
    from rag_platform.embedding.hashing import HashingEncoder
    from rag_platform.parsing.pool import parse_all
    from rag_platform.reranking.transformer import CausalReranker, CrossEncoderReranker

    counts: Counter[str] = Counter()

    def counting(name: str, method: Any) -> Any:  # noqa: ANN401
        def call(self: object, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            counts[f"{arguments[1]} texts encoded" if name == "encode" else name] += (
                len(arguments[0]) if name == "encode" else 1
            )
            return method(self, *arguments, **options)

        return call

    def counting_parse(jobs: Sequence[Any], *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        counts["documents parsed"] += len(jobs)
        return parse_all(jobs, *arguments, **options)

    with (
        patch.object(HashingEncoder, "encode", counting("encode", HashingEncoder.encode)),
        patch.object(CrossEncoderReranker, "score", counting("rerank calls", CrossEncoderReranker.score)),
        patch.object(CausalReranker, "score", counting("rerank calls", CausalReranker.score)),
        patch.object(pipeline, "parse_all", counting_parse),
    ):
        yield counts


def swept(home: Path, folder: Path, encoders: Sequence[str], rerankers: Sequence[str]) -> Work:
    """Sweep these cells on a home and return what it took."""
    from rag_platform.evaluation.sweep import grid
    from rag_platform.settings import Settings
    from rag_platform.sweeping.request import SweepRequest, collection_of
    from rag_platform.sweeping.wiring import Bench, open_sweep
    from rag_platform.system import System

    settings = Settings.load(
        None, RAG_HOME=home, EMBEDDING_MODEL="hashing", RAG_SANITY_GATE="record", RAG_OCR="always"
    )
    begin = time.perf_counter()
    with counted() as counts:
        system = System.from_settings(settings)
        bench = Bench(system, SweepRequest(str(folder)))
        cells = grid(encoders, rerankers, [""])
        report = open_sweep(bench, cells).over(cells)
    states = {status for status, _ in report.states.values()}
    if states != {"complete"}:
        raise SystemExit(f"cells did not complete: {report.states}")
    counts.update({name: n for name, n in report.done.items() if name in ("searches", "answers")})
    collection = collection_of(bench.dataset)
    for entry in system.catalog.entries(collection):
        rows = system.tables.read("pages", entry.partition, [entry.document_id])
        if counts["documents parsed"] and rows is not None:
            counts["pages by OCR"] += rows["origin"].to_pylist().count("ocr")
    return Work(counts, time.perf_counter() - begin)


@contextmanager
def stand_ins() -> Iterator[None]:
    """Put hashing into the catalogue under ten names."""
    from rag_platform.embedding import catalogue

    specs = {n: replace(catalogue.ENCODERS["hashing"], name=n, dim=dim) for n, dim in ENCODERS.items()}
    with (
        patch.dict(catalogue.ENCODERS, specs),
        patch.dict(catalogue._SPELLINGS, {name: name for name in specs}),
    ):
        yield


def main() -> None:
    """Print the table: the sweep counted, the naive way counted over three cells and multiplied by ten."""
    sys.path.insert(0, str(ROOT / "tests"))
    logging.getLogger("rag_platform").setLevel(logging.ERROR)  # or the gate speaks of each stand-in
    with tempfile.TemporaryDirectory(prefix="rag-sweep-") as name:
        folder = Path(name)
        os.environ |= {"HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1"}
        from sweeping_set import write_hub

        write_hub(folder / "hf")
        questions = write_set(folder / "set")
        with stand_ins():
            whole = swept(folder / "home", questions, [*ENCODERS], RERANKERS)
            again = swept(folder / "home", questions, [*ENCODERS], RERANKERS)
            naive = [
                swept(folder / f"naive-{n}", questions, [*ENCODERS][n : n + 1], [one])
                for n, one in enumerate(RERANKERS)
            ]
    tenfold = {key: 10 * sum(cell.counts[key] for cell in naive) for key in whole.counts}
    seconds = 10 * sum(cell.seconds for cell in naive)
    print("| work of 30 cells | sweep | each cell anew | repeated sweep |\n| --- | ---: | ---: | ---: |")
    for key, n in sorted(whole.counts.items()):
        print(f"| {key} | {n} | {tenfold[key]} | {again.counts[key]} |")
    print(f"| seconds | {whole.seconds:.0f} | {seconds:.0f} | {again.seconds:.1f} |")
    print(f"\nRatio of the times: {seconds / whole.seconds:.1f}.")


if __name__ == "__main__":
    main()
