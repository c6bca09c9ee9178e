"""Named variants of a sweep: what each changes of settings and of search, from the command line or a file.

Reading and checking only; nothing is measured here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rag_platform.errors import InvalidSetting, UnknownName
from rag_platform.evaluation.contexts import CONTEXT_TOKENS, CONTEXTS, Context
from rag_platform.retrieval.options import SearchOptions
from rag_platform.settings import Settings
from rag_platform.types import AnalyzerOptions

__all__ = [
    "BASELINES",
    "BASELINE_MARK",
    "Changes",
    "applied",
    "parse_variants",
    "read_analyzer",
    "read_context",
    "read_variants",
    "searched",
    "spans_grid",
]

Changes = Mapping[str, str]
"""What a variant changes: setting, search option, part of the analyzer or reranker -> value as text."""
_NAME = re.compile(r"[\w.+-]{1,40}")
_OF_THE_GRID = {"embedding_model": "--embedders", "reranker_model": "reranker=NAME, or --rerankers"}
_FIXED = ("home", "embedders", "sweep_embedders", "sweep_rerankers", "qdrant_url", *_OF_THE_GRID)
_PARSED = {
    "k": int,
    "candidates": int,
    "per_document": int,
    "per_page": int,
    "threshold": float,
    "mode": str,
    "fusion": str,
}
_CONTEXT = ("context", "context_tokens")
_RERANKER = "reranker"
_ANALYZER = "analyzer."
_PARTS = tuple(one.name for one in fields(AnalyzerOptions))
_LEAST_TOKENS = 50
BASELINE_MARK = "baseline:"
"""Names of variants that begin so are ours: no variant of a caller can bear them."""
BASELINES: Mapping[str, Changes] = MappingProxyType(
    {
        f"{BASELINE_MARK}lexical": {"mode": "lexical"},
        f"{BASELINE_MARK}dense": {"mode": "dense"},
        f"{BASELINE_MARK}no-retrieval": {"context": "none"},
        f"{BASELINE_MARK}long-context": {"context": "collection"},
        f"{BASELINE_MARK}whole-document": {"context": "document"},
    }
)
"""What every retrieval is compared with: BM25 alone, vectors alone, and answers without search."""
_ALIASES = MappingProxyType({"top_k": "candidates", "top_r": "k"})


def parse_variants(written: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return variants from ``name:setting=value``; several of one name add up.

    >>> parse_variants(["nofold:analyzer.fold=false", "few:candidates=5,k=3"])
    {'nofold': {'analyzer.fold': 'false'}, 'few': {'candidates': '5', 'k': '3'}}

    Raises:
        InvalidSetting: One is not of this form.
    """
    found: dict[str, dict[str, str]] = {}
    for one in written:
        name, colon, changes = one.partition(":")
        if not colon:
            raise InvalidSetting(f"{one!r} is no variant; write name:setting=value, as lexical:mode=lexical")
        for change in changes.split(","):
            key, equals, value = change.partition("=")
            if not equals:
                raise InvalidSetting(f"{change!r} of variant {name!r} is no setting=value")
            found.setdefault(name.strip(), {})[key.strip()] = value.strip()
    _check(found)
    return found


def read_variants(path: Path) -> dict[str, dict[str, str]]:
    """Return the variants of a TOML file: ``[variants.name]`` tables of ``setting = value``.

    A table in them is a dotted name: ``analyzer.fold = false``.

    Raises:
        InvalidSetting: The file is not there, is no TOML, or holds something else.
    """
    try:
        tables = tomllib.loads(path.read_text("utf-8")).get("variants", {})
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"{path} cannot be read as TOML: {error}") from error
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise InvalidSetting(f"{path}: 'variants' must hold tables, as [variants.lexical]")
    found = {name: dict(_flat(table)) for name, table in tables.items()}
    _check(found)
    return found


def applied(settings: Settings, changes: Changes) -> Settings:
    """Return settings with those changes of a variant that are settings.

    Raises:
        UnknownName: Neither a setting nor a search option has this name.
        InvalidSetting: The value is not allowed, or the setting belongs to the grid.
    """
    aliases = {name: str(one.validation_alias) for name, one in Settings.model_fields.items()}
    names = {alias.lower(): alias for alias in aliases.values()} | aliases
    given = {}
    for key, value in changes.items():
        if _is_option(key) or key in (*_CONTEXT, _RERANKER) or key.startswith(_ANALYZER):
            continue
        if key.lower() not in names:
            parts = (f"{_ANALYZER}{part}" for part in _PARTS)
            known = (*names, *_CONTEXT, _RERANKER, *parts, *(f.name for f in fields(SearchOptions)))
            raise UnknownName("setting or search option", key, known)
        field = next(name for name, alias in aliases.items() if alias == names[key.lower()])
        if field in _FIXED:
            raise InvalidSetting(
                f"a variant cannot change {key!r}: use {_OF_THE_GRID.get(field, 'settings')}"
            )
        given[names[key.lower()]] = value
    return Settings.load(None, **{**settings.environment(), **given}) if given else settings


def searched(options: SearchOptions, changes: Changes) -> SearchOptions:
    """Return search options with those changes of a variant that are such.

    Raises:
        InvalidSetting: A value is not allowed.
    """
    given: dict[str, Any] = {}
    for key, value in changes.items():
        name = _ALIASES.get(key, key)
        if not _is_option(key):
            continue
        try:
            given[name] = _parsed(name, value)
        except ValueError as error:
            raise InvalidSetting(f"{key}={value!r} is not allowed: {error}") from None
    changed = replace(options, **given)
    changed.check()
    return changed


def read_analyzer(changes: Changes) -> AnalyzerOptions:
    """Return how passages and questions become terms under a variant.

    >>> read_analyzer({"analyzer.fold": "false"})
    AnalyzerOptions(fold=False, stem=True, spelling=True, pieces=True)

    Raises:
        UnknownName: The analyzer has no such part.
        InvalidSetting: A value is neither ``true`` nor ``false``.
    """
    given: dict[str, bool] = {}
    for key, value in changes.items():
        if not key.startswith(_ANALYZER):
            continue
        part = key.removeprefix(_ANALYZER)
        if part not in _PARTS:
            raise UnknownName("part of the analyzer", part, _PARTS)
        try:
            given[part] = _is_true(value)
        except ValueError as error:
            raise InvalidSetting(f"{key}={value!r} is not allowed: {error}") from None
    return AnalyzerOptions(**given)


def spans_grid(name: str, changes: Changes) -> bool:
    """Say whether a variant has a cell for each encoder and reranker of the grid, or its own places."""
    return not (name.startswith(BASELINE_MARK) or {"context", _RERANKER} & changes.keys())


def read_context(changes: Changes) -> Context | None:
    """Return what a generator reads under a variant instead of hits; None: hits, as usual.

    Raises:
        UnknownName: There is no such context.
        InvalidSetting: The number of tokens is none, or an option of search is changed beside it.
    """
    kind = changes.get("context")
    if kind is None:
        if "context_tokens" in changes:
            raise InvalidSetting("context_tokens limits what context=document or context=collection reads")
        return None
    meant = next((one for one in CONTEXTS if one == kind), None)
    if meant is None:
        raise UnknownName("context", kind, CONTEXTS)
    for key in changes:
        if _is_option(key) or key == _RERANKER or key.startswith(_ANALYZER):
            raise InvalidSetting(f"with context={kind} nothing is searched, so {key!r} would change nothing")
    written = changes.get("context_tokens", str(CONTEXT_TOKENS))
    if not written.isascii() or not written.isdigit() or int(written) < _LEAST_TOKENS:
        raise InvalidSetting(f"context_tokens={written!r} is not allowed: write {_LEAST_TOKENS} or more")
    return Context(meant, int(written))


def _is_option(key: str) -> bool:
    return _ALIASES.get(key, key) in {*_PARSED, "weights", "distinct"}


def _parsed(name: str, value: str) -> object:
    if name == "weights":
        dense, _, lexical = value.partition("/")
        return float(dense), float(lexical)
    return _is_true(value) if name == "distinct" else _PARSED[name](value)


def _is_true(value: str) -> bool:
    if value not in ("true", "false"):
        raise ValueError("write true or false")
    return value == "true"


def _check(variants: Mapping[str, Changes]) -> None:
    for name, changes in variants.items():
        if not _NAME.fullmatch(name):
            raise InvalidSetting(f"{name!r} cannot be the name of a variant; use letters, digits, . + - _")
        for key in changes:
            if key.lower() in _OF_THE_GRID:
                raise InvalidSetting(
                    f"variant {name!r} cannot change {key!r}: use {_OF_THE_GRID[key.lower()]}"
                )


def _flat(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
