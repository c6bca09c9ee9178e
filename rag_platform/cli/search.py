"""``rag search``: find passages in the published collection."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from rag_platform.cli.options import (
    Collection,
    Embedding,
    EnvFile,
    Kinds,
    Output,
    QdrantKey,
    QdrantUrl,
    Verbose,
    open_settings,
    open_system,
)
from rag_platform.cli.render import Format, emit, hit_row, hit_value, say

if TYPE_CHECKING:
    from rag_platform.types import Kind

__all__ = ["SearchMode", "search"]


class SearchMode(StrEnum):
    """``types.Mode`` as the command line shows and checks it."""

    hybrid = "hybrid"
    dense = "dense"
    lexical = "lexical"


def search(
    query: Annotated[str, typer.Argument(help="A question, in Nepali, English or romanized Nepali.")],
    k: Annotated[int | None, typer.Option("--k", "--top-r", min=1, help="Results.")] = None,
    candidates: Annotated[
        int | None, typer.Option("--candidates", "--top-k", min=1, help="Candidates of each part.")
    ] = None,
    mode: Annotated[SearchMode | None, typer.Option("--mode", help="Which parts search.")] = None,
    kinds: Kinds = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="FILTER", help="As year=2081 or published>=2080-04; repeatable."),
    ] = None,
    collection: Collection = None,
    output: Output = Format.table,
    embedding: Embedding = None,
    qdrant_url: QdrantUrl = None,
    qdrant_api_key: QdrantKey = None,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Find the passages that answer a question best."""
    from rag_platform.embedding.catalogue import resolve
    from rag_platform.retrieval.filters import parse_filters

    filters = parse_filters(where or [])
    settings = open_settings(
        env_file,
        verbose,
        TOP_K_RERANK=k,
        TOP_K_RETRIEVAL=candidates,
        RAG_MODE=mode,
        QDRANT_URL=qdrant_url,
        QDRANT_API_KEY=qdrant_api_key,
        EMBEDDING_MODEL=embedding,
    )
    system = open_system(settings, must_exist=True)
    result = system.searcher.search(
        query,
        collection=collection or settings.collection_name,
        model=resolve(settings.embedding_model).name,
        options=replace(
            system.search_options,
            kinds=None if kinds is None else cast("list[Kind]", [kind.strip() for kind in kinds.split(",")]),
            where=filters.conditions,
        ),
    )
    for line in filters.understood:
        say(f"where {line}")
    emit(output, {"hits": [hit_value(hit) for hit in result.hits]}, [hit_row(hit) for hit in result.hits])
