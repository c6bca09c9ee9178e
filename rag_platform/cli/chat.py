"""``rag chat``: a conversation with the documents, at a terminal or through a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from rag_platform.cli import asking
from rag_platform.cli.asking import (
    Asking,
    Wanted,
    cited_lines,
    found_lines,
    open_asking,
    read_history,
    reply_value,
    spoken,
)
from rag_platform.cli.options import Embedding, EnvFile, Output, QdrantKey, QdrantUrl, Verbose
from rag_platform.cli.render import Format, say
from rag_platform.errors import RagError

if TYPE_CHECKING:
    from rag_platform.answering.conversation import Turn
    from rag_platform.answering.reply import Reply

__all__ = ["Talk", "chat"]

_HELP = "/sources: all that was found for the last answer; /new: forget what was said; /quit: leave"


def chat(
    history: asking.History = None,
    strict: asking.Strict = False,
    tools: asking.Tools = None,
    provider: asking.Provider = None,
    model: asking.Model = None,
    api_key: asking.ApiKey = None,
    llm_base_url: asking.BaseUrl = None,
    temperature: asking.Temperature = None,
    top_r: asking.Results = None,
    top_k: asking.Candidates = None,
    where: asking.Where = None,
    collection: asking.Collections = None,
    output: Output = Format.table,
    embedding: Embedding = None,
    reranker: asking.RerankerName = None,
    qdrant_url: QdrantUrl = None,
    qdrant_api_key: QdrantKey = None,
    env_file: EnvFile = None,
    verbose: Verbose = False,
) -> None:
    """Talk with the documents: a question a line, follow-ups are understood.

    /sources, /new and /quit are commands. Through a pipe, or with --format json (an answer a line), exit code
    1 when a question could not be answered.
    """
    turns = read_history(history)
    wanted = Wanted(
        provider=provider,
        model=model,
        api_key=api_key,
        base_url=llm_base_url,
        temperature=temperature,
        top_r=top_r,
        top_k=top_k,
        where=where or (),
        collections=collection or (),
        embedding=embedding,
        reranker=reranker,
        qdrant_url=qdrant_url,
        qdrant_api_key=qdrant_api_key,
        env_file=env_file,
        verbose=verbose,
    )
    talk = Talk(open_asking(wanted, tools=tools, strict=strict), turns, output)
    at_terminal = sys.stdin.isatty()
    if at_terminal:
        say(f"ask the documents; {_HELP}")
    for line in _lines(at_terminal):
        if line in ("/quit", "/exit"):
            break
        talk.take(line)
    if talk.n_failed and not at_terminal:
        raise typer.Exit(1)


def _lines(at_terminal: bool) -> Iterator[str]:
    """Yield what is asked, without blank lines; at a terminal with a prompt and lines that can be edited."""
    if not at_terminal:
        yield from (line for raw in sys.stdin if (line := raw.strip()))
        return
    import readline  # noqa: F401 (input() edits lines once it is imported)

    while True:
        try:
            line = input("> ").strip()
        except EOFError:
            sys.stdout.write("\n")
            return
        if line:
            yield line


class Talk:
    """One conversation; a question that fails leaves no trace in what was said."""

    def __init__(self, opened: Asking, turns: list[Turn], output: Format) -> None:
        self._opened, self._turns, self._output = opened, turns, output
        self._last: Reply | None = None
        self.n_failed = 0

    def take(self, line: str) -> None:
        """Obey a command or answer a question."""
        if line == "/sources":
            self._write(found_lines(self._last.hits) if self._last else ["nothing was asked yet"])
        elif line == "/new":
            self._turns, self._last = [], None
        elif line.startswith("/"):
            say(f"unknown command {line!r}; {_HELP}")
        else:
            self._ask(line)

    def _ask(self, question: str) -> None:
        from rag_platform.answering.conversation import Turn

        try:
            reply = spoken(self._opened.stream(question, self._turns), aloud=self._output is Format.table)
        except RagError as error:
            say(f"error: {error}")
            self.n_failed += 1
            return
        self._turns = [*self._turns, Turn("user", question), Turn("assistant", reply.answer)]
        self._last = reply
        for line in reply.notes:
            say(line)
        if self._output is Format.json:
            self._write([json.dumps(reply_value(reply), ensure_ascii=False)])
        else:
            self._write([*cited_lines(reply), ""])

    def _write(self, lines: list[str]) -> None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
