"""Anyone's own questions: a CSV file over a folder of documents, read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweeping_set import write_questions

from rag_platform.errors import InvalidDataset
from rag_platform.evaluation.datasets import Label
from rag_platform.evaluation.own import load_questions


def load(folder: Path, text: str) -> object:
    _, documents = write_questions(folder)
    path = folder / "own.csv"
    path.write_text(text, encoding="utf-8")
    return load_questions(path, documents)


def test_questions_answers_and_labels(tmp_path: Path) -> None:
    path, documents = write_questions(tmp_path)
    (documents / ".DS_Store").write_bytes(b"x")
    found = load_questions(path, documents)
    assert [member.source for member in found.collections[""]] == [
        "ताल/फेवा.md",
        "ताल/रारा.txt",
        "हिमाल/water.txt",
        "हिमाल/सगरमाथा.txt",
    ]
    first, *_, last = found.cases
    assert (first.case_id, first.labels, first.reference_answer) == (
        "1",
        (Label("ताल/रारा.txt"),),
        "मुगु जिल्लामा।",
    )
    assert (last.answerable, last.labels) == (False, ())
    assert first.where.endswith("प्रश्न.csv, line 2")
    assert len(found.judged) == 3


def test_pages_ids_and_questions_without_labels(tmp_path: Path) -> None:
    text = "id,question,source,pages\nक,कहाँ?,ताल/रारा.txt,1;2\nख,किन?,,\n"
    found = load(tmp_path, text)
    assert [case.labels for case in found.cases] == [  # type: ignore[attr-defined]
        (Label("ताल/रारा.txt", 1), Label("ताल/रारा.txt", 2)),
        (),
    ]
    assert [case.case_id for case in found.cases] == ["क", "ख"]  # type: ignore[attr-defined]


def test_the_kind_says_that_a_question_is_unanswerable(tmp_path: Path) -> None:
    text = "question,kind,answerable\nकसको हो?,unanswerable,\nकहाँ छ?,lookup,\nकिन?,unanswerable,true\n"
    found = load(tmp_path, text)
    assert [case.answerable for case in found.cases] == [False, True, True]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "question"),
        ("prashna\nकहाँ?\n", "prashna"),
        ("question,question\nक,ख\n", "columns"),
        ("question\n", "no questions"),
        ("question,answer\nकहाँ?\n", "line 2: 1 columns"),
        ("question,answer\n,मुगु\n", "line 2: 'question' is empty"),
        ("question,source\nकहाँ?,ताल/नभएको.txt\n", "ताल/नभएको.txt"),
        ("question,source,pages\nकहाँ?,ताल/रारा.txt,दुई\n", "दुई"),
        ("question,answerable\nकहाँ?,maybe\n", "maybe"),
        ("question,source,answerable\nकहाँ?,ताल/रारा.txt,false\n", "unanswerable"),
        ("id,question\n१,कहाँ?\n१,किन?\n", "line 3: the id '१' stands twice"),
    ],
)
def test_a_wrong_line_is_an_error_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InvalidDataset, match=words):
        load(tmp_path, text)


def test_documents_must_be_there(tmp_path: Path) -> None:
    path, _ = write_questions(tmp_path)
    with pytest.raises(InvalidDataset, match="--documents"):
        load_questions(path, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidDataset, match="no document"):
        load_questions(path, tmp_path / "empty")
