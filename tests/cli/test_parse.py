"""``rag parse`` says on stderr what became of a file: format, pages, origins, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_platform.cli import main


@pytest.mark.parametrize(
    ("name", "text", "shown", "summary"),
    [
        ("सूचना.txt", "पानी आउँदैन।\fभोलि आउँछ।", "भोलि आउँछ।", "txt, pages: 2, origin: markup\n"),
        (
            "preeti.rtf",
            r"{\rtf1\ansi\deff0{\fonttbl{\f0\fnil Preeti;}}\f0 g]kfn ;/sf/\par}",
            "नेपाल सरकार",
            "rtf, pages: 1, origin: markup (converted from Preeti)\n",
        ),
    ],
)
def test_what_became_of_a_file_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, shown: str, summary: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit) as end:
        main(["parse", str(path)])
    out, err = capsys.readouterr()
    assert (end.value.code or 0, err) == (0, summary)
    assert shown in out
