"""``rag chat``: a conversation with the documents, at a terminal or through a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from rag_platform.cli.asking import (
    Asking,
    Wanted,
    asking,
    cited_lines,
    found_lines,
    open_asking,
    read_history,
    reply_value,
    spoken,
    told_lines,
)
from rag_platform.cli.options import Output
from rag_platform.cli.render import Format, say
from rag_platform.errors import RagError

if TYPE_CHECKING:
    from rag_platform.answering.conversation import Turn
    from rag_platform.answering.reply import Reply

__all__ = ["Talk", "chat"]

_HELP = "/sources: all that was found for the last answer; /new: forget what was said; /quit: leave"


@asking
def chat(wanted: Wanted, output: Output = Format.table) -> None:
    """Talk with the documents: a question a line, follow-ups are understood.

    /sources, /new and /quit are commands. Through a pipe, or with --format json (an answer a line), exit code
    1 when a question could not be answered.
    """
    talk = Talk(open_asking(wanted), read_history(wanted.history), output)
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
        for line in told_lines(reply):
            say(line)
        if self._output is Format.json:
            self._write([json.dumps(reply_value(reply), ensure_ascii=False)])
        else:
            self._write([*cited_lines(reply), ""])

    def _write(self, lines: list[str]) -> None:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
