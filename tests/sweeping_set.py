"""A small labelled set of our own for the tests of the sweep, and real tiny rerankers by their hub names."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TEXTS: Mapping[str, str] = {
    "ताल/documents/रारा.txt": "रारा ताल मुगु जिल्लामा छ। यो नेपालको सबैभन्दा ठूलो ताल हो। तालको पानी नीलो देखिन्छ।",
    "ताल/documents/फेवा.md": "# फेवा ताल\n\nफेवा ताल पोखरामा छ। तालको बिचमा तालबाराही मन्दिर छ।\n",
    "हिमाल/documents/सगरमाथा.txt": "सगरमाथाको उचाइ ८८४८.८६ मिटर छ। यो संसारको सर्वोच्च शिखर हो।",
    "हिमाल/documents/water.txt": "Boil water for one minute before drinking it. Wash your hands with soap.",
}
CASES: list[dict[str, Any]] = [
    {
        "id": "ताल-१",
        "query": "रारा ताल कुन जिल्लामा छ?",
        "relevant": [{"source": "ताल/documents/रारा.txt"}],
        "reference_answer": "मुगु जिल्लामा।",
        "kind": "lookup",
        "language": "ne",
    },
    {
        "id": "ताल-२",
        "query": "फेवा तालको बिचमा कुन मन्दिर छ?",
        "relevant": [{"source": "ताल/documents/फेवा.md", "quote": "तालको बिचमा तालबाराही मन्दिर छ।"}],
        "reference_answer": "तालबाराही मन्दिर।",
        "kind": "lookup",
        "language": "ne",
    },
    {
        "id": "water-1",
        "query": "How long should water be boiled?",
        "relevant": [{"source": "हिमाल/documents/water.txt"}],
        "reference_answer": "For one minute.",
        "kind": "english",
        "language": "en",
    },
    {
        "id": "none-1",
        "query": "तिलिचो ताल कहाँ छ?",
        "relevant": [],
        "kind": "unanswerable",
        "answerable": False,
    },
]


def write_set(folder: Path, *, cases: list[dict[str, Any]] | None = None) -> Path:
    """Write the set and return its folder."""
    for source, text in TEXTS.items():
        path = folder / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    lines = (json.dumps(case, ensure_ascii=False) for case in (CASES if cases is None else cases))
    (folder / "cases.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def write_questions(folder: Path) -> tuple[Path, Path]:
    """Write the same questions as a CSV file beside a folder of documents; return both."""
    documents = folder / "कागजात"
    for source, text in TEXTS.items():
        path = documents / source.replace("/documents", "")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    path = folder / "प्रश्न.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "answer", "source", "answerable"])
        for case in CASES:
            source = case["relevant"][0]["source"].replace("/documents", "") if case["relevant"] else ""
            rows.writerow(
                [case["query"], case.get("reference_answer", ""), source, str(bool(source)).lower()]
            )
    return path, documents


def write_hub(folder: Path) -> Path:
    """Write a Hugging Face cache with tiny models of the three rerankers of the grid; return it."""
    from offline_models import snapshot
    from reranking.tiny_models import build_cross_encoder, build_gemma, build_qwen

    build_cross_encoder(snapshot(folder, "BAAI/bge-reranker-v2-m3"), max_tokens=1024)
    build_qwen(snapshot(folder, "Qwen/Qwen3-Reranker-0.6B"))
    build_gemma(snapshot(folder, "BAAI/bge-reranker-v2-gemma"))
    return folder
