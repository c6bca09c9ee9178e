"""What there is and how it does: collections, models, health, errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import BaseModel, Field

from rag_platform.states import CollectionState, GenerationState, Models, ModelState

__all__ = [
    "ChatError",
    "ChatErrorAnswer",
    "ChatModel",
    "CollectionAnswer",
    "CollectionsAnswer",
    "ErrorAnswer",
    "GenerationAnswer",
    "GeneratorAnswer",
    "HealthAnswer",
    "ModelAnswer",
    "ModelsAnswer",
    "NotReadyAnswer",
    "ReadyAnswer",
]


class GenerationAnswer(BaseModel):
    """The published generation of one embedding model."""

    embedding_model: str
    generation: int
    points: int
    documents: int
    dim: int
    alias: str

    @classmethod
    def of(cls, state: GenerationState) -> Self:
        """Return the JSON form of a generation."""
        return cls(
            embedding_model=state.model,
            generation=state.generation,
            points=state.points,
            documents=state.n_documents,
            dim=state.dim,
            alias=state.alias,
        )


class CollectionAnswer(BaseModel):
    """A named corpus and what of it is published."""

    name: str
    documents: int
    generations: list[GenerationAnswer]

    @classmethod
    def of(cls, state: CollectionState) -> Self:
        """Return the JSON form of a collection."""
        generations = [GenerationAnswer.of(one) for one in state.generations]
        return cls(name=state.name, documents=state.n_documents, generations=generations)


class CollectionsAnswer(BaseModel):
    """Every collection, published or not."""

    collections: list[CollectionAnswer]
    next_cursor: str | None = Field(None, description="of the next part; null: that was all")


class ModelAnswer(BaseModel):
    """A model of a catalogue."""

    name: str
    dim: int | None
    max_tokens: int | None
    licence: str
    active: bool = Field(description="the service uses it where a request names none")
    loadable: bool
    remedy: str | None = Field(description="what it needs before it can be loaded here")

    @classmethod
    def of(cls, state: ModelState) -> Self:
        """Return the JSON form of a model."""
        return cls(
            name=state.name,
            dim=state.dim,
            max_tokens=state.max_tokens,
            licence=state.licence,
            active=state.active,
            loadable=state.remedy is None,
            remedy=state.remedy,
        )


class GeneratorAnswer(BaseModel):
    """Who may answer a question."""

    name: str
    active: bool
    remedy: str | None


class ChatModel(BaseModel):
    """What a chat completion may name as its model, as OpenAI's clients list it."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "rag-platform"


class ModelsAnswer(BaseModel):
    """What embeds, reranks and answers; ``object`` and ``data`` are what OpenAI's clients read."""

    object: Literal["list"] = "list"
    data: list[ChatModel] = Field(description="models of /v1/chat/completions")
    embedding: list[ModelAnswer]
    rerankers: list[ModelAnswer]
    generators: list[GeneratorAnswer] = Field(description="what a question may name as its model")

    @classmethod
    def of(cls, found: Models, chat_models: Sequence[str]) -> Self:
        """Return the JSON form of the catalogues."""
        return cls(
            data=[ChatModel(id=name) for name in chat_models],
            embedding=[ModelAnswer.of(one) for one in found.embedding],
            rerankers=[ModelAnswer.of(one) for one in found.rerankers],
            generators=[
                GeneratorAnswer(name=one.name, active=one.active, remedy=one.remedy)
                for one in found.generators
            ],
        )


class HealthAnswer(BaseModel):
    """The process answers."""

    status: Literal["ok"]
    version: str


class ReadyAnswer(BaseModel):
    """Searches can be answered."""

    status: Literal["ready"]
    collection: str
    embedding_model: str
    generation: int
    points: int


class ErrorAnswer(BaseModel):
    """Every error has this form; ``code`` is stable."""

    detail: str
    code: str
    request_id: str


class ChatError(BaseModel):
    """An error as OpenAI's clients read it; ``code`` is ours."""

    message: str
    type: str
    param: None = None
    code: str
    request_id: str


class ChatErrorAnswer(BaseModel):
    """The form of an error of a chat completion."""

    error: ChatError


class NotReadyAnswer(ErrorAnswer):
    """What is missing before searches can be answered."""

    missing: list[str]
