"""``rag ask`` and ``rag chat`` as people and programs run them: processes of their own, a model over HTTP."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from model_server import Says, speaking
from support import TEXTS, drop, ingest

from rag_platform.answering.conversation import Turn
from rag_platform.answering.extractive import ExtractiveGenerator
from rag_platform.cli.asking import Asking, Wanted, read_history
from rag_platform.cli.chat import Talk
from rag_platform.cli.render import Format
from rag_platform.errors import CallerError, UpstreamError
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.types import Answer, Passage

ROOT = Path(__file__).parents[2]
RAG = [sys.executable, "-m", "rag_platform.cli"]
TAX = TEXTS["कर सूचना.txt"]
QUESTION = "सम्पत्ति कर कहिलेसम्म तिर्नुपर्छ?"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ask")
    given = {"RAG_HOME": folder / ".rag", "EMBEDDING_MODEL": "hashing", "RAG_WORKERS": 1}
    system = System.from_settings(Settings.load(None, **given))
    drop(system, TEXTS)
    ingest(system)
    return folder


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "EMBEDDING_MODEL": "hashing",
    }


def rag(home: Path, *arguments: str, expect: int = 0, given: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*RAG, *arguments],
        cwd=home,
        env=environment(home),
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == expect, done.stderr
    return done


def test_an_answer_stands_above_its_numbered_sources(home: Path) -> None:
    done = rag(home, "ask", QUESTION, "--where", "source=कर सूचना.txt")
    answer, sources = done.stdout.split("\n\n")
    assert "असार मसान्तभित्र तिर्नुहोला [1]" in answer
    assert sources.splitlines()[0] == "[1] कर सूचना.txt, page 1"
    assert all(line.strip() in TAX for line in sources.splitlines()[1:])
    assert done.stderr == "where source = कर सूचना.txt\n"


def test_json_under_the_name_and_flags_of_the_reference_system(home: Path) -> None:
    flags = "--top-k 10 --top-r 2 --disable-tools -c nepali_docs --embedding hashing --reranker none"
    done = rag(home, "query", QUESTION, *flags.split(), "--strict", "--format", "json")
    reply = json.loads(done.stdout)
    assert set(reply) == {
        *("question", "standalone", "answer", "refused", "mode", "generator", "citations", "unsupported"),
        *("hits", "embedding_model", "generations", "usage", "notes", "searched"),
    }
    assert (reply["refused"], reply["mode"], reply["generations"]) == (
        False,
        "extractive",
        {"nepali_docs": 1},
    )
    assert len(reply["hits"]) == 2
    for citation in reply["citations"]:
        assert TAX[citation["start"] : citation["end"]] == citation["quote"]


def test_a_refusal_is_an_answer(home: Path) -> None:
    reply = json.loads(rag(home, "ask", "चन्द्रमामा पहिलो पाइला कसले टेक्यो?", "--format", "json").stdout)
    assert (reply["refused"], reply["citations"]) == (True, [])
    assert "भेटिएन" in reply["answer"]


def test_the_prompt_is_shown_and_nobody_is_asked(home: Path) -> None:
    done = rag(home, "ask", QUESTION, "--test", "--provider", "openai")
    assert QUESTION in done.stdout
    assert TAX in done.stdout
    assert "[1] कर सूचना.txt" in done.stdout


def test_the_words_of_a_model_come_as_they_are_written(home: Path) -> None:
    script = Says(
        ("सम्पत्ति कर असार मसान्तभित्र ", "तिर्नुहोला [1]। ", "ढिलो तिर्नेलाई ", "जरिवाना लाग्नेछ [1]।"), pause_s=0.5
    )
    with speaking([Says(('["सम्पत्ति कर बुझाउने म्याद"]',)), script]) as model:
        flags = [
            "--expand",
            "1",
            "--provider",
            "openai",
            "--model",
            "m",
            "--api-key",
            "key-1",
            "--llm-base-url",
            model.url,
        ]
        process = subprocess.Popen(
            [*RAG, "ask", QUESTION, "--no-tools", "--temperature", "0.1", *flags],
            cwd=home,
            env=environment(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        begun = os.read(process.stdout.fileno(), 10_000)
        first = time.monotonic()
        rest, err = process.communicate(timeout=60)
        waited = time.monotonic() - first
    shown = (begun + rest).decode()
    told = f"searched: {QUESTION}; सम्पत्ति कर बुझाउने म्याद\n"
    assert (process.returncode, err.decode()) == (0, told)
    assert "असार मसान्तभित्र तिर्नुहोला [1]" in begun.decode()
    assert "जरिवाना" not in begun.decode()
    assert waited > 0.4
    assert "ढिलो तिर्नेलाई जरिवाना लाग्नेछ [1]।\n\n[1] कर सूचना.txt, page 1\n" in shown
    assert (model.bodies[0]["model"], model.bodies[0]["temperature"]) == ("m", 0.1)


def test_chat_reads_a_pipe_and_remembers(home: Path) -> None:
    lines = f"{QUESTION}\n\n/sources\nत्यसमा ढिलो भए?\n/new\n/sources\n/fly\n/quit\nनपढिने\n"
    done = rag(home, "chat", "--top-r", "2", given=lines)
    first, found, *rest = done.stdout.split("\n\n")[0:1] + done.stdout.split("\n\n")[1:]
    assert first.startswith("सम्पत्ति कर असार मसान्तभित्र तिर्नुहोला [1]।")
    assert "[1] कर सूचना.txt, page 1" in first
    assert "[1] कर सूचना.txt, page 1: सुनकोशी" in found
    assert "दश प्रतिशत जरिवाना" in found
    assert "nothing was asked yet" in rest[-1]
    assert "नपढिने" not in done.stdout
    searched, unknown = done.stderr.splitlines()
    assert searched == "searched: सम्पत्ति कर तिर्नुपर्छ: त्यसमा ढिलो भए?"
    assert unknown.startswith("unknown command '/fly'; /sources: ")


class Fickle:
    """A generator whose service fails the first time."""

    name = recipe = "fickle"

    def __init__(self) -> None:
        self._calls = 0

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        self._calls += 1
        if self._calls == 1:
            raise UpstreamError("the service is away; try again later")
        return ExtractiveGenerator().answer(question, passages)


def test_a_question_that_fails_is_told_and_forgotten(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"RAG_HOME": home / ".rag", "EMBEDDING_MODEL": "hashing"}
    system = System.from_settings(Settings.load(None, **given))
    opened = Asking(system, Fickle(), ["nepali_docs"], system.search_options, Wanted())
    talk = Talk(opened, [], Format.json)
    talk.take("नयाँ भर्ना कहिले सुरु हुन्छ?")
    talk.take(QUESTION)
    talk.take("त्यसमा ढिलो भए?")
    out, err = capsys.readouterr()
    first, second = (json.loads(line) for line in out.splitlines())
    assert (talk.n_failed, err.splitlines()[0]) == (1, "error: the service is away; try again later")
    assert first["standalone"] == QUESTION
    assert first["citations"][0]["source"] == "कर सूचना.txt"
    assert "सम्पत्ति कर" in second["standalone"]
    assert "भर्ना" not in second["standalone"]


def read_until(terminal: int, sign: str, limit_s: float = 60) -> str:
    """Return what a terminal shows up to a sign, or to the end of the program behind it."""
    seen, deadline = b"", time.monotonic() + limit_s
    while sign.encode() not in seen:
        assert time.monotonic() < deadline, seen.decode(errors="replace")
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # Linux says so when the program is gone
            break
    return seen.decode(errors="replace")


def test_chat_at_a_terminal_has_a_prompt_and_ends_with_the_input(home: Path) -> None:
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*RAG, "chat"],
        cwd=home,
        env=environment(home) | {"TERM": "dumb"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    try:
        assert "ask the documents; /sources" in read_until(controller, "> ")
        os.write(controller, f"{QUESTION}\n".encode())
        shown = read_until(controller, "\r\n\r\n> ")
        os.write(controller, b"\x04")
        read_until(controller, "the end of the program")
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(controller)
    assert "असार मसान्तभित्र तिर्नुहोला [1]" in shown
    assert "[1] कर सूचना.txt, page 1" in shown


def test_a_model_without_a_provider_is_refused_in_one_line(home: Path) -> None:
    done = rag(home, "ask", "कर?", "--model", "gemma4", expect=1)
    assert done.stdout == ""
    assert done.stderr == ("error: whose model is 'gemma4'? Name its provider: --provider, or LLM_PROVIDER\n")


TURNS: list[Any] = [
    {"role": "user", "content": "कर कति हो?"},
    {"role": "assistant", "content": "दश प्रतिशत [1]।"},
]


def test_a_history_is_a_file_or_json(tmp_path: Path) -> None:
    expected = [Turn("user", "कर कति हो?"), Turn("assistant", "दश प्रतिशत [1]।")]
    written = json.dumps(TURNS, ensure_ascii=False)
    file = tmp_path / "इतिहास.json"
    file.write_text(f"\ufeff{written}", encoding="utf-8")
    assert read_history(written) == read_history(f" \n{written}") == read_history(str(file)) == expected
    assert read_history(None) == read_history("[]") == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("नभएको.json", "cannot read the history नभएको.json: No such file"),
        ("[1]", "is not of the form"),
        ('[{"role": "user"}]', "is not of the form"),
        ('{"role": "user", "content": "x"}', "is not of the form"),
        ('[{"role": "user", "content": 5}]', "holds 'user': 5"),
        ('[{"role": "system", "content": "x"}]', "holds 'system'"),
        ("[", "is not of the form"),
    ],
)
def test_what_is_no_history_is_refused(given: str, says: str) -> None:
    with pytest.raises(CallerError) as refused:
        read_history(given)
    assert says in str(refused.value)
    assert '[{"role": "user", "content": "..."}' in str(refused.value)
