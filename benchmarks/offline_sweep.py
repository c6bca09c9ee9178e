"""Everything that runs without a network, swept over nepali_starter: the proof that every part is wired.

``python benchmarks/offline_sweep.py [FOLDER]`` prints the two boards of docs/leaderboard.md; models, runs and
reports stay in FOLDER, else nowhere. The sanity gate first refuses what ranks wrongly; then the same sweep
lets it run, on record. Tiny models are untrained: their figures say that they were loaded, prompted, pooled,
asked and scored, and nothing about the models whose names they bear.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from offline_models import ENCODERS, RERANKERS, UNPACKED, in_catalogue, write_hub  # noqa: E402

BUNDLED = "intfloat/multilingual-e5-small"


def words_of(dataset: Path) -> list[str]:
    """Return questions, answers and quotes of a set: what the tiny tokenizers are made from."""
    lines = (dataset / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    quotes = [label.get("quote", "") for case in cases for label in case["relevant"]]
    said = [case.get(key, "") for case in cases for key in ("query", "reference_answer")]
    return [text for text in (*said, *quotes) if text]


def prepare(folder: Path, dataset: Path, names: Sequence[str]) -> None:
    """Write the models, where they are not written yet, and the calibration of the unpacked one."""
    from rag_platform.embedding.calibration import SHIPPED, file_name

    if not (folder / "hf").exists():
        new = folder / "hf.new"
        shutil.rmtree(new, ignore_errors=True)  # what a stopped call left
        made = [name for name in names if name in (*ENCODERS, *RERANKERS, UNPACKED)]
        write_hub(new, words_of(dataset), made).rename(folder / "hf")
    if UNPACKED in names:
        centred = folder / "home" / "calibrations" / file_name(UNPACKED)
        centred.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SHIPPED / file_name(BUNDLED), centred)  # the same weights have the same mean


def rag(*arguments: str) -> None:
    """Run a command of the platform in this process, which knows the tiny models."""
    from rag_platform.cli import app

    print(f"\n$ rag {' '.join(arguments)}\n", flush=True)
    app(arguments, prog_name="rag", standalone_mode=False)


def sweep(folder: Path, dataset: Path, encoders: Sequence[str], rerankers: Sequence[str]) -> None:
    """Sweep twice, with the gate shut and open, and print both boards."""
    from rag_platform.privacy import keep_private

    keep_private()
    prepare(folder, dataset, [*encoders, *rerankers])
    grid = ("--embedders", ",".join(encoders), "--rerankers", ",".join(rerankers))
    for gate in ("refuse", "record"):
        os.environ["RAG_SANITY_GATE"] = gate
        rag("sweep", str(dataset), *grid, "--name", gate)
        rag("leaderboard", "--run", gate, "--measure", "nDCG@10,hit@1", "--format", "markdown")
        rag("report", gate, "--html", str(folder / f"{gate}.html"))


def main() -> None:
    """Read the command line and sweep in a folder of one's own, or in one that goes afterwards."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", nargs="?", type=Path, help="where models, runs and reports stay")
    asked.add_argument("--dataset", type=Path, default=ROOT / "eval_datasets" / "nepali_starter")
    asked.add_argument("--embedders", default=",".join((BUNDLED, UNPACKED, "hashing", *ENCODERS)))
    asked.add_argument("--rerankers", default=",".join(("none", *RERANKERS)))
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="rag-offline-") as gone, in_catalogue():
        folder = (given.folder or Path(gone)).absolute()
        # before the libraries of Hugging Face are imported, which read it then
        os.environ |= {"RAG_HOME": str(folder / "home"), "HF_HOME": str(folder / "hf"), "HF_HUB_OFFLINE": "1"}
        sweep(folder, given.dataset.absolute(), given.embedders.split(","), given.rerankers.split(","))


if __name__ == "__main__":
    main()
