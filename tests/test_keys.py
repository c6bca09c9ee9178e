"""Keys: made once, kept hashed, told from others, limited, ended, revoked; and what a principal may do."""

from __future__ import annotations

import json
import re
import stat
import threading
import time
from pathlib import Path

import pytest

from rag_platform.errors import CallerError, DamagedFile, Forbidden, UnknownName
from rag_platform.keys import EVERYBODY, Keys, Principal


def test_a_key_tells_who_calls_and_is_kept_nowhere(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "home")
    made = keys.add("पुस्तकालय", ["ingest", "read", "read"], collections=["laws", "laws"])
    assert re.fullmatch(r"rag_[A-Za-z0-9_-]{43}", made)
    assert keys.whose(made) == Principal("पुस्तकालय", frozenset({"read", "ingest"}), frozenset({"laws"}))
    written = keys.path.read_text(encoding="utf-8")
    assert made not in written
    assert made.removeprefix("rag_") not in written
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    only = json.loads(written)["keys"][0]
    assert re.fullmatch(r"[0-9a-f]{64}", only["digest"])
    assert made not in repr(keys.all())


def test_no_two_keys_are_alike_and_no_other_is_known(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    one, two = keys.add("एक", ["read"]), keys.add("दुई", ["admin"])
    assert one != two
    for wrong in (
        "",
        "rag_",
        one[:-1],
        one + "x",
        one.upper(),
        one.removeprefix("rag_"),
        "\udcff",
        "क" * 9_000,
    ):
        assert keys.whose(wrong) is None
    found = keys.whose(two)
    assert found is not None
    assert (found.name, found.collections) == ("दुई", None)


def test_a_running_service_follows_the_file(tmp_path: Path) -> None:
    running, command = Keys(tmp_path), Keys(tmp_path)
    assert not running.usable()
    made = command.add("मोबाइल", ["read"])
    assert running.whose(made) is not None
    command.revoke("मोबाइल")
    assert running.whose(made) is None
    assert not running.usable()
    assert command.add("मोबाइल", ["read"]) != made
    assert running.whose(made) is None
    running.path.unlink()
    assert running.all() == ()


def test_a_key_ends(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    made = keys.add("एक-दिन", ["read"], expires_at=time.time() + 0.2)
    assert keys.whose(made) is not None
    time.sleep(0.25)
    assert keys.whose(made) is None
    assert [key.has_ended for key in keys.all()] == [True]
    assert not keys.usable()
    with pytest.raises(CallerError, match="let it expire later"):
        keys.add("हिजो", ["read"], expires_at=time.time() - 1)


@pytest.mark.parametrize("name", ["", "क ख", "a/b", "x" * 65, "a\nb", "../x"])
def test_a_name_is_a_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="is no name of a key"):
        Keys(tmp_path).add(name, ["read"])


def test_what_cannot_be_made_or_revoked_is_told(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    keys.add("library", ["read"])
    with pytest.raises(CallerError, match="there is a key 'library' already; revoke it first"):
        keys.add("library", ["admin"])
    with pytest.raises(CallerError, match="a key needs a scope; choose of read, ingest, admin"):
        keys.add("none", [])
    with pytest.raises(UnknownName, match="Did you mean 'library'"):
        keys.revoke("libary")


@pytest.mark.parametrize("content", ["", "[]", '{"keys": [{"name": "x"}]}', '{"keys": [{"digest": 1}]}', "{"])
def test_a_damaged_file_lets_nobody_in(content: str, tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    made = keys.add("library", ["read"])
    keys.path.write_text(content)
    with pytest.raises(DamagedFile, match="holds no keys"):
        keys.whose(made)


def test_keys_that_are_made_at_once_are_all_kept(tmp_path: Path) -> None:
    names = [f"शाखा-{number}" for number in range(12)]
    threads = [threading.Thread(target=Keys(tmp_path).add, args=(name, ["read"])) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(key.name for key in Keys(tmp_path).all()) == sorted(names)


def test_scopes() -> None:
    reader, admin = Principal("r", frozenset({"read"})), Principal("a", frozenset({"admin"}))
    assert [reader.may("read"), reader.may("ingest"), reader.may("admin")] == [True, False, False]
    assert all(admin.may(scope) and EVERYBODY.may(scope) for scope in ("read", "ingest", "admin"))
    with pytest.raises(Forbidden, match="takes a key with the scope 'ingest'; the key 'r' has read"):
        reader.check("ingest")


def test_collections() -> None:
    limited = Principal("ward", frozenset({"read"}), frozenset({"laws", "notices"}))
    limited.check_collections(["laws", "notices"])
    with pytest.raises(
        Forbidden, match="the key 'ward' is for laws, notices, not for the collection 'budget'"
    ):
        limited.check_collections(["laws", "budget"])
    EVERYBODY.check_collections(["budget"])
    only = Principal("ward", frozenset({"read"}), frozenset({"laws"}))
    assert [one.default("nepali_docs") for one in (only, limited, EVERYBODY)] == [
        "laws",
        "nepali_docs",
        "nepali_docs",
    ]
    nothing = Principal("", frozenset(), frozenset())
    assert not nothing.may_use("laws")
    assert nothing.default("nepali_docs") == "nepali_docs"
