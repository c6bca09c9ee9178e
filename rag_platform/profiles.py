"""Named models in a TOML file: what is said of each, under one short name.

    [chat.fast]
    provider = "groq"
    model = "llama-3.3-70b-versatile"   # else the provider's
    key = "GROQ_API_KEY"                # the environment variable that holds it, never the key itself
    base_url = ""                       # else the provider's
    temperature = 0.2                   # else the settings'

    [embedding.office]
    model = "openai/BAAI/bge-m3"        # or litellm/PROVIDER/MODEL
    base_url = "http://10.0.0.7/v1"     # else the provider's
    key = "OFFICE_KEY"                  # as above
    dim = 512                           # to ask for; else the model's own
    max_tokens = 512                    # else the model's own
    query = "query: "                   # prefixes; else the model's own
    passage = "passage: "

The whole file is checked when it is read, so that a slip shows at the start and not at a question.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import regex
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag_platform.answering.gguf import require_gguf
from rag_platform.answering.providers import PROVIDERS, Access, Connection, connect, repaired
from rag_platform.embedding.catalogue import EncoderSpec, behind_api, resolve
from rag_platform.errors import InvalidSetting, RagError, UnknownName

__all__ = ["EmbeddingProfile", "Profile", "Profiles", "named_models", "read_profiles"]

RESERVED = ("extractive", "none", "prompt")
_NAME = regex.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Profile:
    """A named chat model; ``temperature`` None: the settings'."""

    connection: Connection
    temperature: float | None


@dataclass(frozen=True, slots=True)
class EmbeddingProfile:
    """A named embedding model behind an API.

    Attributes:
        spec: As of the catalogue, under the profile's name.
        base_url: Empty: the provider's own.
        setting: The environment variable that holds the key.
        dim: Size to ask for; 0: the model's own.
    """

    spec: EncoderSpec
    base_url: str = ""
    key: str = field(default="", repr=False)
    setting: str = ""
    dim: int = 0


@dataclass(frozen=True, slots=True)
class Profiles:
    """The named models of a file."""

    chat: Mapping[str, Profile] = field(default_factory=dict)
    embedding: Mapping[str, EmbeddingProfile] = field(default_factory=dict)

    @property
    def encoders(self) -> dict[str, EncoderSpec]:
        """The embedding models by name, as ``resolve`` takes them."""
        return {name: profile.spec for name, profile in self.embedding.items()}


class _Chat(BaseModel):
    """One table of the file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    provider: str
    model: str = ""
    key: str = ""
    base_url: str = ""
    api_version: str = ""
    temperature: float | int | None = Field(None, ge=0, le=2)


class _Embedding(BaseModel):
    """One table of the file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str
    key: str = ""
    base_url: str = ""
    dim: int = Field(0, ge=1)
    max_tokens: int = Field(0, ge=16)
    query: str | None = None
    passage: str | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    chat: dict[str, _Chat] = Field(default_factory=dict)
    embedding: dict[str, _Embedding] = Field(default_factory=dict)


def named_models(file: str) -> Profiles:
    """Return the models that a file names, with the keys of the environment; none without a file.

    Raises:
        InvalidSetting: The file is missing or wrong.
    """
    return read_profiles(Path(file).expanduser(), os.environ) if file else Profiles()


def read_profiles(path: Path, environment: Mapping[str, str]) -> Profiles:
    """Return the models of a file by name.

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
        raise InvalidSetting(f"{path}: {'; '.join(told)}; see docs/answers.md and docs/models.md") from None
    chat, embedding = {}, {}
    for name, one in written.chat.items():
        chat[name] = _chat(f"{path}, [chat.{name}]", name, one, environment)
    for name, model in written.embedding.items():
        embedding[name] = _embedding(f"{path}, [embedding.{name}]", name, model, environment)
    return Profiles(chat, embedding)


def _chat(where: str, name: str, one: _Chat, environment: Mapping[str, str]) -> Profile:
    if name in RESERVED:
        raise InvalidSetting(f"{where}: {name!r} is a generator's own name; take another")
    generic = Access(_key(where, one.key, environment), one.base_url)
    try:
        connection = connect(
            one.provider,
            own=Access(base_url=_LOCAL.get(one.provider, "")),
            generic=generic,
            model=one.model,
            api_version=one.api_version,
        )
        if PROVIDERS[one.provider].is_file:
            require_gguf(Path(one.model).expanduser())
    except RagError as error:
        raise InvalidSetting(f"{where}: {error}") from error
    return Profile(connection, None if one.temperature is None else float(one.temperature))


def _embedding(where: str, name: str, one: _Embedding, environment: Mapping[str, str]) -> EmbeddingProfile:
    if not _NAME.fullmatch(name):
        raise InvalidSetting(f"{where}: a name has letters, digits, '.', '_' and '-' alone: {name!r}")
    if _is_known(name):
        raise InvalidSetting(f"{where}: {name!r} is an embedding model of the catalogue; take another name")
    key = _key(where, one.key, environment)
    try:
        spec = behind_api(one.model, query=one.query, passage=one.passage)
        base_url = repaired(one.base_url)
    except RagError as error:
        raise InvalidSetting(f"{where}: {error}") from error
    spec = replace(spec, name=name, remote=one.model, max_tokens=one.max_tokens or spec.max_tokens)
    return EmbeddingProfile(spec, base_url, key, one.key, 0 if one.dim == spec.dim else one.dim)


def _is_known(name: str) -> bool:
    try:
        resolve(name)
    except UnknownName:
        return False
    return True


def _key(where: str, variable: str, environment: Mapping[str, str]) -> str:
    """Return the key that an environment variable holds; no variable, no key."""
    if variable and not environment.get(variable):
        raise InvalidSetting(
            f"{where}: the environment variable {variable!r} is not set; it holds the key, and .env is not"
            " read for it: export it"
        )
    return environment.get(variable, "")


_LOCAL = {
    "ollama": "http://localhost:11434",
    "vllm": "http://localhost:8000/v1",
    "hf_cloud": "https://router.huggingface.co/v1",
}
"""Addresses of providers whose settings have a default."""
