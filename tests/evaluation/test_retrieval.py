"""A set from files to measures: published, searched and judged, with the real index and encoder."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_platform.errors import InvalidDataset
from rag_platform.evaluation.collection import Reading, publish_set, read_set
from rag_platform.evaluation.layouts import load_dataset
from rag_platform.evaluation.ranking import parse_measure
from rag_platform.evaluation.retrieval import (
    Evaluation,
    TopScores,
    default_measures,
    embed_queries,
    evaluate_retrieval,
    searchable,
)
from rag_platform.index.edge import EdgeIndex
from rag_platform.index.exact import ExactIndex
from rag_platform.parsing.parse import ParseOptions
from rag_platform.parsing.pool import Limits
from rag_platform.storage import TableStore
from rag_platform.system import System
from rag_platform.types import Hit

TEXTS = {
    "ताल-१": "रारा ताल मुगु जिल्लामा छ। यो नेपालको सबैभन्दा ठूलो ताल हो।",
    "ताल-२": "फेवा ताल पोखरामा छ। बिचमा तालबाराही मन्दिर छ।",
    "हिमाल-१": "सगरमाथा संसारको सर्वोच्च शिखर हो।",
}
QUERIES = [
    {"_id": "q1", "text": "रारा ताल कुन जिल्लामा छ?", "kind": "lookup"},
    {"_id": "q2", "text": "तालबाराही मन्दिर फेवा", "kind": "keyword"},
    {"_id": "q3", "text": "सर्वोच्च शिखर सगरमाथा", "kind": "keyword"},
    {"_id": "q4", "text": "तिलिचो ताल कहाँ छ?", "kind": "unanswerable"},
    {"_id": "q5", "text": "कसैले नजाँचेको प्रश्न"},
]
QRELS = "q1\tताल-१\t1\nq2\tताल-२\t1\nq3\tहिमाल-१\t1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ताल"
    folder.mkdir()
    corpus = [{"_id": name, "text": text} for name, text in TEXTS.items()]
    for name, values in (("corpus", corpus), ("queries", QUERIES)):
        lines = "\n".join(json.dumps(value, ensure_ascii=False) for value in values)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "qrels.tsv").write_text(QRELS, encoding="utf-8")
    return folder


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    return Reading(ParseOptions(), Limits(), TableStore(tmp_path / "kept"), workers=1)


def search_of(system: System) -> Callable[[str, str], Sequence[Hit]]:
    return lambda query, collection: (
        system.searcher.search(query, collection=collection, model="hashing").hits
    )


def evaluated(folder: Path, reading: Reading, system: System, **options: Any) -> Evaluation:
    dataset = load_dataset(str(folder))
    documents = read_set(dataset, reading)
    encoder = system.encoder("hashing")
    publish_set(
        dataset,
        documents,
        system.index,
        encoder,
        chunker=system.chunker,
        tokenizer=system.tokenizer,
        cache=system.cache,
    )
    embed_queries(dataset, encoder, system.cache)
    return evaluate_retrieval(dataset, documents, search_of(system), **options)


def test_a_set_is_published_searched_and_measured(
    folder: Path, reading: Reading, make_system: Callable[..., System], tmp_path: Path
) -> None:
    steps: list[tuple[str, int, int]] = []
    system = make_system(index=EdgeIndex(tmp_path / "throw-away"))
    found = evaluated(folder, reading, system, progress=lambda *step: steps.append(step))
    assert found.qrels == {"q1": {"ताल-१": 1}, "q2": {"ताल-२": 1}, "q3": {"हिमाल-१": 1}}
    assert {name: one.mean for name, one in found.intervals().items()} == dict.fromkeys(
        map(str, default_measures()), 1.0
    )
    assert {kind: group["hit@1"].n for kind, group in found.by_kind().items()} == {"lookup": 1, "keyword": 2}
    assert [one.case.case_id for one in found.unanswerable] == ["q4"]
    assert found.n_unjudged == 1
    assert steps[-1] == ("searching", 5, 5)
    assert set(found.run) == {"q1", "q2", "q3", "q4", "q5"}


def test_what_is_missing_counts_as_0(folder: Path, reading: Reading) -> None:
    dataset = load_dataset(str(folder))
    silent = evaluate_retrieval(dataset, read_set(dataset, reading), lambda query, collection: [])
    assert {one.mean for one in silent.intervals().values()} == {0.0}
    assert silent.intervals()["nDCG@10"].n == 3
    assert TopScores.of(silent.unanswerable) == TopScores(1, 1, {})


def test_other_measures_are_taken_by_their_notation(
    folder: Path, reading: Reading, make_system: Callable[..., System]
) -> None:
    measures = (parse_measure("P@5"), parse_measure("MAP@100"))
    found = evaluated(folder, reading, make_system(index=ExactIndex()), measures=measures)
    assert {name: one.mean for name, one in found.intervals().items()} == {
        "P@5": pytest.approx(1 / 5),
        "MAP@100": 1.0,
    }
    assert found.per_query(measures[0]) == {"q1": 0.2, "q2": 0.2, "q3": 0.2}


def test_top_scores_are_told_as_a_distribution(
    folder: Path, reading: Reading, make_system: Callable[..., System]
) -> None:
    found = evaluated(folder, reading, make_system(index=ExactIndex()))
    top = TopScores.of(found.judged)
    assert (top.n, top.n_without) == (3, 0)
    assert list(top.quantiles) == ["min", "p25", "median", "p75", "max"]
    assert sorted(top.quantiles.values()) == list(top.quantiles.values())


def own_set(folder: Path, name: str, content: bytes, label: dict[str, Any]) -> Path:
    path = folder / "ऐन" / "documents" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    case = {"id": "क", "query": "जरिबाना कति?", "relevant": [{"source": f"ऐन/documents/{name}", **label}]}
    (folder / "cases.jsonl").write_text(json.dumps(case, ensure_ascii=False), encoding="utf-8")
    return folder


def test_files_are_read_once_and_found_by_what_they_say(
    reading: Reading, make_system: Callable[..., System], tmp_path: Path
) -> None:
    text = "# दफा १\n\nकर तिर्ने मिति असार मसान्त हो।\n\n# दफा २\n\nजरिबाना दश प्रतिशत लाग्छ।\n"
    folder = own_set(tmp_path / "set", "ऐन.md", text.encode(), {"quote": "जरिबाना दश प्रतिशत"})
    dataset = load_dataset(str(folder))
    told: list[str] = []
    first = read_set(dataset, reading, lambda step, done, of: told.append(step))
    again = read_set(dataset, reading, lambda step, done, of: told.append(step))
    assert first == again
    assert told == ["reading documents"]
    found = evaluated(folder, reading, make_system(index=ExactIndex()))
    assert found.intervals()["hit@1"].mean == 1.0
    (query,) = found.qrels.values()
    (unit,) = query
    assert unit.startswith("ऐन/documents/ऐन.md#")


def test_a_document_that_cannot_be_read_stops_the_measuring(reading: Reading, tmp_path: Path) -> None:
    folder = own_set(tmp_path / "set", "ऐन.pdf", b"%PDF-1.7\nnothing of a PDF", {})
    with pytest.raises(InvalidDataset, match=r"ऐन\.pdf cannot be read: .*damaged"):
        read_set(load_dataset(str(folder)), reading)


def test_a_label_that_is_nowhere_is_told_before_anything_is_searched(
    reading: Reading, tmp_path: Path
) -> None:
    folder = own_set(tmp_path / "set", "ऐन.txt", "कर तिर्नुहोला।".encode(), {"pages": [2]})
    dataset = load_dataset(str(folder))

    def never(query: str, collection: str) -> Sequence[Hit]:
        raise AssertionError(query)

    with pytest.raises(InvalidDataset, match="there is no page 2"):
        evaluate_retrieval(dataset, read_set(dataset, reading), never)


def test_a_set_without_judgements_measures_nothing(folder: Path, reading: Reading) -> None:
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n", encoding="utf-8")
    dataset = load_dataset(str(folder))
    with pytest.raises(InvalidDataset, match="no question of 'ताल' is judged"):
        searchable(dataset, read_set(dataset, reading))
