"""``rag questions`` as people run it: a process of its own, a model over HTTP, verdicts through a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from question_corpus import LIBRARY, ROAD, TEXTS, WATER, drafting, passages
from support import drop, ingest
from typer.testing import CliRunner, Result

from rag_platform.cli import app
from rag_platform.cli.questions import drafting_endpoint
from rag_platform.evaluation.layouts import load_dataset
from rag_platform.settings import Settings
from rag_platform.system import System

RAG = [sys.executable, "-m", "rag_platform.cli"]
SAID = {
    LIBRARY: ("पुस्तकालय कुन बार बन्द हुन्छ?", "मङ्गलबार", "प्रत्येक मङ्गलबार बन्द"),
    WATER: ("समितिको सभा कहिले बस्छ?", "२०८१ फागुन १२", "२०८१ साल फागुन १२ गते"),
    ROAD: ("ठूला सवारी कुन पुल भएर जान्छन्?", "सिमलटारको", "सिमलटारको पुल"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    given = {"RAG_HOME": folder / ".rag", "EMBEDDING_MODEL": "hashing", "RAG_WORKERS": 1}
    system = System.from_settings(Settings.load(None, **given))
    drop(system, TEXTS)
    ingest(system)
    return folder


def rag(
    home: Path, *arguments: str, expect: int = 0, given: str = "", **settings: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "EMBEDDING_MODEL": "hashing",
    }
    done = subprocess.run(
        [*RAG, "questions", *arguments],
        cwd=home,
        env=environment | settings,
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == expect, done.stderr
    return done


def draft(prompt: str) -> dict[str, Any]:
    question, answer, evidence = SAID[passages(prompt)[1].strip()]
    return {"question": question, "answer": answer, "evidence": [evidence]}


def answers(query: str, text: str) -> bool:
    return SAID.get(text.strip(), ("",))[0] == query


def test_from_a_collection_to_reviewed_sets(home: Path) -> None:
    with drafting(draft, answers) as server:
        judge = {
            "EVAL_PROVIDER": "openai_compatible",
            "EVAL_MODEL": "m",
            "EVAL_BASE_URL": server.url,
            "EVAL_API_KEY": "secret",
        }
        flags = ["--kinds", "lookup", "--n", "4", "--out", "सेट"]
        done = rag(home, "generate", *flags, "--format", "json", **judge)
        value = json.loads(done.stdout)
        taken = rag(home, "generate", *flags, expect=1, **judge)
    assert (value["questions"], value["by_kind"], value["refused"]) == (3, {"lookup": 3}, {})
    assert value["sets"] == {"dev": "सेट/सेट-dev", "test": "सेट/सेट-test"}
    assert (value["calls"], value["tokens"]) == (6, 660)
    assert "3 of 4 questions were kept" in done.stderr
    assert "no person has seen these questions yet" in done.stderr
    assert taken.stderr == "error: सेट holds questions already; name another folder, or remove it\n"

    done = rag(home, "review", "सेट", given="x\na\nq\n")
    assert "1 of 3\n" in done.stdout
    assert done.stderr == (
        "'x' is none of [a]ccept, [e]dit, [r]eject, [s]kip, [q]uit\n"
        "1 accepted, 0 edited, 0 rejected\n2 questions wait for a verdict\n"
    )
    done = rag(home, "review", "सेट", given="e\nनयाँ प्रश्न के हो?\n\nr\n")
    assert done.stderr == "1 accepted, 1 edited, 1 rejected\nall were reviewed\n"
    sets = [load_dataset(str(home / "सेट" / f"सेट-{name}")) for name in ("dev", "test") if kept(home, name)]
    asked = {case.query: case.reference_answer for one in sets for case in one.cases}
    known = {question: answer for question, answer, _ in SAID.values()}
    assert len(asked) == 2
    assert asked["नयाँ प्रश्न के हो?"] in known.values()
    assert {one.card.annotation for one in sets if one.card} == {"synthetic, reviewed by a person"}


def test_a_plan_first_then_calls_up_to_a_limit_then_the_rest(home: Path) -> None:
    """In this process: each of one's own imports LiteLLM, which takes longer than all the rest."""
    with drafting(draft, answers) as server:
        settings = {
            "RAG_HOME": str(home / ".rag"),
            "EMBEDDING_MODEL": "hashing",
            "EVAL_PROVIDER": "openai_compatible",
            "EVAL_MODEL": "m",
            "EVAL_BASE_URL": server.url,
        }

        def generated(*flags: str) -> Result:
            asked = ["questions", "generate", "--kinds", "lookup", "--n", "3", "--format", "json"]
            return CliRunner().invoke(app, [*asked, *flags], env=settings)

        done = generated("--plan")
        plan = json.loads(done.stdout)
        assert (plan["calls"], plan["cost"], server.n) == ([6, 6], None, 0)
        assert plan["kinds"] == [{"kind": "lookup", "wanted": 3, "kept": 0, "passages": 3, "drafts": 3}]
        assert "to ask openai/m@" in done.stderr
        assert ": 6 calls, about" in done.stderr
        assert "cost: unknown: a price is missing" in done.stderr

        out = str(home / "भाग")
        part = generated("--out", out, "--max-calls", "3")
        assert json.loads(part.stdout)["questions"] == 1
        assert "stopped: the budget of 3 calls is used up; repeat the command with a larger" in part.stderr
        whole = generated("--out", out, "--max-calls", "30")
        value = json.loads(whole.stdout)
        assert (value["questions"], value["calls"], value["stopped"]) == (3, 3, "")
        assert "1 questions come of replies that were kept" in whole.stderr
        assert server.n == 6
        unpriced = generated("--out", str(home / "अर्को"), "--budget", "1")
        assert "the price of openai/m is not known here, so --budget could not" in str(unpriced.exception)
        nowhere = generated()
    assert (nowhere.exit_code, "a folder for the sets is needed" in nowhere.stderr) == (2, True)


def kept(home: Path, name: str) -> bool:
    return (home / "सेट" / f"सेट-{name}" / "cases.jsonl").stat().st_size > 0


def test_the_judge_drafts_before_the_model_that_answers(make_system: Callable[..., System]) -> None:
    llm = {"LLM_PROVIDER": "openai", "LLM_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_MODEL": "answers"}
    judge = {"EVAL_PROVIDER": "vllm", "EVAL_MODEL": "judges", "EVAL_BASE_URL": "http://127.0.0.1:8/v1"}
    one, other = drafting_endpoint(make_system(**llm)), drafting_endpoint(make_system(**llm, **judge))
    assert one.name == "openai/answers@127.0.0.1:9/v1"
    assert other.name == "hosted_vllm/judges@127.0.0.1:8/v1"


def test_without_any_model_the_error_says_what_to_set(home: Path) -> None:
    done = rag(home, "generate", "--out", "खाली", expect=1)
    assert "set EVAL_PROVIDER and EVAL_MODEL, or LLM_PROVIDER" in done.stderr
    assert not (home / "खाली").exists()


def test_questions_of_a_log(home: Path) -> None:
    (home / "log.jsonl").write_text(
        '{"question": "कर कति हो?"}\n{"question": "कर कति हो"}\n', encoding="utf-8"
    )
    done = rag(home, "from-log", "log.jsonl", "--out", "सोधिएका.csv")
    assert done.stderr.startswith("1 questions written to सोधिएका.csv")
    assert (home / "सोधिएका.csv").read_text(
        encoding="utf-8"
    ) == "id,question,language\nasked-1,कर कति हो?,ne\n"
