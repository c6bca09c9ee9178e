"""Filters: what a condition means, and how a point stores what the engines need to apply it before ranking.

Equality is looked up among a point's ``tags``, one keyword list with one index for all names, in which words
are folded as a search folds them; numbers are compared in ``fields.<name>``. Which conditions a question has
is decided above.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from typing import Any, get_args

from rag_platform.errors import CallerError, UnknownName
from rag_platform.text.references import value_key
from rag_platform.types import Chunk, Condition, Operator, Value

__all__ = [
    "KEYWORDS",
    "MOST_NUMBERS",
    "TAGS",
    "check",
    "engine_filter",
    "holds",
    "number_key",
    "number_keys",
    "tags",
    "within_document",
]

TAGS = "tags"
KEYWORDS = ("document_id", "source", "kind", "language", TAGS)
"""Payload fields that every engine indexes when it creates a collection."""
MOST_NUMBERS = 64
"""Names of numbers that get an index; those beyond are compared by reading payloads (0.4 s in 100,000)."""

_STORED = ("source", "document_id", "language", "kind")
_LEVEL = " > "
_NUMBERS = ("ordinal", "page_first", "page_last")
_RESERVED = (*_STORED, *_NUMBERS, "path")
_BOUNDS = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
"""What compares numbers, with the name that the engines have for it."""
_COMPARE: dict[str, Callable[[Value, Value], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def check(where: Sequence[Condition]) -> None:
    """Refuse conditions that mean nothing.

    Raises:
        UnknownName: There is no such operator.
        CallerError: No value, or a comparison with something else than one number.
    """
    for one in where:
        if one.operator not in get_args(Operator):
            raise UnknownName("operator", one.operator, get_args(Operator))
        if not one.values:
            raise CallerError(f"the condition on {one.field!r} has no value; name at least one")
        if one.operator not in _BOUNDS:
            continue
        if len(one.values) != 1 or not isinstance(one.values[0], int):
            raise CallerError(
                f"{one.field!r} {one.operator} {', '.join(map(repr, one.values))} compares no single number;"
                " use = for words, and a number for <, <=, > and >="
            )
        if number_key(one.field) is None:
            raise CallerError(
                f"numbers of {one.field!r} cannot be compared: its name has a quote or backslash"
            )


def holds(condition: Condition, chunk: Chunk) -> bool:
    """Tell whether a condition holds for a chunk: what the engines must agree with."""
    if condition.field in _STORED + _NUMBERS:
        present: Sequence[Value] = (getattr(chunk, condition.field),)
    elif condition.field == "path":
        present = _paths(chunk)
    else:
        present = chunk.fields.get(condition.field, ())
    if condition.operator in ("=", "!="):
        as_is = condition.field in _STORED + _NUMBERS
        one, other = (values if as_is else map(_folded, values) for values in (present, condition.values))
        return set(one).isdisjoint(other) == (condition.operator == "!=")
    compare, bound = _COMPARE[condition.operator], condition.values[0]
    return any(compare(value, bound) for value in present if isinstance(value, int))


def tags(chunk: Chunk) -> list[str]:
    """Return ``name=value`` of path levels and fields, the value as JSON, and ``name:number`` of numbers.

    A word and a number of the same looks stay different: ``year="2081"``, ``year=2081``.
    """
    found = [_tag("path", path) for path in _paths(chunk)]
    for name, values in chunk.fields.items():
        if name not in _RESERVED:
            found += [_tag(name, value) for value in values]
    return found + [_numbered(name) for name in _number_names(chunk)]


def number_keys(chunks: Sequence[Chunk]) -> set[str]:
    """Return the payload keys of all numbers that can be compared, to be indexed."""
    keys = {number_key(name) for chunk in chunks for name in _number_names(chunk)}
    return {key for key in keys if key}


def _number_names(chunk: Chunk) -> list[str]:
    return [
        name
        for name, values in chunk.fields.items()
        if name not in _RESERVED and any(isinstance(value, int) for value in values)
    ]


def number_key(name: str) -> str | None:
    """Return the payload key of a field, None for a name that no key can hold."""
    if name in _NUMBERS:
        return name
    return None if '"' in name or "\\" in name else f'fields."{name}"'


def within_document(
    document_id: str, first: int, last: int | None, where: Sequence[Condition]
) -> list[Condition]:
    """Return the conditions of chunks from one ordinal to another of a document."""
    conditions = [Condition("document_id", "=", (document_id,)), Condition("ordinal", ">=", (first,)), *where]
    return conditions if last is None else [*conditions, Condition("ordinal", "<=", (last,))]


def engine_filter(where: Sequence[Condition], engine: Any, bounds: Any) -> Any:  # noqa: ANN401
    """Return the filter of an engine, None without conditions.

    Args:
        where: Conditions that hold together.
        engine: ``qdrant_edge`` or ``qdrant_client.models``, which name their classes alike.
        bounds: The engine's class of a range of numbers.
    """
    if not where:
        return None
    check(where)
    must: list[Any] = []
    must_not: list[Any] = []
    for one in where:
        if one.operator in _BOUNDS:
            if one.field not in _NUMBERS:  # then a name without any number is no scan of all payloads
                must.append(_among(engine, TAGS, [_numbered(one.field)]))
            limits = bounds(**{_BOUNDS[one.operator]: one.values[0]})
            must.append(engine.FieldCondition(key=number_key(one.field), range=limits))
        else:
            (must if one.operator == "=" else must_not).append(_equal(one, engine))
    return engine.Filter(must=must, must_not=must_not)


def _equal(condition: Condition, engine: Any) -> Any:  # noqa: ANN401
    if condition.field in _STORED + _NUMBERS:
        kind = str if condition.field in _STORED else int
        return _among(
            engine, condition.field, [value for value in condition.values if isinstance(value, kind)]
        )
    return _among(engine, TAGS, [_tag(condition.field, value) for value in condition.values])


def _among(engine: Any, key: str, values: Sequence[Value]) -> Any:  # noqa: ANN401
    return engine.FieldCondition(key=key, match=engine.MatchAny(any=list(values)))


def _tag(name: str, value: Value) -> str:
    return f"{name}={json.dumps(_folded(value), ensure_ascii=False)}"


def _folded(value: Value) -> Value:
    return value_key(value) if isinstance(value, str) else value


def _numbered(name: str) -> str:
    return f"{name}:number"


def _paths(chunk: Chunk) -> list[str]:
    """Return a chunk's path and all above it, the highest first."""
    levels = chunk.path.split(_LEVEL) if chunk.path else []
    return [_LEVEL.join(levels[: n + 1]) for n in range(len(levels))]
