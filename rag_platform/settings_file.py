"""How settings stand in an environment file and the environment: names, lists, defaults, slips of ours.

Which settings there are stands in ``settings``.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args, get_origin

from dotenv import dotenv_values
from pydantic.fields import FieldInfo

from rag_platform.errors import InvalidSetting

__all__ = ["FOREIGN_NAMES", "check_names", "described", "gathered", "parted", "told", "written"]

FOREIGN_NAMES = frozenset({"LLM_MODEL", "OLLAMA_MODELS", "REQUESTS_PER_MINUTE", "RAG_URL", "RAG_KEY"})
"""Names that other programs really use and that look like a slip of ours: never refused. The last two are
those of clients of the service (``docs/examples``), which may be set in the same shell."""


def gathered(env_file: Path | None, overrides: Mapping[str, str], known: Sequence[str]) -> dict[str, str]:
    """Return what is said of the known settings: overrides before environment before the file.

    Args:
        env_file: Where there is none, nothing is read.
        overrides: Values by name.
        known: The names of all settings.

    Raises:
        InvalidSetting: A name is a slip of one of them, wherever it stands.
    """
    from_file = _read(env_file)
    check_names(from_file, known, f"in {env_file}")
    check_names(os.environ, known, "in the environment")
    check_names(overrides, known, "among the overrides")
    return {
        name: value
        for source in (from_file, os.environ, overrides)
        for name, value in source.items()
        if name in known and value
    }


def told(env_file: Path) -> dict[str, str | None]:
    """Return what file and environment say, whoever's it is; nothing is checked."""
    return {**_read(env_file), **os.environ}


def _read(env_file: Path | None) -> dict[str, str | None]:
    return dotenv_values(env_file) if env_file is not None and env_file.is_file() else {}


def check_names(given: Iterable[str], known: Sequence[str], where: str) -> None:
    """Refuse an unknown ``RAG_...`` key and a near miss of a known one; leave other programs' keys be.

    Raises:
        InvalidSetting: Names the right one.
    """
    for key in given:
        if key in known or key in FOREIGN_NAMES:
            continue
        ours = key.upper().startswith("RAG_")
        near = difflib.get_close_matches(key.upper(), known, n=1, cutoff=0.0 if ours else 0.9)
        if near and (ours or not _extends(key.upper(), near[0])):
            raise InvalidSetting(f"unknown setting {key!r} {where}; did you mean {near[0]!r}?")


def _extends(key: str, known: str) -> bool:
    """Tell a longer name built on ours (``OPENAI_API_KEY_2``, ``MY_HF_TOKEN``) from a slip of it."""
    head, found, tail = key.partition(known)
    return bool(found) and (head.endswith("_") or tail[:1] == "_" or tail[:1].isdigit())


def written(default: object) -> str:
    """Return a value as it stands in an environment file."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return ",".join(value.replace(",", r"\,") for value in default)
    return str(default)


def parted(listed: str) -> list[str]:
    r"""Return the values of a list setting.

    >>> parted(r"text, table"), parted(r"a\,b,c")
    (['text', 'table'], ['a,b', 'c'])
    """
    values = (value.strip().replace(r"\,", ",") for value in re.split(r"(?<!\\),", listed))
    return [value for value in values if value]


def described(settings: Iterable[FieldInfo], headings: Mapping[str, str]) -> str:
    """Return settings as an environment file: each commented out, with default and meaning.

    Args:
        settings: In their order.
        headings: What is written before the setting of that name.
    """
    lines = [
        "# Settings of rag-platform with their defaults. Copy to .env and uncomment what you change;",
        "# the environment overrides .env, command line flags override both.",
        "# Written by: python -m rag_platform.settings > .env.example",
    ]
    for field in settings:
        name = str(field.validation_alias)
        if name in headings:
            lines += ["", f"## {headings[name]}"]
        choices = (
            f" ({', '.join(get_args(field.annotation))})" if get_origin(field.annotation) is Literal else ""
        )
        lines += [f"# {field.description}{choices}", f"#{name}={written(field.default)}"]
    return "\n".join(lines) + "\n"
