import json
import logging
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("deepeval", reason="deepeval is not installed (extra judge)")
pytest.importorskip("litellm", reason="litellm is not installed (extra judge)")

from judge_server import (
    BROKEN,
    BUSY,
    CUT_OFF,
    EMPTY,
    NO_BODY,
    NO_JSON,
    WRONG_SCHEMA,
    Fault,
    JudgeServer,
    judging,
)

from rag_platform.errors import UnknownName
from rag_platform.evaluation.judge import (
    CALLS_A_METRIC,
    DEEPEVAL_METRICS,
    METRICS,
    Judge,
    JudgeCase,
    JudgeEndpoint,
    Scored,
    load_judge,
    retrieval_average,
)

KEY = "secret-77a0c"
CASE = JudgeCase(
    "सम्पत्ति कर कहिलेसम्म तिर्नुपर्छ?",
    "कर मङ्सिरमा तिर्नुपर्छ। छुट १० प्रतिशत छ।",
    ("कर मङ्सिर २० गतेभित्र तिर्नुपर्छ।", "राजस्व शाखा कोठा नम्बर १०४ मा छ।"),
    "मङ्सिर २० गते।",
)
# LiteLLM keeps clients and an event loop for the life of the process, and warns of its own types
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    monkeypatch.chdir(tmp_path)
    with judging() as local:
        yield local


def judge(local: JudgeServer, home: Path | None = None, **options: Any) -> Judge:
    endpoint = JudgeEndpoint("openai/judge", local.url, KEY)
    return load_judge(endpoint, home, **{"timeout_s": 5.0, "first_wait_s": 0.01, **options})


def test_the_five_metrics_and_two_of_our_own(server: JudgeServer, tmp_path: Path) -> None:
    server.verdict = "no"  # of two verdicts the first is yes
    found = {metric: judge(server).score(CASE, metric) for metric in METRICS}
    assert {metric: one.value for metric, one in found.items()} == {
        "Answer Relevancy": 0.5,
        "Faithfulness": 0.5,
        "Contextual Recall": 0.5,
        "Contextual Precision": 1.0,
        "Contextual Relevancy": 0.5,
        "Natural Nepali": 0.75,
        "Supported Claims": 0.5,
    }
    assert {one.status for one in found.values()} == {"ok"}
    assert found["Supported Claims"].details == ("छुट १० प्रतिशत छ",)
    assert retrieval_average(found).value == pytest.approx((0.5 + 1.0 + 0.5) / 3)
    assert found["Contextual Relevancy"].reason == "कर: कारण; कर: कारण"
    per_context = {"Contextual Relevancy": len(CASE.contexts)}
    assert {metric: one.calls for metric, one in found.items()} == CALLS_A_METRIC | per_context
    assert all(one.tokens == 110 * one.calls for one in found.values())
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert os.listdir(tmp_path) == []  # noqa: PTH208


@pytest.mark.parametrize("fault", [BUSY, BROKEN, NO_BODY, NO_JSON, CUT_OFF, WRONG_SCHEMA, EMPTY])
def test_a_passing_fault_changes_nothing_but_the_number_of_calls(server: JudgeServer, fault: Fault) -> None:
    server.faults = [fault]
    found = judge(server).score(CASE, "Contextual Precision")
    assert (found.status, found.value, found.reason) == ("ok", 1.0, "2 of 2 verdicts are yes")
    assert server.n == 2


def test_a_malformed_reply_is_answered_with_what_is_wrong(server: JudgeServer) -> None:
    server.faults = [WRONG_SCHEMA]
    judge(server).score(CASE, "Contextual Precision")
    first, second = server.bodies
    assert second["messages"][:1] == first["messages"]
    assert second["messages"][1] == {"role": "assistant", "content": WRONG_SCHEMA.content}
    assert "verdicts: Field required" in second["messages"][2]["content"]


@pytest.mark.parametrize(
    ("fault", "n", "why"),
    [
        (NO_JSON, 3, "no JSON object"),
        (CUT_OFF, 3, "no JSON"),
        (Fault(content='{"verdicts": ' + "[" * 20_000 + "}"), 3, "no JSON"),
        (WRONG_SCHEMA, 3, "verdicts: Field required"),
        (EMPTY, 3, "the reply is empty"),
        (BUSY, 5, "answered 429"),
        (BROKEN, 5, "answered 500"),
        (Fault(401), 1, "EVAL_API_KEY"),
        (Fault(content='{"verdicts": []}'), 3, "there are 0 verdicts where 2 are due"),
    ],
)
def test_a_lasting_fault_is_a_status_with_its_reason(
    server: JudgeServer, caplog: pytest.LogCaptureFixture, fault: Fault, n: int, why: str
) -> None:
    server.faults = [fault] * 20
    with caplog.at_level(logging.DEBUG):
        found = judge(server).score(CASE, "Contextual Precision")
    assert (found.status, server.n) == ("failed", n)
    assert math.isnan(found.value)
    assert why in found.reason
    assert KEY not in found.reason + caplog.text


def test_a_call_has_a_time_limit(server: JudgeServer) -> None:
    server.faults = [Fault(delay_s=2.0)]
    start = time.perf_counter()
    found = judge(server, timeout_s=0.3).score(CASE, "Natural Nepali")
    assert (found.status, server.n) == ("ok", 2)
    assert time.perf_counter() - start < 2.0


def test_a_server_without_schemas_is_asked_in_words(server: JudgeServer) -> None:
    answers = iter(
        ['```json\n{"rating": 5, "reason": "ठीक"}\n```', '<think>{</think>{"rating": 1, "reason": "-"}']
    )
    server.faults = [Fault(400), *(Fault(content=one) for one in answers)]
    one = judge(server)
    assert one.score(CASE, "Natural Nepali").value == 1.0
    assert one.score(CASE, "Natural Nepali", repeat=1).value == 0.0
    assert ["response_format" in body for body in server.bodies] == [True, False, False]


def test_what_was_judged_is_never_asked_again(server: JudgeServer, tmp_path: Path) -> None:
    first = judge(server, tmp_path).score(CASE, "Faithfulness")
    again = judge(server, tmp_path).score(CASE, "Faithfulness")
    assert (first.calls, again.calls, server.n) == (3, 0, 3)
    assert (again.value, again.tokens, again.cost) == (first.value, first.tokens, first.cost)
    assert judge(server, tmp_path).score(CASE, "Faithfulness", repeat=1).calls == 3
    told = judge(server, tmp_path, instructions="nepali")
    assert told.score(CASE, "Faithfulness").calls == 3
    assert "छैन" in server.bodies[-1]["messages"][0]["content"]
    assert told.recipe != judge(server, tmp_path).recipe
    assert told.fingerprint(CASE, "Faithfulness") != told.fingerprint(CASE, "Answer Relevancy")


def test_after_a_failure_the_next_run_tries_anew(server: JudgeServer, tmp_path: Path) -> None:
    server.faults = [NO_JSON] * 3
    assert judge(server, tmp_path).score(CASE, "Natural Nepali").status == "failed"
    found = judge(server, tmp_path).score(CASE, "Natural Nepali")
    assert (found.status, found.calls, server.n) == ("ok", 1, 4)
    assert judge(server, tmp_path).score(CASE, "Natural Nepali").calls == 0


def test_what_needs_no_judge_asks_none(server: JudgeServer) -> None:
    refused = JudgeCase("को?", "जवाफ भेटिएन।", CASE.contexts, refused=True)
    nothing = JudgeCase("को?", "कर तिर्नुपर्छ।", (), "मङ्सिर")
    one = judge(server)
    assert one.score(refused, "Faithfulness").status == "skipped"
    assert one.score(refused, "Supported Claims").status == "skipped"
    assert one.score(refused, "Contextual Recall").reason == "there is no reference answer"
    assert one.score(JudgeCase("Who?", "The ward.", CASE.contexts), "Natural Nepali").status == "skipped"
    for metric in ("Faithfulness", "Contextual Recall", "Contextual Precision", "Contextual Relevancy"):
        assert (one.score(nothing, metric).status, one.score(nothing, metric).value) == ("ok", 0.0)
    assert server.n == 0
    with pytest.raises(UnknownName, match="Faithfulness"):
        one.score(CASE, "Faithfullness")


def test_so_many_are_judged_at_once_and_come_in_order(server: JudgeServer) -> None:
    server.delay_s = 0.05
    cases = [JudgeCase(f"प्रश्न {i}", f"जवाफ {i} हो।", CASE.contexts) for i in range(8)]
    found = list(judge(server).score_many(((case, "Natural Nepali") for case in cases), concurrency=3))
    assert [one.status for one in found] == ["ok"] * 8
    assert 2 <= server.most_at_once <= 3
    asked = [body["messages"][-1]["content"] for body in server.bodies]
    assert len(set(asked)) == 8


def test_no_folder_no_file_of_settings_and_no_look_up(server: JudgeServer, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=of-another-program\n")
    script = f"""
import os, socket, sys
def watch(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname") and "127.0.0.1" not in map(str, arguments):
        print("look-up", arguments[:2])
sys.addaudithook(watch)
from rag_platform.evaluation.judge import JudgeCase, JudgeEndpoint, load_judge
judge = load_judge(JudgeEndpoint("openai/judge", {server.url!r}, "k"), None, first_wait_s=0.01)
print(judge.score(JudgeCase("q", "The fee is ten.", ("The fee is ten.",), "ten"), "Faithfulness").status)
print("OPENAI_API_KEY" in os.environ, sorted(os.listdir(".")))
"""
    environment = {
        **os.environ,
        "HOME": str(tmp_path / "nobody"),
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    environment.pop("OPENAI_API_KEY", None)
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert done.stdout.splitlines() == ["ok", "False ['.env']"], done.stdout + done.stderr
    assert not (tmp_path / "nobody").exists()


@pytest.mark.slow
def test_a_kill_repeats_one_call_at_most_and_changes_no_score(server: JudgeServer, tmp_path: Path) -> None:
    server.delay_s, server.verdict = 0.02, "no"
    questions = ["कर कति?", "छुट कति?", "शुल्क कति?"]
    script = f"""
import os, sys
from pathlib import Path
from rag_platform.evaluation.judge import DEEPEVAL_METRICS, JudgeCase, JudgeEndpoint, load_judge
judge = load_judge(JudgeEndpoint("openai/judge", {server.url!r}, "k"), Path({str(tmp_path / "killed")!r}))
for _ in sys.stdin:  # each line a run of its own, so that the libraries are imported once
    run = os.fork()
    if run:
        print(run, flush=True)
        os.waitpid(run, 0)
        continue
    cases = [JudgeCase(one, f"{{one}} दश।", (one, "शाखा।"), "दश") for one in {questions!r}]
    print([judge.score(case, metric).value for case in cases for metric in DEEPEVAL_METRICS], flush=True)
    os._exit(0)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    n_kills = 2
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as runs:
        assert runs.stdin is not None
        assert runs.stdout is not None
        for kill in range(n_kills):
            goal = server.n + 3 + kill
            print(file=runs.stdin, flush=True)
            run = int(runs.stdout.readline())
            while server.n < goal:
                time.sleep(0.002)
            os.kill(run, signal.SIGKILL)
        print(file=runs.stdin, flush=True)
        assert int(runs.stdout.readline())
        killed = json.loads(runs.stdout.readline())
        runs.stdin.close()
    n_killed, server.delay_s = server.n, 0.0
    undisturbed = judge(server, tmp_path / "undisturbed")
    cases = [JudgeCase(one, f"{one} दश।", (one, "शाखा।"), "दश") for one in questions]
    assert killed == [undisturbed.score(case, metric).value for case in cases for metric in DEEPEVAL_METRICS]
    n_undisturbed = server.n - n_killed
    assert n_undisturbed <= n_killed <= n_undisturbed + n_kills


def test_a_mean_of_what_is_not_known_is_not_known() -> None:
    nan = float("nan")
    scores = {
        "Contextual Recall": Scored("ok", 1.0),
        "Contextual Precision": Scored("failed", nan, "no JSON"),
    }
    found = retrieval_average(scores)
    assert (found.status, found.reason) == ("failed", "Contextual Precision: no JSON")
    assert retrieval_average({"Contextual Recall": Scored("ok", 1.0)}).status == "skipped"
