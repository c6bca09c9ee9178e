"""Named chat models in a TOML file: provider, model, address, key, temperature under one short name.

    [chat.fast]
    provider = "groq"
    model = "llama-3.3-70b-versatile"   # else the provider's
    key = "GROQ_API_KEY"                # the environment variable that holds it, never the key itself
    base_url = ""                       # else the provider's
    temperature = 0.2                   # else the settings'

The whole file is checked when it is read, so that a slip shows at the start and not at a question.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag_platform.answering.providers import Access, Connection, connect
from rag_platform.errors import InvalidSetting, RagError

__all__ = ["Profile", "read_profiles"]

RESERVED = ("extractive", "none", "prompt")


@dataclass(frozen=True, slots=True)
class Profile:
    """A named chat model; ``temperature`` None: the settings'."""

    connection: Connection
    temperature: float | None


class _Chat(BaseModel):
    """One table of the file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    provider: str
    model: str = ""
    key: str = ""
    base_url: str = ""
    api_version: str = ""
    temperature: float | int | None = Field(None, ge=0, le=2)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    chat: dict[str, _Chat] = Field(default_factory=dict)


def read_profiles(path: Path, environment: Mapping[str, str]) -> dict[str, Profile]:
    """Return the chat models of a file by name.

    Args:
        path: The TOML file.
        environment: Where the keys are.

    Raises:
        InvalidSetting: The file is missing or wrong; the message names file, table and remedy.
    """
    try:
        written = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InvalidSetting(f"RAG_MODEL_PROFILES={path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{path} is no TOML: {error}") from error
    except ValidationError as error:
        told = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise InvalidSetting(f"{path}: {'; '.join(told)}; see docs/answers.md") from None
    return {name: _profile(path, name, one, environment) for name, one in written.chat.items()}


def _profile(path: Path, name: str, one: _Chat, environment: Mapping[str, str]) -> Profile:
    where = f"{path}, [chat.{name}]"
    if name in RESERVED:
        raise InvalidSetting(f"{where}: {name!r} is a generator's own name; take another")
    if one.key and not environment.get(one.key):
        raise InvalidSetting(f"{where}: the environment variable {one.key!r} is not set; it holds the key")
    generic = Access(environment.get(one.key, ""), one.base_url)
    try:
        connection = connect(
            one.provider,
            own=Access(base_url=_LOCAL.get(one.provider, "")),
            generic=generic,
            model=one.model,
            api_version=one.api_version,
        )
    except RagError as error:
        raise InvalidSetting(f"{where}: {error}") from error
    return Profile(connection, None if one.temperature is None else float(one.temperature))


_LOCAL = {
    "ollama": "http://localhost:11434",
    "vllm": "http://localhost:8000/v1",
    "hf_cloud": "https://router.huggingface.co/v1",
}
"""Addresses of providers whose settings have a default."""
