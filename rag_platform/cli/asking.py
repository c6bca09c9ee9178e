"""What ``rag ask`` and ``rag chat`` share: their options, who answers, histories, and how answers look.

How an answer is made stands in ``rag_platform.answering``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_platform.cli.options import open_settings, open_system
from rag_platform.cli.render import Row, hit_value, say, snippet, visible
from rag_platform.errors import CallerError, UpstreamError

if TYPE_CHECKING:
    from rag_platform.answering.conversation import Turn
    from rag_platform.answering.reply import Event, Reply
    from rag_platform.protocols import Generator
    from rag_platform.retrieval.options import SearchOptions
    from rag_platform.system import System
    from rag_platform.types import Hit

__all__ = [
    "ApiKey",
    "Asking",
    "BaseUrl",
    "Candidates",
    "Collections",
    "History",
    "Model",
    "Provider",
    "RerankerName",
    "Results",
    "Strict",
    "Temperature",
    "Tools",
    "Wanted",
    "Where",
    "cited_lines",
    "found_lines",
    "open_asking",
    "read_history",
    "reply_value",
    "spoken",
]

_ANSWER, _SEARCH = "Who answers", "What is searched"

Provider = Annotated[
    str | None,
    typer.Option("--provider", help="ollama, openai, ...; extractive: no model.", rich_help_panel=_ANSWER),
]
Model = Annotated[
    str | None, typer.Option("--model", help="As the provider calls it.", rich_help_panel=_ANSWER)
]
ApiKey = Annotated[
    str | None,
    typer.Option("--api-key", help="Better in LLM_API_KEY: others see flags.", rich_help_panel=_ANSWER),
]
BaseUrl = Annotated[
    str | None, typer.Option("--llm-base-url", help="Address of the provider.", rich_help_panel=_ANSWER)
]
Temperature = Annotated[
    float | None, typer.Option("--temperature", min=0, max=2, rich_help_panel=_ANSWER, show_default=False)
]
Tools = Annotated[
    bool | None,
    typer.Option(
        "--tools/--no-tools",
        " /--disable-tools",
        help="Whether the model may search by itself.",
        rich_help_panel=_ANSWER,
        show_default=False,
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Leave out what the documents do not support.", rich_help_panel=_ANSWER),
]
History = Annotated[
    str | None,
    typer.Option(
        "--history",
        metavar="FILE|JSON",
        help='What was said before: [{"role": "user", "content": "..."}, ...].',
        rich_help_panel=_ANSWER,
    ),
]
Results = Annotated[
    int | None, typer.Option("--top-r", "--k", min=1, help="Passages.", rich_help_panel=_SEARCH)
]
Candidates = Annotated[
    int | None,
    typer.Option("--top-k", "--candidates", min=1, help="Candidates of each part.", rich_help_panel=_SEARCH),
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="FILTER", help="As year=2081; repeatable.", rich_help_panel=_SEARCH),
]
Collections = Annotated[
    list[str] | None,
    typer.Option("-c", "--collection", help="Named corpus; repeatable.", rich_help_panel=_SEARCH),
]
RerankerName = Annotated[
    str | None,
    typer.Option("--reranker", help="Reads the candidates again.", rich_help_panel=_SEARCH),
]

_NO_MODEL = ("extractive", "prompt")
"""Who answers without a provider."""
_QUOTE = 160


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the flags of a command say; None and empty: as the settings have it."""

    provider: str | None
    model: str | None
    api_key: str | None
    base_url: str | None
    temperature: float | None
    top_r: int | None
    top_k: int | None
    where: Sequence[str]
    collections: Sequence[str]
    embedding: str | None
    reranker: str | None
    qdrant_url: str | None
    qdrant_api_key: str | None
    env_file: Path | None
    verbose: bool


@dataclass(frozen=True, slots=True)
class Asking:
    """An open platform with who answers and what is searched."""

    system: System
    generator: Generator
    collections: Sequence[str]
    options: SearchOptions
    tools: bool | None
    strict: bool

    def stream(self, question: str, history: Sequence[Turn]) -> Iterator[Event]:
        """Yield the sources, the words of the answer, and the reply."""
        return self.system.asker.stream(
            question,
            collection=self.collections,
            model=self.system.embedding().name,
            options=self.options,
            history=history,
            strict=self.strict,
            generator=self.generator,
            tools=self.tools,
        )


def open_asking(wanted: Wanted, *, tools: bool | None, strict: bool) -> Asking:
    """Open the platform and say how filters were understood.

    Raises:
        CallerError: A model without a provider; a filter that means nothing.
    """
    from rag_platform.retrieval.filters import parse_filters

    filters = parse_filters(wanted.where)
    settings = open_settings(
        wanted.env_file,
        wanted.verbose,
        LLM_API_KEY=wanted.api_key,
        LLM_BASE_URL=wanted.base_url,
        LLM_TEMPERATURE=wanted.temperature,
        TOP_K_RERANK=wanted.top_r,
        TOP_K_RETRIEVAL=wanted.top_k,
        EMBEDDING_MODEL=wanted.embedding,
        RERANKER_MODEL=wanted.reranker,
        QDRANT_URL=wanted.qdrant_url,
        QDRANT_API_KEY=wanted.qdrant_api_key,
    )
    system = open_system(settings, must_exist=True)
    for line in filters.understood:
        say(f"where {line}")
    return Asking(
        system,
        _generator(system, wanted.provider or "", wanted.model or ""),
        list(wanted.collections) or [settings.collection_name],
        replace(system.search_options, where=filters.conditions),
        tools,
        strict,
    )


def _generator(system: System, provider: str, model: str) -> Generator:
    """Return who answers; the owner of the command line may name any model of any provider."""
    for name in (provider, model):
        if name in _NO_MODEL:
            return system.generator(name)
    if not (provider or model):
        return system.generator()
    if not (provider or system.settings.llm_provider):
        raise CallerError(f"whose model is {model!r}? Name its provider: --provider, or LLM_PROVIDER")
    return system.chat_model(provider, model)


def read_history(given: str | None) -> list[Turn]:
    """Return what was said before, from a file, or from JSON itself.

    Raises:
        CallerError: It is no list of messages with role and content.
    """
    from rag_platform.answering.conversation import Turn

    if given is None:
        return []
    form = '[{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]'
    try:
        text = given if given.lstrip().startswith(("[", "{")) else Path(given).read_text(encoding="utf-8-sig")
        turns = [Turn(one["role"], one["content"]) for one in json.loads(text)]
    except OSError as error:
        raise CallerError(
            f"cannot read the history {given}: {error.strerror}; it is a file, or JSON: {form}"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise CallerError(f"the history {snippet(given, 80)} is not of the form {form}") from error
    for turn in turns:
        if not isinstance(turn.content, str) or turn.role not in ("user", "assistant"):
            raise CallerError(f"the history holds {turn.role!r}: {turn.content!r}; its form is {form}")
    return turns


def spoken(events: Iterator[Event], *, aloud: bool) -> Reply:
    """Return the reply at the end; ``aloud`` writes its words to stdout as they come."""
    from rag_platform.answering.reply import Delta, Done

    begun = False
    try:
        for event in events:
            if isinstance(event, Done):
                return event.reply
            if isinstance(event, Delta) and aloud:
                begun = True
                sys.stdout.write(visible(event.text))
                sys.stdout.flush()
    finally:
        if begun:  # what breaks off is told on a line of its own
            sys.stdout.write("\n")
    raise UpstreamError("the answer was cut off; ask again")


def cited_lines(reply: Reply) -> list[str]:
    """Return the numbered sources of an answer: where each stands and what it says, exactly.

    A source that no sentence cites is left out.
    """
    lines = []
    for marker in dict.fromkeys(sorted(one.marker for one in reply.citations)):
        quotes = [one for one in reply.citations if one.marker == marker]
        lines.append(f"[{marker}] {quotes[0].source}, page {quotes[0].page}")
        said = dict.fromkeys((one.quote, one.verified) for one in quotes)
        lines += [f"    {snippet(quote, _QUOTE)}{'' if sure else '  (not verified)'}" for quote, sure in said]
    return [visible(line) for line in lines]


def found_lines(hits: Sequence[Hit]) -> list[str]:
    """Return all passages that were found, cited or not."""
    return [
        visible(
            f"[{number}] {hit.chunk.source}, page {hit.chunk.page_first}: {snippet(hit.chunk.text, _QUOTE)}"
        )
        for number, hit in enumerate(hits, start=1)
    ]


def reply_value(reply: Reply) -> Row:
    """Return a reply for JSON, under the names of the HTTP service."""
    return {
        "question": reply.question,
        "standalone": reply.standalone,
        "answer": reply.answer,
        "refused": reply.refused,
        "mode": reply.mode,
        "generator": reply.generator,
        "citations": [asdict(one) for one in reply.citations],
        "unsupported": [asdict(one) for one in reply.unsupported],
        "hits": [hit_value(hit) for hit in reply.hits],
        "embedding_model": reply.model,
        "generations": dict(reply.generations),
        "usage": asdict(reply.usage),
        "notes": list(reply.notes),
    }
