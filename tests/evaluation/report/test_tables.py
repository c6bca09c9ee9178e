"""A board as text, Markdown, LaTeX and HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from runs import HASHING, RERANKED, SMALL, write_run

from rag_platform.evaluation.leaderboard import Leaderboard, leaderboard
from rag_platform.evaluation.published import published
from rag_platform.evaluation.report.tables import as_latex, as_markdown, caption, metadata, notes, text_rows
from rag_platform.evaluation.results import Cell

GOOD, BAD = [1.0, 0.75] * 10, [0.25, 0.0] * 10
ODD = Cell("my_model|x", "none", "no_fold")


@pytest.fixture
def board(tmp_path: Path) -> Leaderboard:
    cells = {
        RERANKED: {"nDCG@10": GOOD, "Retrieval Avg": ["failed", *GOOD[1:]]},
        HASHING: {"nDCG@10": BAD, "Retrieval Avg": BAD},
        Cell("BAAI/bge-m3", "none"): {},
    }
    gone = {"status": "unavailable", "reason": "50 % of <it> is missing"}
    return leaderboard(write_run(tmp_path, cells, states={Cell("BAAI/bge-m3", "none"): gone}))


def test_rows_for_the_terminal(board: Leaderboard) -> None:
    first, second, last = text_rows(board)
    assert first["nDCG@10"] == "0.875 [0.825, 0.925]"
    assert first["Retrieval Avg"] == "≥ 0.825 (0.868 of 19, 1 failed)"
    assert (first["tied"], second["tied"], second[""]) == ("*", "", "b")
    assert (last["nDCG@10"], last["status"]) == ("", "unavailable: 50 % of <it> is missing")


def test_a_long_reason_stands_below_once_and_a_failed_gate_is_never_silent(tmp_path: Path) -> None:
    reason = "encoder tiny ranks 1 of 5 plain Nepali questions right: for 'नेपालको राजधानी कहाँ हो?' ..."
    refused = {"status": "gate_failed", "reason": reason, "gate_passed": False}
    board = leaderboard(
        write_run(
            tmp_path,
            {HASHING: {"m": BAD}, SMALL: {"m": GOOD}, ODD: {}, RERANKED: {}},
            states={ODD: refused, RERANKED: refused, HASHING: {"gate_passed": False}},
        )
    )
    assert [row["status"] for row in text_rows(board)] == [
        "complete",
        "complete, sanity gate failed",
        "gate_failed (1)",
        "gate_failed (1)",
    ]
    assert notes(board) == [f"(1) {reason}"]
    for text in (as_markdown(board), as_latex(board), board._repr_html_()):
        assert text.count("plain Nepali questions right") == 1
    assert [row["gate_passed"] for row in board.value()["rows"]] == [True, False, False, False]


def test_many_letters_in_a_row_are_named_by_their_ends(tmp_path: Path) -> None:
    best, others = Cell("m00", "none"), [Cell(f"m{at:02}", "none") for at in range(1, 29)]
    values = {
        best: {"m": [1.0] * 40},
        others[0]: {"m": [1.0] * 40},
        **{c: {"m": [0.0] * 40} for c in others[1:]},
    }
    board = leaderboard(write_run(tmp_path, values))
    assert "<sup>c–ac</sup>" in as_markdown(board).splitlines()[2]
    assert r"$^{c\mbox{--}ac}$" in as_latex(board)
    assert board.rows[0].measures["m"].beats[-1] == "ac"


def test_the_published_value_stands_beside_ours_by_name(board: Leaderboard) -> None:
    rows = text_rows(board, published())
    assert rows[0]["published Retrieval Avg"] == "0.742"
    assert rows[1]["published Retrieval Avg"] == ""
    assert len(rows) == 3 + 29
    assert rows[3]["embedding model"] == "jinaai/jina-embeddings-v5-text-nano-retrieval"
    assert {row["status"] for row in rows[3:]} == {"published by others"}
    assert len({tuple(row) for row in rows}) == 1
    lines = as_markdown(board, published()).splitlines()
    assert len({line.count(" | ") for line in lines if line.startswith("| ")}) == 1


def test_markdown_has_bold_ties_and_raised_letters(board: Leaderboard) -> None:
    lines = as_markdown(board).splitlines()
    assert lines[2].startswith("| a | intfloat/multilingual-e5-small | BAAI/bge-reranker-v2-m3 | **0.875 [")
    assert "<sup>b</sup>" in lines[2]
    assert "0.125 [" in lines[3]
    assert "**" not in lines[3]
    assert "50 % of \\<it\\> is missing" in lines[4]


def test_latex_is_escaped_and_balanced(tmp_path: Path) -> None:
    run = write_run(tmp_path, {ODD: {"m_1": GOOD}, SMALL: {"m_1": BAD}}, dataset="50 % of नमुना_१")
    text = as_latex(leaderboard(run))
    assert r"my\_model|x & none & no\_fold & \textbf{0.875" in text
    assert r"50 \% of नमुना\_१" in text
    assert "$^{b}$" in text
    assert text.count("{") == text.count("}")
    columns = text.split("\\begin{tabular}{")[1].split("}")[0]
    assert columns == "llllrl"
    assert {line.count(" & ") for line in text.splitlines() if line.endswith("\\\\")} == {len(columns) - 1}


def test_notebooks_get_html_where_nothing_is_markup(tmp_path: Path) -> None:
    run = write_run(tmp_path, {Cell("<script>alert(1)</script>", "none"): {"m": GOOD}}, dataset="<b>सेट</b>")
    page = leaderboard(run)._repr_html_()
    seen: list[str] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attrs: seen.append(tag)  # type: ignore[method-assign]
    reader.feed(page)
    assert set(seen) == {"table", "caption", "thead", "tbody", "tr", "th", "td", "b"}
    assert "&lt;script&gt;" in page


def test_the_caption_says_on_what_and_what_it_can_show(board: Leaderboard) -> None:
    said = caption(board)
    assert "Means over the 20 questions" in said
    assert "0 others tied with the best in nDCG@10" in said
    assert "No judge was set" in said


def test_metadata_are_a_table_and_numbers(board: Leaderboard) -> None:
    table, numbers = metadata(board)
    assert table.startswith("|  | embedding model |")
    assert numbers["cells"] == 3
    assert numbers["cells_complete"] == 2
    assert numbers["scores_failed"] == 1
    assert numbers["best nDCG@10"] == 0.875
    assert numbers["nDCG@10 hashing|none"] == 0.125
    assert all(isinstance(value, int | float) for value in numbers.values())
