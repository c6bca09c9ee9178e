"""Every command and flag of the reference system (nepali-rag 0.1) exists here, under its name or an alias."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer

from rag_platform.cli.app import app

ROOT = Path(__file__).parents[2]
RAG = [sys.executable, "-m", "rag_platform.cli"]

REFERENCE: dict[str, tuple[str, set[str]]] = {
    "ingest": (
        "FILE...",
        {"--qdrant-url", "--qdrant-api-key", "-c", "--collection", "--chunk-size", "--embedding", "-v"},
    ),
    "query": (
        "QUESTION",
        {
            *("--qdrant-url", "--qdrant-api-key", "-c", "--collection", "--provider", "--model", "--api-key"),
            *("--llm-base-url", "--temperature", "--top-k", "--top-r", "--history", "--test"),
            *("--disable-tools", "--embedding", "--reranker", "-v"),
        },
    ),
    "serve": ("", {"--env-file", "--host", "--port", "--reload", "-v"}),
    "mcp": ("", {"--no-init", "-v"}),
    "eval-generate": (
        "DATASET",
        {"--embeddings", "--rerankers", "--output-dir", "--async", "--max-concurrent"},
    ),
    "eval-score": ("DATASET", {"--embeddings", "--rerankers", "--output-dir", "--async", "--max-concurrent"}),
}
OURS = {
    "ask": {"--history", "--no-tools", "--prompt", "--provider", "--model", "--top-k", "--top-r", "--where"},
    "chat": {"--history", "--no-tools", "--provider", "--model", "--top-k", "--top-r", "--where", "--strict"},
    "search": {"--top-k", "--top-r", "--k", "--candidates", "--mode", "--weights", "--explain", "--where"},
    "mcp": {"--transport", "--host", "--port"},
}
WITHOUT_DATA = {"serve", "mcp", "questions review"}
"""Servers and dialogues write no data that could have a format."""


def commands() -> Iterator[tuple[str, click.Command]]:
    def below(group: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
        found = getattr(group, "commands", None)
        if found is None:
            yield name, group
            return
        for part, command in found.items():
            yield from below(command, f"{name} {part}".strip())

    yield from below(typer.main.get_command(app), "")


COMMANDS = dict(commands())


def flags(command: click.Command) -> set[str]:
    return {flag.strip() for one in command.params for flag in (*one.opts, *one.secondary_opts)}


@pytest.mark.parametrize("name", REFERENCE)
def test_every_command_and_flag_of_the_reference_system_is_here(name: str) -> None:
    command = COMMANDS[name]
    argument, expected = REFERENCE[name]
    assert expected <= flags(command)
    arguments = [
        one for one in command.params if isinstance(one, click.Argument) or one.param_type_name == "argument"
    ]
    assert len(arguments) == (1 if argument else 0)
    if argument:
        assert arguments[0].required
        assert (arguments[0].nargs == -1) == argument.endswith("...")


@pytest.mark.parametrize("name", OURS)
def test_our_own_commands_have_their_flags(name: str) -> None:
    assert OURS[name] <= flags(COMMANDS[name])


@pytest.mark.parametrize("name", COMMANDS)
def test_settings_file_log_and_format_are_everywhere(name: str) -> None:
    known = flags(COMMANDS[name])
    assert {"--env-file", "-v", "--verbose"} <= known
    assert ("--format" in known) == (name not in WITHOUT_DATA)
    assert COMMANDS[name].help


def test_help_shows_our_names_alone() -> None:
    hidden = {name for name, command in COMMANDS.items() if command.hidden}
    assert hidden == {"query", "eval-generate", "eval-score"}


def rag(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), **more}
    return subprocess.run(
        [*RAG, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("shell", "asked", "answered"),
    [
        ("bash", {"COMP_WORDS": "rag co", "COMP_CWORD": "1"}, "collections\ncompare"),
        ("bash", {"COMP_WORDS": "rag search --mode le", "COMP_CWORD": "3"}, "lexical"),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "rag ch"}, '"chat":"Talk with the documents'),
        ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": "rag ch"}, "chat\tTalk"),
    ],
)
def test_the_shell_completes(tmp_path: Path, shell: str, asked: dict[str, str], answered: str) -> None:
    done = rag(tmp_path, _RAG_COMPLETE=f"complete_{shell}", **asked)
    assert answered in done.stdout
    assert done.stderr == ""


def test_a_settings_file_reaches_ask(tmp_path: Path) -> None:
    (tmp_path / "my.env").write_text("RAG_HOME=elsewhere\nLLM_PROVIDER=groq\n", encoding="utf-8")
    done = rag(tmp_path, "query", "कर?", "--env-file", "my.env")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"nothing is stored at {tmp_path / 'elsewhere'} yet" in done.stderr


@pytest.mark.slow
def test_the_two_halves_of_an_evaluation(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/कर.txt").write_text("सम्पत्ति कर असार मसान्तभित्र तिर्नुहोला।", encoding="utf-8")
    (tmp_path / "q.csv").write_text(
        "question,answer,source\nसम्पत्ति कर कहिलेसम्म तिर्ने?,असार मसान्तभित्र,कर.txt\n", encoding="utf-8"
    )
    grid = ["q.csv", "--documents", "docs", "--embeddings", "hashing", "--rerankers", "none"]
    more = ["--output-dir", "out", "--async", "--max-concurrent", "2", "--format", "json"]
    made = rag(
        tmp_path, "eval-generate", *grid, *more, RAG_WORKERS="1", EVAL_PROVIDER="openai", EVAL_MODEL="m"
    )
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["work"]["answers"] == 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "run.json",
        "scores.csv",
        "answers.csv",
        "cells.csv",
    }
    assert "असार मसान्तभित्र" in (tmp_path / "out/answers.csv").read_text(encoding="utf-8")
    scored = rag(tmp_path, "eval-score", *grid)
    assert (scored.returncode, scored.stdout) == (1, "")
    assert scored.stderr == "error: scores need a judge: set EVAL_PROVIDER and EVAL_MODEL\n"
