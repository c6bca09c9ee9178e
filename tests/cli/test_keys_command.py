"""``rag keys``: the key alone on stdout, once; lists without it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rag_platform.cli.app import main
from rag_platform.cli.keys import ends
from rag_platform.errors import CallerError
from rag_platform.keys import Keys, Principal


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["keys", *arguments])
    written = capsys.readouterr()
    return int(end.value.code or 0), written.out, written.err


def test_a_key_is_made_listed_and_revoked(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, made, talk = run(
        capsys, "add", "वडा-५", "--scope", "read", "--scope", "ingest", "-c", "laws", "--expires", "90d"
    )
    assert (code, made.count("\n")) == (0, 1)
    assert "shown this once" in talk
    assert made.strip() not in talk
    found = Keys(home).whose(made.strip())
    assert found is not None
    assert found == Principal("वडा-५", frozenset({"read", "ingest"}), frozenset({"laws"}))

    code, listed, _ = run(capsys, "list", "--format", "json")
    only = json.loads(listed)["keys"][0]
    assert {name: only[name] for name in ("name", "scopes", "collections", "ended")} == {
        "name": "वडा-५",
        "scopes": ["read", "ingest"],
        "collections": ["laws"],
        "ended": False,
    }
    assert made.strip() not in listed
    assert "digest" not in listed
    assert "laws" in run(capsys, "list")[1]

    _, another, _ = run(capsys, "add", "वडा-६", "--format", "json")
    assert Keys(home).whose(json.loads(another)["key"]) == Principal("वडा-६", frozenset({"read"}), None)
    assert json.loads(run(capsys, "revoke", "वडा-६", "--format", "json")[1]) == {"revoked": "वडा-६"}

    assert run(capsys, "revoke", "वडा-५")[0] == 0
    assert Keys(home).whose(made.strip()) is None
    assert "there are no keys yet" in run(capsys, "list")[2]


def test_a_key_reads_and_never_ends_unless_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = run(capsys, "add", "office.app")[1].strip()
    assert Keys(home).whose(made) is not None
    only = Keys(home).all()[0]
    assert (only.scopes, only.collections, only.expires_at) == (("read",), (), None)
    assert "never" in run(capsys, "list")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("add", "x", "--scope", "raed"), 2, "is no scope"),
        (("add", "x", "--expires", "soon"), 1, "write 2027-04-13 or 90d"),
        (("add", "x", "--expires", "2020-01-01"), 1, "let it expire later"),
        (("add", "क ख"), 1, "is no name of a key"),
        (("revoke", "x"), 1, "unknown key 'x'"),
    ],
)
def test_what_is_wrong_is_told(
    arguments: tuple[str, ...], code: int, told: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, talk = run(capsys, *arguments)
    assert (found, out) == (code, "")
    assert told in talk
    assert not Keys(home).all()


def test_days() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert ends("1d", now) == datetime(2026, 12, 1, 12, tzinfo=UTC).timestamp()
    assert ends("2026-11-30", now) == datetime(2026, 12, 1, tzinfo=UTC).timestamp()
    for wrong in ("90", "d", "2027-13-01", "9999-12-31", "-5d"):
        with pytest.raises(CallerError, match="is no day and no number of days"):
            ends(wrong, now)
