"""What people say of their files beside them: ``<name>.meta.toml``, ``<name>.meta.json``, ``_metadata.toml``.

Reading, checking with file and line, and writing. Which of them belong to a file is the inbox's to say, what
the fields mean ``schema``'s.
"""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from rag_platform.errors import CallerError, InvalidMetadata, UnknownName
from rag_platform.metadata.schema import FIELDS, values_of
from rag_platform.storage import atomic, storage_errors
from rag_platform.types import ALL_KINDS, Fields, Kind, Value, fingerprint

__all__ = [
    "FOLDER_DEFAULTS",
    "SUFFIXES",
    "Given",
    "changed",
    "from_json",
    "is_note",
    "read_notes",
    "to_json",
    "update_note",
    "write_note",
]

FOLDER_DEFAULTS = "_metadata.toml"
"""In a folder: what holds for all files there and below; nearer ones win."""
SUFFIXES = (".meta.toml", ".meta.json")
"""Beside a file: what holds for it alone; the later wins, which ``rag ingest --meta`` writes."""
PARSE = "parse"

_LANGUAGES = re.compile(r"[A-Za-z][A-Za-z_/]*(?:\+[A-Za-z][A-Za-z_/]*)*")
_AT_LINE = re.compile(r"\(at line (\d+)")


@dataclass(frozen=True, slots=True)
class Given:
    """What the owner of a file says of it.

    Attributes:
        fields: By name, see ``schema.FIELDS``.
        languages: Tesseract languages for this file; empty: as the settings say.
        kinds: Kinds that are ingested of this file; empty: as the settings say.
    """

    fields: Fields = field(default_factory=dict)
    languages: str = ""
    kinds: tuple[Kind, ...] = ()

    def under(self, nearer: Given) -> Given:
        """Return both, the nearer one winning name by name."""
        return Given(
            {**self.fields, **nearer.fields}, nearer.languages or self.languages, nearer.kinds or self.kinds
        )

    @property
    def plain(self) -> dict[str, object]:
        """The fields as a person would write them."""
        return {name: _plain(name, values) for name, values in self.fields.items()}

    @property
    def work(self) -> str:
        """Fingerprint of the fields, empty without any."""
        return fingerprint("given", sorted(self.fields.items())) if self.fields else ""

    def __bool__(self) -> bool:
        return bool(self.fields or self.languages or self.kinds)


def is_note(name: str) -> bool:
    """Say whether a file is metadata of others, never a document.

    >>> is_note("ऐन.pdf.meta.toml"), is_note("_metadata.toml"), is_note("metadata.toml")
    (True, True, False)
    """
    return name == FOLDER_DEFAULTS or name.endswith(SUFFIXES)


def read_notes(paths: Iterable[Path], *, root: Path) -> Given:
    """Return what these files say together, later ones winning; one that is gone meanwhile says nothing.

    Args:
        paths: From the outermost folder's to the file's own.
        root: What error messages leave out of the paths.

    Raises:
        InvalidMetadata: One is broken; says where.
        StorageError: One cannot be read.
    """
    given = Given()
    for path in paths:
        shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
        with storage_errors("read", path):
            try:
                content = path.read_bytes()
            except FileNotFoundError:
                continue
        given = given.under(_read(content, shown))
    return given


def to_json(given: Given) -> str:
    """Return it as JSON, the same for the same."""
    written = {"fields": given.fields, "languages": given.languages, "kinds": given.kinds}
    return json.dumps(written, ensure_ascii=False, sort_keys=True)


def from_json(stored: str) -> Given:
    """Return what ``to_json`` wrote."""
    written: dict[str, Any] = json.loads(stored)
    fields = {name: tuple(values) for name, values in written["fields"].items()}
    return Given(fields, written["languages"], tuple(written["kinds"]))


def write_note(path: Path, given: Given) -> None:
    """Write it as TOML."""
    lines = [f"{name} = {_toml(value)}" for name, value in given.plain.items()]
    parse = [("languages", given.languages), ("kinds", list(given.kinds))]
    said = [f"{name} = {_toml(value)}" for name, value in parse if value]
    lines += ["", f"[{PARSE}]", *said] if said else []
    _write(path, "\n".join(lines) + "\n")


def changed(said: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """Return what a JSON sidecar says after ``name=value`` is set; an empty value drops the name.

    Several values are joined by ``|``; ``parse.languages`` and ``parse.kinds`` are those of ``[parse]``.

    Raises:
        InvalidMetadata: A change means nothing.
    """
    said = {
        name: dict(value) if name == PARSE and isinstance(value, dict) else value
        for name, value in said.items()
    }
    for change in changes:
        name, found, written = change.partition("=")
        if not found:
            raise InvalidMetadata(f"--meta {change!r} has no '='; write it as name=value")
        table = said.setdefault(PARSE, {}) if name.strip().startswith(f"{PARSE}.") else said
        key, values = name.strip().removeprefix(f"{PARSE}."), [one.strip() for one in written.split("|")]
        if values == [""]:
            table.pop(key, None)
        else:
            table[key] = values[0] if len(values) == 1 else values
    _given(said, "--meta", "")
    return said


def update_note(path: Path, changes: Sequence[str]) -> None:
    """Make the changes of ``changed`` in a JSON sidecar, which need not be there yet.

    Raises:
        InvalidMetadata: A change, or the file as it was, means nothing.
    """
    said: dict[str, Any] = {}
    if path.is_file():
        with storage_errors("read", path):
            said = _loaded(path.read_bytes(), path.name)
        _given(said, path.name, "")
    _write(path, json.dumps(changed(said, changes), ensure_ascii=False, indent=1, sort_keys=True))


def _write(path: Path, text: str) -> None:
    """Write a note unless it is that already: a touched note is a changed document."""
    content = text.encode()
    with storage_errors("read", path):
        if path.is_file() and path.read_bytes() == content:
            return
    with atomic(path) as file:
        file.write(content)


def _read(content: bytes, shown: str) -> Given:
    said = _loaded(content, shown)
    return _given(said, shown, content.decode("utf-8-sig", "replace"))


def _loaded(content: bytes, shown: str) -> dict[str, Any]:
    try:
        text = content.decode("utf-8-sig")
        said = json.loads(text) if shown.endswith(".json") else tomllib.loads(text.replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidMetadata(f"{shown}, line {line}: it is no UTF-8 text; save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at else content.count(b"\n") + 1
        raise InvalidMetadata(f"{shown}, line {line}: {_quoted_hint(str(error))}") from error
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise InvalidMetadata(f"{shown}, line {line}: no JSON ({error}); mend it") from error
    if not isinstance(said, dict):
        raise InvalidMetadata(f'{shown}, line 1: it is no object; write {{"publisher": "..."}}')
    return cast("dict[str, Any]", said)


def _quoted_hint(message: str) -> str:
    return f"{message}; text and Bikram Sambat dates stand in quotes"


def _given(said: Mapping[str, Any], shown: str, text: str) -> Given:
    """Check what was said; an error names the line of the key."""
    fields: dict[str, tuple[Value, ...]] = {}
    parse: Mapping[str, Any] = {}
    for name, written in said.items():
        with _located(shown, text, name):
            if name == PARSE:
                parse = _parse_table(written)
            elif name in ("language", "languages", "kinds"):
                raise CallerError(
                    f"{name!r} is no field: the language of a passage is found, and what OCR and"
                    f" ingestion are to do stands under [{PARSE}]"
                )
            else:
                fields[name] = values_of(name, written)
    languages = ""
    kinds: tuple[Kind, ...] = ()
    for name, written in parse.items():
        with _located(shown, text, name):
            if name == "languages":
                languages = _languages(written)
            elif name == "kinds":
                kinds = _kinds(written)
            else:
                raise UnknownName(f"key of [{PARSE}]", name, ("languages", "kinds"))
    return Given(fields, languages, kinds)


def _parse_table(written: object) -> Mapping[str, Any]:
    if not isinstance(written, dict):
        raise CallerError(f"{PARSE!r} is {written!r}; it must be a table with languages and kinds")
    return written


def _languages(written: object) -> str:
    joined = "+".join(map(str, written)) if isinstance(written, list) else written
    if not isinstance(joined, str) or not _LANGUAGES.fullmatch(joined):
        raise CallerError(f"'languages' is {written!r}; name Tesseract languages such as \"nep+eng\"")
    return joined


def _kinds(written: object) -> tuple[Kind, ...]:
    parts = [one.strip() for one in written.split(",")] if isinstance(written, str) else written
    if not isinstance(parts, list) or not parts:
        raise CallerError(f"'kinds' is {written!r}; list some of {', '.join(ALL_KINDS)}")
    for one in parts:
        if one not in ALL_KINDS:
            raise UnknownName("kind", str(one), ALL_KINDS)
    return tuple(kind for kind in ALL_KINDS if kind in parts)


@contextlib.contextmanager
def _located(shown: str, text: str, name: str) -> Iterator[None]:
    """Turn an error of a value into one that names the file and the key's line."""
    try:
        yield
    except CallerError as error:
        key = re.search(rf"(?m)^[\s,{{\[]*[\"']?{re.escape(name)}[\"']?\s*[=:.\]]", text)
        line = f", line {text.count(chr(10), 0, key.end()) + 1}" if key else ""
        raise InvalidMetadata(f"{shown}{line}: {error}") from error


def _plain(name: str, values: tuple[Value, ...]) -> object:
    """Return values as a person would write them."""
    is_day = name in FIELDS and FIELDS[name].type == "day"
    written = [_day_text(int(value)) if is_day else value for value in values]
    return written[0] if len(written) == 1 else written


def _day_text(number: int) -> str:
    return f"{number // 10_000:04}-{number // 100 % 100:02}-{number % 100:02} AD"


def _toml(value: object) -> str:
    """Return text, numbers and lists of them as TOML, which writes them as JSON does."""
    return json.dumps(value, ensure_ascii=False)
