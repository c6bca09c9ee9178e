"""The table of commands, and how the program ends: exit codes, errors, interrupts and broken pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from rag_platform import __version__
from rag_platform.cli.ask import ask
from rag_platform.cli.audit import audit
from rag_platform.cli.calibrate import calibrate
from rag_platform.cli.chat import chat
from rag_platform.cli.evaluate import evaluate
from rag_platform.cli.ingest import delete, ingest
from rag_platform.cli.keys import keys
from rag_platform.cli.leaderboard import compare, gate, leaderboard, report
from rag_platform.cli.listing import collections, doctor, documents, models
from rag_platform.cli.mcp import mcp
from rag_platform.cli.parse import parse
from rag_platform.cli.questions import questions
from rag_platform.cli.reference import eval_generate, eval_score
from rag_platform.cli.render import say, use_utf8
from rag_platform.cli.runs import runs
from rag_platform.cli.search import search
from rag_platform.cli.serve import serve
from rag_platform.cli.sweep import sweep
from rag_platform.cli.webhooks import webhooks
from rag_platform.errors import RagError
from rag_platform.privacy import keep_private

__all__ = ["app", "main"]

app = typer.Typer(
    name="rag",
    help="Nepali documents in, searchable and cited collections out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code; ``arguments`` default to the process's."""
    use_utf8()
    keep_private()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except RagError as error:
        say(f"error: {error}")
        code = 1
    except BrokenPipeError:  # the reader (``| head``) has enough
        _close_stdout()
        code = 141
    except OSError as error:
        if error.filename is not None:  # not the output, so a fault of ours
            raise
        _close_stdout()
        say(f"error: the output cannot be written: {error.strerror}; write it elsewhere")
        code = 1
    if code == 130:
        say("interrupted; what was finished is kept, repeat the command to go on")
    sys.exit(code)


def _close_stdout() -> None:
    """Send what is left of the output nowhere, so that Python's own flush at exit does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: Sequence[str] | None) -> int:
    try:
        app(arguments, prog_name="rag")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        return 130
    return 0


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"rag-platform {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Nepali documents in, searchable and cited collections out."""


for _command in (
    ingest,
    delete,
    search,
    ask,
    chat,
    parse,
    audit,
    documents,
    collections,
    models,
    calibrate,
    sweep,
    serve,
    mcp,
    webhooks,
    leaderboard,
    report,
    compare,
    gate,
    doctor,
):
    app.command()(_command)
for _name, _alias in (("query", ask), ("eval-generate", eval_generate), ("eval-score", eval_score)):
    app.command(_name, hidden=True)(_alias)  # the reference system's names
app.add_typer(evaluate)
app.add_typer(questions)
app.add_typer(runs)
app.add_typer(keys)
