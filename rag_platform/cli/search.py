"""``rag search``: find passages in the published collections, and say why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from rag_platform.cli.options import (
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
from rag_platform.cli.render import Format, Row, emit, explanation_rows, hit_row, hit_value, say

if TYPE_CHECKING:
    from rag_platform.types import Hit, Kind

__all__ = ["SearchAround", "SearchFusion", "SearchMode", "search"]


class SearchMode(StrEnum):
    """``types.Mode`` as the command line shows and checks it."""

    hybrid = "hybrid"
    dense = "dense"
    lexical = "lexical"


class SearchFusion(StrEnum):
    """``types.Fusion`` as the command line shows and checks it."""

    calibrated = "calibrated"
    weighted = "weighted"
    rrf = "rrf"


class SearchAround(StrEnum):
    """``types.Around`` as the command line shows and checks it."""

    nothing = "nothing"
    page = "page"
    section = "section"


_RANKING, _SHOWN = "Ranking", "What is shown"


def search(
    query: Annotated[str, typer.Argument(help="A question, in Nepali, English or romanized Nepali.")],
    k: Annotated[int | None, typer.Option("--k", "--top-r", min=1, help="Results.")] = None,
    candidates: Annotated[
        int | None, typer.Option("--candidates", "--top-k", min=1, help="Candidates of each part.")
    ] = None,
    kinds: Kinds = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="FILTER", help="As year=2081 or published>=2080-04; repeatable."),
    ] = None,
    collection: Annotated[
        list[str] | None, typer.Option("-c", "--collection", help="Named corpus; repeatable.")
    ] = None,
    output: Output = Format.table,
    explain: Annotated[bool, typer.Option("--explain", help="Say why these passages were found.")] = False,
    mode: Annotated[
        SearchMode | None, typer.Option("--mode", help="Which parts search.", rich_help_panel=_RANKING)
    ] = None,
    fusion: Annotated[
        SearchFusion | None,
        typer.Option("--fusion", help="How the parts are fused.", rich_help_panel=_RANKING),
    ] = None,
    weights: Annotated[
        tuple[float, float] | None,
        typer.Option("--weights", help="Of the dense and the lexical part.", rich_help_panel=_RANKING),
    ] = None,
    reranker: Annotated[
        str | None,
        typer.Option(
            "--reranker", help="Reads the candidates again, see `rag models`.", rich_help_panel=_RANKING
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Lowest score of a result.", rich_help_panel=_SHOWN),
    ] = None,
    per_document: Annotated[
        int,
        typer.Option("--per-document", min=0, help="Results of a document; 0: any.", rich_help_panel=_SHOWN),
    ] = 0,
    per_page: Annotated[
        int, typer.Option("--per-page", min=0, help="Results of a page; 0: any.", rich_help_panel=_SHOWN)
    ] = 0,
    distinct: Annotated[
        bool, typer.Option("--distinct", help="Nearly equal passages are one result.", rich_help_panel=_SHOWN)
    ] = False,
    neighbours: Annotated[
        int,
        typer.Option(
            "--neighbours", min=0, help="Passages before and after, in JSON.", rich_help_panel=_SHOWN
        ),
    ] = 0,
    around: Annotated[
        SearchAround,
        typer.Option("--around", help="All of the page or section, in JSON.", rich_help_panel=_SHOWN),
    ] = SearchAround.nothing,
    keywords: Annotated[
        int,
        typer.Option(
            "--keywords", min=0, help="So many telling words of each result.", rich_help_panel=_SHOWN
        ),
    ] = 0,
    embedding: Embedding = None,
    qdrant_url: QdrantUrl = None,
    qdrant_api_key: QdrantKey = None,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Find the passages that answer a question best."""
    from rag_platform.retrieval.filters import parse_filters

    filters = parse_filters(where or [])
    settings = open_settings(
        env_file,
        verbose,
        TOP_K_RERANK=k,
        TOP_K_RETRIEVAL=candidates,
        RAG_MODE=mode,
        RAG_FUSION=fusion,
        RERANKER_MODEL=reranker,
        QDRANT_URL=qdrant_url,
        QDRANT_API_KEY=qdrant_api_key,
        EMBEDDING_MODEL=embedding,
    )
    system = open_system(settings, must_exist=True)
    options = replace(
        system.search_options,
        kinds=None if kinds is None else cast("list[Kind]", [kind.strip() for kind in kinds.split(",")]),
        where=filters.conditions,
        threshold=threshold,
        per_document=per_document,
        per_page=per_page,
        distinct=distinct,
        neighbours=neighbours,
        around=around.value,
        keywords=keywords,
    )
    result = system.searcher.search(
        query,
        collection=collection or settings.collection_name,
        model=system.embedding().name,
        options=options if weights is None else replace(options, weights=weights),
    )
    for line in (*(f"where {line}" for line in filters.understood), *result.explanation.notes):
        say(line)
    reasons = {"explanation": asdict(result.explanation)} if explain else {}
    emit(output, {"hits": [hit_value(hit) for hit in result.hits], **reasons}, _rows(result.hits, explain))
    if explain and output is Format.table:
        emit(output, {}, explanation_rows(result.explanation))


def _rows(hits: Sequence[Hit], explain: bool) -> list[Row]:
    """Return hits for a table, with the scores of the parts where reasons are wanted."""
    plain = [
        {
            **hit_row(hit),
            **({"keywords": ", ".join(hit.keywords)} if any(one.keywords for one in hits) else {}),
        }
        for hit in hits
    ]
    if not explain:
        return plain
    names = list(dict.fromkeys(name for hit in hits for name in hit.scores))
    return [
        {**row, **{name: hit.scores.get(name) for name in names}}
        for row, hit in zip(plain, hits, strict=True)
    ]
