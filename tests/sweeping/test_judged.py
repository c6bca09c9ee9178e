"""A sweep with the real judge, DeepEval's metrics and LiteLLM, behind a real server that fails as told."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from judge_server import BROKEN, BUSY, CUT_OFF, NO_JSON, JudgeServer, judging
from sweeping_set import write_set

from rag_platform.evaluation.judge import DEEPEVAL_METRICS
from rag_platform.evaluation.results import Cell, Run
from rag_platform.evaluation.sweep import Report
from rag_platform.sweeping.planning import plan_sweep
from rag_platform.sweeping.request import SweepRequest
from rag_platform.sweeping.wiring import Bench, open_sweep
from rag_platform.system import System

# LiteLLM keeps clients and an event loop for the life of the process, and warns of its own types
_MISSING = [name for name in ("deepeval", "litellm") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(_MISSING), reason=f"{', '.join(_MISSING)} not installed (extra judge)"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
BASE = Cell("hashing", "none")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.chdir(tmp_path)
    with judging() as local:
        yield local


def test_a_judged_sweep_with_faults(
    server: JudgeServer, make_system: Callable[..., System], tmp_path: Path
) -> None:
    """Busy, broken and malformed replies are asked for again; what fails is a status, and tried later."""
    folder = write_set(tmp_path / "set")
    system = make_system(
        EVAL_PROVIDER="openai_compatible",
        EVAL_MODEL="judge",
        EVAL_API_KEY="k",
        EVAL_BASE_URL=server.url,
        TOP_K_RERANK=2,  # the server gives two verdicts to two passages
    )

    def swept() -> tuple[Run, Report]:
        sweep = open_sweep(Bench(system, SweepRequest(str(folder))), [BASE])
        return sweep.run, sweep.over([BASE])

    bench = Bench(system, SweepRequest(str(folder)))
    planned = plan_sweep(bench, [BASE], bench.run([BASE]))
    assert server.n == 0
    server.faults = [BUSY, BROKEN, CUT_OFF, NO_JSON, NO_JSON]  # three malformed ones are an end
    run, report = swept()
    assert report.states[BASE] == ("complete", "")
    assert report.done["judge calls"] <= planned.judge_calls
    assert run.judge.startswith("openai/judge@")
    scores = run.scores()
    judged = scores[scores["measure"].isin(DEEPEVAL_METRICS)]
    assert len(judged) == 4 * 5
    assert judged["status"].value_counts()["failed"] == 1
    failed = judged[judged["status"] == "failed"].iloc[0]
    assert "no usable answer in 3 attempts" in failed["reason"]
    average = scores[scores["measure"] == "Retrieval Avg"].set_index("query_id")["status"]
    assert average["ताल-२"] == "ok"
    assert (judged["tokens"] > 0).any()
    refused = judged[(judged["query_id"] == "none-1") & (judged["measure"] == "Faithfulness")].iloc[0]
    assert (refused["status"], refused["reason"]) == ("skipped", "refused: there is no claim to judge")

    asked = server.n
    run, report = swept()
    assert set(run.scores().query("measure in @DEEPEVAL_METRICS")["status"]) == {"ok", "skipped"}
    assert 0 < server.n - asked <= 4, "only what had failed was asked for"
    asked = server.n
    swept()
    assert server.n == asked, "a finished sweep asks nothing"
