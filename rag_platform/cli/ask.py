"""``rag ask``: one question, answered from the documents, with its sources."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from rag_platform.cli.asking import (
    Wanted,
    asking,
    cited_lines,
    open_asking,
    read_history,
    reply_value,
    spoken,
    told_lines,
)
from rag_platform.cli.options import Output
from rag_platform.cli.render import Format, emit, say

__all__ = ["ask"]


@asking
def ask(
    question: Annotated[str, typer.Argument(help="In Nepali, English or romanized Nepali.")],
    wanted: Wanted,
    prompt: Annotated[
        bool, typer.Option("--prompt", "--test", help="Show what a model would be told; ask nobody.")
    ] = False,
    output: Output = Format.table,
) -> None:
    """Answer a question from the documents, with sources that are checked, or say that they do not answer.

    Exit code 0 for both; 1 when the service of a model failed.
    """
    turns = read_history(wanted.history)
    opened = open_asking(replace(wanted, provider="prompt") if prompt else wanted)
    reply = spoken(opened.stream(question, turns), aloud=output is Format.table)
    for line in told_lines(reply):
        say(line)
    if output is Format.json:
        emit(output, reply_value(reply), [])
    elif lines := cited_lines(reply):
        sys.stdout.write("\n" + "\n".join(lines) + "\n")
