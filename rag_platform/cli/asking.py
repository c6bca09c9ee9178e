"""What ``rag ask`` and ``rag chat`` share: their options, who answers, histories, and how answers look.

How an answer is made stands in ``rag_platform.answering``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from rag_platform.cli.options import (
    Embedding,
    EnvFile,
    QdrantKey,
    QdrantUrl,
    Verbose,
    open_settings,
    open_system,
)
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
    "Asking",
    "Wanted",
    "asking",
    "cited_lines",
    "found_lines",
    "open_asking",
    "read_history",
    "reply_value",
    "spoken",
    "told_lines",
]

_NO_MODEL = ("extractive", "prompt")
"""Who answers without a provider."""
_QUOTE = 160


def _answer(*names: str, help: str, **more: Any) -> Any:  # noqa: A002, ANN401
    return typer.Option(*names, help=help, rich_help_panel="Who answers", show_default=False, **more)


def _search(*names: str, help: str, **more: Any) -> Any:  # noqa: A002, ANN401
    return typer.Option(*names, help=help, rich_help_panel="What is searched", show_default=False, **more)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the flags of a command say; None and empty: as the settings have it."""

    history: Annotated[
        str | None,
        _answer(
            "--history",
            help='What was said before: [{"role": "user", "content": "..."}, ...].',
            metavar="FILE|JSON",
        ),
    ] = None
    strict: Annotated[bool, _answer("--strict", help="Leave out what the documents do not support.")] = False
    tools: Annotated[
        bool | None,
        _answer("--tools/--no-tools", " /--disable-tools", help="Whether the model may search by itself."),
    ] = None
    expand: Annotated[
        int | None,
        _answer("--expand", help="Other wordings that the model writes to search, too.", min=0, max=4),
    ] = None
    provider: Annotated[
        str | None, _answer("--provider", help="ollama, openai, ...; extractive: no model.")
    ] = None
    model: Annotated[str | None, _answer("--model", help="As the provider calls it.")] = None
    api_key: Annotated[str | None, _answer("--api-key", help="Better in LLM_API_KEY: others see flags.")] = (
        None
    )
    llm_base_url: Annotated[str | None, _answer("--llm-base-url", help="Address of the provider.")] = None
    temperature: Annotated[float | None, _answer("--temperature", help="0 repeats itself.", min=0, max=2)] = (
        None
    )
    top_r: Annotated[int | None, _search("--top-r", "--k", help="Passages.", min=1)] = None
    top_k: Annotated[
        int | None, _search("--top-k", "--candidates", help="Candidates of each part.", min=1)
    ] = None
    where: Annotated[
        list[str] | None, _search("--where", help="As year=2081; repeatable.", metavar="FILTER")
    ] = None
    collection: Annotated[
        list[str] | None, _search("-c", "--collection", help="Named corpus; repeatable.")
    ] = None
    reranker: Annotated[str | None, _search("--reranker", help="Reads the candidates again.")] = None
    embedding: Embedding = None
    qdrant_url: QdrantUrl = None
    qdrant_api_key: QdrantKey = None
    env_file: EnvFile = None
    verbose: Verbose = False


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has, instead of its parameter ``wanted``, each field of ``Wanted`` as a flag."""
    flags, hints = fields(Wanted), get_type_hints(command, include_extras=True)
    own = [one for name, one in signature(command).parameters.items() if name != "wanted"]

    @wraps(command)
    def expanded(**given: Any) -> None:  # noqa: ANN401
        command(wanted=Wanted(**{flag.name: given.pop(flag.name) for flag in flags}), **given)

    types = {one.name: hints[one.name] for one in own} | get_type_hints(Wanted, include_extras=True)
    shared = [Parameter(flag.name, Parameter.KEYWORD_ONLY, default=flag.default) for flag in flags]
    named = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own]
    parameters = [one.replace(annotation=types[one.name]) for one in (*named, *shared)]
    expanded.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = types
    return expanded


@dataclass(frozen=True, slots=True)
class Asking:
    """An open platform with who answers and what is searched."""

    system: System
    generator: Generator
    collections: Sequence[str]
    options: SearchOptions
    wanted: Wanted

    def stream(self, question: str, history: Sequence[Turn]) -> Iterator[Event]:
        """Yield the sources, the words of the answer, and the reply."""
        return self.system.asker.stream(
            question,
            collection=self.collections,
            model=self.system.embedding().name,
            options=self.options,
            history=history,
            strict=self.wanted.strict,
            generator=self.generator,
            tools=self.wanted.tools,
            expand=self.wanted.expand,
        )


def open_asking(wanted: Wanted) -> Asking:
    """Open the platform and say how filters were understood.

    Raises:
        CallerError: A model without a provider; a filter that means nothing.
    """
    from rag_platform.retrieval.filters import parse_filters

    filters = parse_filters(wanted.where or ())
    settings = open_settings(
        wanted.env_file,
        wanted.verbose,
        LLM_API_KEY=wanted.api_key,
        LLM_BASE_URL=wanted.llm_base_url,
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
        list(wanted.collection or ()) or [settings.collection_name],
        replace(system.search_options, where=filters.conditions),
        wanted,
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
    except (ValueError, KeyError, TypeError, RecursionError) as error:
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


def told_lines(reply: Reply) -> list[str]:
    """Return what a reader should know of how an answer was made: notes, and what was searched."""
    others = [one for one in reply.searched if one != reply.question]
    return [*reply.notes, *([f"searched: {'; '.join(reply.searched)}"] if others else [])]


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
        "searched": list(reply.searched),
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
