"""A sweep as a TOML file: what is measured, over which grid, under which settings; and the bundled ones.

generator = "extractive"
embedders = ["intfloat/multilingual-e5-small"]
rerankers = ["none"]
[settings]
CHUNK_SIZE = 256
[variants.lexical]
mode = "lexical"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_platform.errors import InvalidSetting, UnknownName

__all__ = ["ABLATIONS", "REFERENCE", "find_config", "read_config"]

ABLATIONS = Path(__file__).with_name("ablations.toml")
REFERENCE = Path(__file__).with_name("sweep.reference.toml")
_BUNDLED = {"ablations": ABLATIONS, "reference": REFERENCE}
_TEXTS = ("dataset", "documents", "generator", "name", "note")
_LISTS = ("embedders", "rerankers")
_KEYS = (*_TEXTS, *_LISTS, "budget", "max_calls", "baselines", "settings", "variants")


def find_config(name: str) -> Path:
    """Return a file of sweeps or variants: a path, or ``ablations`` or ``reference``.

    Raises:
        UnknownName: There is neither.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return path
    if name in _BUNDLED:
        return _BUNDLED[name]
    raise UnknownName("file of a sweep (neither a file nor one that comes with the platform)", name, _BUNDLED)


def read_config(path: Path) -> Mapping[str, Any]:
    """Return what a file says of a sweep; ``variants`` are read by ``variants.read_variants``.

    Raises:
        InvalidSetting: It is no TOML, or a key or a value is not allowed.
    """
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"{path} cannot be read as TOML: {error}") from error
    for key, value in values.items():
        if key not in _KEYS:
            raise InvalidSetting(f"{path}: unknown key {key!r}; known are {', '.join(_KEYS)}")
        is_list = isinstance(value, list) and value and all(isinstance(one, str) for one in value)
        right = {
            **dict.fromkeys(_TEXTS, isinstance(value, str)),
            **dict.fromkeys(_LISTS, is_list),
            "budget": isinstance(value, int | float),
            "max_calls": isinstance(value, int),
            "baselines": isinstance(value, bool),
        }.get(key, isinstance(value, dict))
        if not right:
            raise InvalidSetting(f"{path}: {key!r} is {value!r}, which is not of its kind")
    return values
