"""Charts as PNG: every one is a picture, and no letter is an empty box (which warns, so is an error)."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from PIL import Image
from runs import HASHING, SMALL, write_run

from rag_platform.errors import MissingDependency
from rag_platform.evaluation.compare import compare
from rag_platform.evaluation.report.plots import FONTS, Lettering, plots
from rag_platform.evaluation.results import Cell


def test_every_chart_is_drawn_whatever_the_texts_are(tmp_path: Path) -> None:
    odd = Cell("my_$model$ राम्रो 你好", "none", "no-fold")
    questions = ["कर $5$ कति हो?", "विद्यालय कहिले खुल्छ?", "தமிழ் 你好?", "क्षेत्र कहाँ छ?"]
    a = write_run(tmp_path, {SMALL: {"nDCG@10": [1, 0, 0, 1]}}, run_id="a", questions=questions)
    cells = {
        odd: {"nDCG@10": [0.9, 0.5, 0.25, 0.5]},
        SMALL: {"nDCG@10": [0.5, 0.5, 1, 0.9]},
        HASHING: {"nDCG@10": ["failed"] * 4},
    }
    b = write_run(tmp_path, cells, run_id="b", questions=questions)
    drawn = plots(b, comparison=compare(a, b))
    names = {"intervals", "heat_map", "heat_map_no-fold", "time", "cost", "kinds", "questions"}
    assert drawn.keys() == {f"{name}.png" for name in names}
    for png in drawn.values():
        with Image.open(io.BytesIO(png)) as image:
            assert image.format == "PNG"
            assert min(image.size) > 100
            assert len(image.convert("L").getcolors() or range(256)) > 2  # not blank


def test_devanagari_is_kept_where_a_font_has_it_and_spelled_in_latin_where_none_has() -> None:
    bare = Lettering(fonts=())
    assert bare.text("विद्यालय, २०८० को नेपाल।") == "vidyaalay, 2080 ko nepaal."
    assert bare.text("plain text") == "plain text"
    assert bare.text("你好 a") == "?? a"
    found = Lettering()
    if found.families[0] in FONTS:
        assert found.text("विद्यालय, २०८० को नेपाल।") == "विद्यालय, २०८० को नेपाल।"


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependency, match=r"rag-platform\[report\]"):
        Lettering()
