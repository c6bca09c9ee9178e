"""The three layouts, and that each wrong line is refused with its file and number."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from rag_platform.errors import CallerError, InvalidDataset, UnknownName
from rag_platform.evaluation.datasets import Card, Label, bundled_sets
from rag_platform.evaluation.layouts import load_dataset

CORPUS = [
    {"_id": "त-१", "title": "रारा ताल", "text": "रारा नेपालको सबैभन्दा ठूलो ताल हो।"},
    {"_id": "त-२", "text": "फेवा ताल पोखरामा छ।", "metadata": {"source": "हामी"}},
]
QUERIES = [
    {
        "_id": "प्र-१",
        "text": "नेपालको ठूलो ताल कुन हो?",
        "kind": "lookup",
        "answer_ne": "रारा",
        "answer_en": "Rara",
    },
    {
        "_id": "प्र-२",
        "text": "Which lake is in Pokhara?",
        "language": "en",
        "answer_ne": "फेवा",
        "answer_en": "Phewa",
    },
    {"_id": "प्र-३", "text": "तिलिचो ताल कहाँ छ?", "kind": "unanswerable"},
    {"_id": "प्र-४", "text": "बेगनास ताल कहाँ छ?", "answerable": False},
    {"_id": "प्र-५", "text": "ताल के हो?"},
]
QRELS = "query-id\tcorpus-id\tscore\nप्र-१\tत-१\t2\nप्र-१\tत-२\t0\nप्र-२\tत-२\t1\n"
CARD = """title = "ताल"
languages = ["ne", "en"]
licence = "CC0-1.0"
origin = "written for the tests"
revision = "1"
annotation = "by hand"
main_measure = "ndcg@10"
"""


def write_lines(path: Path, values: list[dict[str, Any]]) -> None:
    lines = [json.dumps(value, ensure_ascii=False) + "\n" for value in values]
    path.write_text("".join(lines), encoding="utf-8")


def beir(folder: Path, **changed: Any) -> Path:
    write_lines(folder / "corpus.jsonl", changed.get("corpus", CORPUS))
    write_lines(folder / "queries.jsonl", changed.get("queries", QUERIES))
    (folder / "qrels.tsv").write_text(changed.get("qrels", QRELS), encoding="utf-8")
    return folder


def own(folder: Path, *cases: dict[str, Any]) -> Path:
    for name in ("कर/documents/सूचना.txt", "कर/documents/.hidden", "ऐन/documents/भाग १/ऐन.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("कर तिर्ने मिति असार मसान्त हो।", encoding="utf-8")
    write_lines(folder / "cases.jsonl", list(cases))
    return folder


def case(**changed: Any) -> dict[str, Any]:
    return {"id": "क-१", "query": "कर कहिले?", "relevant": [{"source": "कर/documents/सूचना.txt"}], **changed}


def test_a_beir_folder_is_read_whole(tmp_path: Path) -> None:
    (beir(tmp_path) / "card.toml").write_text(CARD, encoding="utf-8")
    found = load_dataset(str(tmp_path))
    assert found.name == tmp_path.name
    assert [member.text for member in found.collections[""]] == [
        "रारा ताल\n\nरारा नेपालको सबैभन्दा ठूलो ताल हो।",
        "फेवा ताल पोखरामा छ।",
    ]
    first, second, *others = found.cases
    assert first.labels == (Label("त-१", grade=2), Label("त-२", grade=0))
    assert (first.kind, first.reference_answer, second.reference_answer) == ("lookup", "रारा", "Phewa")
    assert [one.answerable for one in others] == [False, False, True]
    assert [one.case_id for one in found.judged] == ["प्र-१", "प्र-२"]
    assert [one.case_id for one in found.unanswerable] == ["प्र-३", "प्र-४"]
    assert found.card is not None
    assert (found.card.licence, str(found.card.main_measure)) == ("CC0-1.0", "nDCG@10")


def test_judgements_may_lie_where_beir_puts_them(tmp_path: Path) -> None:
    beir(tmp_path)
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels.tsv").rename(tmp_path / "qrels" / "test.tsv")
    assert len(load_dataset(str(tmp_path)).judged) == 2


def test_several_corpora_are_one_where_their_ids_differ(tmp_path: Path) -> None:
    beir(tmp_path)
    (tmp_path / "corpus.jsonl").unlink()
    for n, passage in enumerate(CORPUS):
        write_lines(tmp_path / f"corpus_{n}.jsonl", [passage])
    found = load_dataset(str(tmp_path))
    assert [member.source for member in found.collections[""]] == ["त-१", "त-२"]
    assert {one.collection for one in found.cases} == {""}


def test_corpora_of_the_same_ids_are_collections_with_their_own_questions(tmp_path: Path) -> None:
    write_lines(tmp_path / "corpus_ne.jsonl", [{"_id": "1", "text": "रारा ताल मुगुमा छ।"}])
    write_lines(tmp_path / "corpus_en.jsonl", [{"_id": "1", "text": "Lake Rara is in Mugu."}])
    write_lines(tmp_path / "queries_ne.jsonl", [{"_id": "q", "text": "रारा कहाँ छ?"}])
    write_lines(tmp_path / "queries_en.jsonl", [{"_id": "q", "text": "Where is Rara?"}])
    (tmp_path / "qrels.tsv").write_text("q\t1\t1\n", encoding="utf-8")
    found = load_dataset(str(tmp_path))
    assert {name: members[0].text for name, members in found.collections.items()} == {
        "en": "Lake Rara is in Mugu.",
        "ne": "रारा ताल मुगुमा छ।",
    }
    assert [(one.case_id, one.collection, one.language) for one in found.cases] == [
        ("en/q", "en", "en"),
        ("ne/q", "ne", "ne"),
    ]
    (tmp_path / "queries_en.jsonl").unlink()
    with pytest.raises(InvalidDataset, match=r"the corpora en, ne share ids.*found ne"):
        load_dataset(str(tmp_path))


def test_a_corpus_of_its_own_wins_over_translations_beside_it(tmp_path: Path) -> None:
    write_lines(beir(tmp_path) / "corpus_en.jsonl", [{"_id": "त-१", "text": "Rara"}])
    assert [member.source for member in load_dataset(str(tmp_path)).collections[""]] == ["त-१", "त-२"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"corpus": [{**CORPUS[0], "colour": "नीलो"}]}, "corpus.jsonl, line 1: unknown key 'colour'"),
        ({"corpus": [*CORPUS, CORPUS[0]]}, "corpus.jsonl, line 3: the id 'त-१' stands twice"),
        ({"corpus": [{"_id": "क"}]}, "corpus.jsonl, line 1: the key 'text' is missing"),
        ({"queries": [{**QUERIES[0], "knd": "lookup"}]}, "queries.jsonl, line 1: unknown key 'knd'"),
        ({"queries": [*QUERIES, QUERIES[0]]}, "queries.jsonl, line 6: the id 'प्र-१' stands twice"),
        ({"queries": [{"_id": "प्र-१", "text": "  "}]}, "queries.jsonl, line 1: 'text' is empty"),
        ({"queries": [{**QUERIES[0], "answerable": "no"}]}, "queries.jsonl, line 1: 'answerable' is 'no'"),
        ({"qrels": "प्र-१\tत-१\t1\nप्र-१\tत-९\t1\n"}, "qrels.tsv, line 2: .*'त-९', which is no document"),
        ({"qrels": "प्र-९\tत-१\t1\n"}, "qrels.tsv, line 1: there is no question 'प्र-९'"),
        ({"qrels": "प्र-१\tत-१\t1\nप्र-१\tत-१\t2\n"}, "qrels.tsv, line 2: .*judged twice"),
        ({"qrels": "प्र-४\tत-१\t1\n"}, "queries.jsonl, line 4: 'प्र-४' is unanswerable, but"),
    ],
)
def test_a_wrong_line_of_a_beir_folder_is_named(tmp_path: Path, changed: Any, message: str) -> None:
    beir(tmp_path, **changed)
    with pytest.raises(InvalidDataset, match=message):
        load_dataset(str(tmp_path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (beir(tmp_path) / "qrels.tsv").unlink()
    with pytest.raises(InvalidDataset, match=r"neither qrels.tsv nor qrels/test.tsv"):
        load_dataset(str(tmp_path))
    (tmp_path / "queries.jsonl").unlink()
    with pytest.raises(InvalidDataset, match=r"queries.jsonl is missing"):
        load_dataset(str(tmp_path))


def test_cases_name_documents_pages_quotes_and_spans(tmp_path: Path) -> None:
    relevant = [
        {"document": "ऐन/documents/भाग १/ऐन.md"},
        {"source": "कर/documents/सूचना.txt", "pages": [1, 2], "grade": 2},
        {"source": "कर/documents/सूचना.txt", "pages": [1], "quote": "असार मसान्त"},
        {"source": "कर/documents/सूचना.txt", "span": [0, 5]},
    ]
    other = case(id="क-२", query="जरिबाना?", relevant=[], answerable=False, kind="lookup", language="ne")
    found = load_dataset(str(own(tmp_path, case(relevant=relevant), other)))
    assert found.cases[0].labels == (
        Label("ऐन/documents/भाग १/ऐन.md"),
        Label("कर/documents/सूचना.txt", page=1, grade=2),
        Label("कर/documents/सूचना.txt", page=2, grade=2),
        Label("कर/documents/सूचना.txt", page=1, quote="असार मसान्त"),
        Label("कर/documents/सूचना.txt", span=(0, 5)),
    )
    assert sorted(member.source for member in found.collections[""]) == [
        "ऐन/documents/भाग १/ऐन.md",
        "कर/documents/सूचना.txt",
    ]
    assert found.cases[1].where.endswith("cases.jsonl, line 2")


def test_two_names_that_are_one_are_refused(tmp_path: Path) -> None:
    own(tmp_path, case())
    for form in ("NFC", "NFD"):
        name = unicodedata.normalize(form, "résumé.txt")
        (tmp_path / "कर" / "documents" / name).write_text("क", encoding="utf-8")
    with pytest.raises(InvalidDataset, match="two files are named"):
        load_dataset(str(tmp_path))


SOURCE = {"source": "कर/documents/सूचना.txt"}


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (case(), "the id 'क-१' stands twice"),
        (case(id="क-२", query=" "), "'query' is empty"),
        (case(id="क-२", colour="नीलो"), "unknown key 'colour'"),
        (case(id=2), "'id' is 2, expected a text"),
        (case(id="क-२", relevant=[{"source": "नभएको.pdf"}]), "'नभएको.pdf' names no document"),
        (case(id="क-२", relevant=[]), "has nothing relevant"),
        (case(id="क-२", answerable=False), "is unanswerable, but a label"),
        (case(id="क-२", relevant=["सूचना.txt"]), "expected a list of objects"),
        (case(id="क-२", relevant=[{**SOURCE, "chunk_id": "1"}]), "unknown key 'chunk_id'"),
        (case(id="क-२", relevant=[{**SOURCE, "pages": [0]}]), "'pages' is"),
        (case(id="क-२", relevant=[{**SOURCE, "pages": [True]}]), "'pages' is"),
        (case(id="क-२", relevant=[{**SOURCE, "grade": 0}]), "'grade' is 0"),
        (case(id="क-२", relevant=[{**SOURCE, "span": [5, 5]}]), "'span' is"),
        (case(id="क-२", relevant=[{**SOURCE, "span": [0, 5], "quote": "कर"}]), "either a span"),
        (case(id="क-२", relevant=[{**SOURCE, "pages": [1, 2], "quote": "कर"}]), "one label a quote"),
    ],
)
def test_a_wrong_case_is_named(tmp_path: Path, second: dict[str, Any], message: str) -> None:
    own(tmp_path, case(), second)
    with pytest.raises(InvalidDataset, match=f"line 2: .*{message}"):
        load_dataset(str(tmp_path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id": "x"', "not valid JSON"),
        (b'["x"]', "expected a JSON object, found list"),
        (b'{"id": "x", "id": "y"}', "a key stands twice"),
        (b'{"id": "\xff"}', "not in UTF-8"),
    ],
)
def test_a_line_that_is_no_json_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    path = own(tmp_path, case()) / "cases.jsonl"
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(InvalidDataset, match=f"cases.jsonl, line 2: .*{message}"):
        load_dataset(str(tmp_path))


def test_a_table_of_questions_is_answered_by_its_documents(tmp_path: Path) -> None:
    (own(tmp_path) / "cases.jsonl").unlink()
    (tmp_path / "कर" / "data.csv").write_text(
        'question,actual_answer\nकर कहिले तिर्ने?,"असार मसान्त, २०८२"\n\nकति?,\n', encoding="utf-8"
    )
    first, second = load_dataset(str(tmp_path)).cases
    assert (first.case_id, first.labels) == ("कर-1", (Label("कर/documents/"),))
    assert first.reference_answer == "असार मसान्त, २०८२"
    assert second.where.endswith("data.csv, line 4")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,answer\nकति?,दुई\n", "line 1: the columns are"),
        ("question,actual_answer\nकति?\n", "line 2: 1 columns"),
        ("question,actual_answer\n ,दुई\n", "line 2: 'question' is empty"),
        ('question,actual_answer\nक,"दुई"x\n', "line 2: cannot be read"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, text: str, message: str) -> None:
    (own(tmp_path) / "cases.jsonl").unlink()
    (tmp_path / "कर" / "data.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidDataset, match=f"data.csv, {message}"):
        load_dataset(str(tmp_path))


def test_a_set_without_questions_or_of_no_layout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataset, match="is no labelled set"):
        load_dataset(str(tmp_path))
    with pytest.raises(InvalidDataset, match="has no questions"):
        load_dataset(str(own(tmp_path)))
    with pytest.raises(InvalidDataset, match="is a file"):
        load_dataset(str(tmp_path / "cases.jsonl"))


def test_a_bundled_set_goes_by_its_name() -> None:
    assert "nepali_starter" in bundled_sets()
    found = load_dataset("nepali_starter")
    assert found.n_documents == 10
    assert len(found.cases) == 160
    with pytest.raises(UnknownName, match="Did you mean 'nepali_starter'"):
        load_dataset("nepali_startr")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "ताल"\n', "", "missing key 'title'"),
        ('title = "ताल"', 'titel = "ताल"', "unknown key 'titel'"),
        ('["ne", "en"]', '"ne"', "'languages' is 'ne'"),
        ('"CC0-1.0"', '""', "'licence' is ''"),
        ('"by hand"', "by hand", "not valid TOML"),
    ],
)
def test_a_wrong_card_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "card.toml").write_text(CARD.replace(old, new), encoding="utf-8")
    with pytest.raises(InvalidDataset, match=f"card.toml: .*{message}"):
        Card.read(tmp_path / "card.toml")


def test_the_main_measure_of_a_card_is_one_of_ours(tmp_path: Path) -> None:
    (tmp_path / "card.toml").write_text(CARD.replace("ndcg@10", "accuracy"), encoding="utf-8")
    with pytest.raises(CallerError, match="'accuracy' is no measure"):
        Card.read(tmp_path / "card.toml")
