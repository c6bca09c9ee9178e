"""``rag evaluate answers`` against the real service, and against one that fails."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from http_service import served, wire
from local_server import serving
from support import drop, ingest
from sweeping_set import CASES, TEXTS, write_set
from typer.testing import CliRunner

from rag_platform.cli.app import app
from rag_platform.errors import CallerError, UpstreamError
from rag_platform.evaluation.datasets import Dataset, Label
from rag_platform.evaluation.layouts import load_dataset
from rag_platform.evaluation.ranking import parse_measure
from rag_platform.evaluation.service import Report, ServedHit, Service, _finds, score_service
from serving.app import create_app

HIT = parse_measure("hit@1")
NDCG = parse_measure("nDCG@10")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("set") / "पहाड र ताल")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real service over the set's documents, in a folder of its own."""
    system = wire(tmp_path_factory.mktemp("home"))
    drop(system, {f"सङ्ग्रह/{source}": text for source, text in TEXTS.items()})
    ingest(system)
    with served(create_app(system=system)) as client:
        yield str(client.base_url)


@pytest.fixture(scope="module")
def dataset(folder: Path) -> Dataset:
    return load_dataset(str(folder))


def asked(report: Report, case_id: str) -> Any:
    return next(one for one in report.asked if one.case.case_id == case_id)


def test_a_running_service_is_scored(url: str, dataset: Dataset) -> None:
    with Service(url) as service:
        report = score_service(service, dataset, [HIT, NDCG])
    assert report.failed == []
    lake = asked(report, "ताल-१")
    assert "मुगु" in lake.reply.answer.text
    assert lake.measured["hit@1"].value == 1.0
    assert asked(report, "ताल-२").measured["hit@1"].value == 1.0, "by the words of its quote"
    none = asked(report, "none-1").measured
    assert (none["hit@1"].status, none["F1"].status) == ("skipped", "skipped")
    summaries = report.summaries
    assert (summaries["answered"].n_queries, summaries["refusal"].n_queries) == (3, 4)
    assert summaries["faithful"].value == summaries["citations"].value == 1.0
    assert (summaries["hit@1"].n_queries, summaries["hit@1"].n_skipped) == (3, 1)
    assert report.refusals.n_unanswerable == 1
    assert set(report.by_kind) == {"lookup", "english", "unanswerable"}
    assert report.by_kind["lookup"]["hit@1"].value == 1.0


def test_the_command_gives_a_table_and_json(url: str, folder: Path) -> None:
    command = ["evaluate", "answers", str(folder), "--url", url]
    table = CliRunner().invoke(app, command)
    assert table.exit_code == 0, table.output
    header, *lines = table.stdout.splitlines()
    assert header.split() == ["measure", "mean", "n", "failed", "skipped", "at", "least"]
    (line,) = (line for line in lines if line.startswith("hit@1"))
    assert line.split() == ["hit@1", "1.000", "[1.000,", "1.000]", "3", "0", "1", "1.000"]
    assert "precision" in table.stderr
    done = CliRunner().invoke(app, [*command, "--k", "2", "--format", "json"])
    value = json.loads(done.stdout)
    assert (value["n_questions"], value["n_failed"], value["generators"]) == (4, 0, ["extractive"])
    assert value["asked_with"] == {"k": 2}
    assert set(value["measures"]["F1"]) == {
        "value", "ci_low", "ci_high", "floor", "n_queries", "n_failed", "n_skipped",
    }  # fmt: skip
    assert set(value["refusals"]) >= {"precision", "recall", "answered"}
    assert [one["id"] for one in value["questions"]] == [case["id"] for case in CASES]
    assert all(len(one["sources"]) <= 2 for one in value["questions"])
    assert value["seconds_a_query"]["p50"] > 0


def test_what_the_service_refuses_is_counted_for_every_question(url: str, folder: Path) -> None:
    command = ["evaluate", "answers", str(folder), "--url", url, "--collection", "नभएको"]
    done = CliRunner().invoke(app, [*command, "--format", "json"])
    value = json.loads(done.stdout)
    assert (done.exit_code, value["n_failed"]) == (1, 4)
    assert "answered 404" in value["questions"][0]["reason"]
    assert (value["measures"]["F1"]["value"], value["measures"]["F1"]["floor"]) == (None, 0.0)
    assert value["measures"]["F1"]["n_failed"] == 3
    assert value["measures"]["F1"]["n_skipped"] == 1, "an unanswerable question has no reference"
    assert "4 of 4 questions failed" in done.stderr


def test_failures_stay_beside_what_was_answered(dataset: Dataset) -> None:
    def reply(_: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]] | dict[str, Any]:
        if "मन्दिर" in body["question"]:
            return 500, {"detail": "broken"}
        if "water" in body["question"]:
            return {"answer": "no hits here"}
        source = "ताल/documents/रारा.txt"
        hit = {"source": source, "text": TEXTS[source], "score": 0.9, "page_first": 1, "page_last": 1}
        if "रारा" not in body["question"]:
            return {"answer": "दिइएका स्रोतमा यस प्रश्नको जवाफ भेटिएन।", "refused": True, "hits": [hit]}
        if len(local.requests) == 1:
            return 503, {"detail": "busy"}
        return {"answer": "रारा ताल मुगु जिल्लामा छ [1]।", "refused": False, "hits": [hit]}

    with serving(reply) as local, Service(f"{local.url}/", first_wait_s=0.01) as service:
        report = score_service(service, dataset, [HIT])
    assert len(local.requests) == 5, "a busy service is asked again, a broken one is not"
    assert [one.case.case_id for one in report.failed] == ["ताल-२", "water-1"]
    assert "answered 500" in report.failed[0].reason
    assert "refused: Field required" in report.failed[1].reason
    found = report.summaries
    assert (found["hit@1"].value, found["hit@1"].floor) == (1.0, 1 / 3)
    assert (found["hit@1"].n_queries, found["hit@1"].n_failed, found["hit@1"].n_skipped) == (1, 2, 1)
    assert (found["citations"].n_queries, found["citations"].n_failed) == (1, 2)
    refusals = report.refusals
    assert (refusals.precision, refusals.recall, refusals.answered) == (1.0, 1.0, 1 / 3)


def test_a_service_that_is_not_there_is_an_error_at_once(dataset: Dataset) -> None:
    with serving(lambda _, __: {}) as local:
        gone = local.url
    with Service(gone) as service, pytest.raises(UpstreamError, match="check that it runs"):
        score_service(service, dataset, [HIT])
    for wrong in ("127.0.0.1:8000", "http://[", "http://host:द्वार"):
        with pytest.raises(CallerError, match="is no address of a service"):
            Service(wrong)


@pytest.mark.parametrize(
    ("label", "found"),
    [
        (Label("ऐन/documents/कर.pdf"), True),
        (Label("documents/कर.pdf"), True),
        (Label("र/ऐन/documents/कर.pdf"), True),
        (Label("documents/"), True),
        (Label("documents/भूकर.pdf"), False),
        (Label("कर.pdf", page=3), True),
        (Label("कर.pdf", page=4), False),
        (Label("कर.pdf", quote="कर असार  मसान्तभित्र\nतिर्नुपर्छ।"), True),
        (Label("कर.pdf", quote="असार मसान्तभित्र तिर्नुपर्छ। ढिलो भए"), True),
        (Label("कर.pdf", quote="ढिलो भए दश प्रतिशत जरिवाना लाग्छ।"), False),
        (Label("कर.pdf", span=(100, 110)), True),
        (Label("कर.pdf", span=(128, 150)), False),
    ],
)
def test_a_label_is_found_by_source_page_and_words(label: Label, found: bool) -> None:
    hit = ServedHit(
        source="ऐन/documents/कर.pdf",
        text="सम्पत्ति कर असार मसान्तभित्र तिर्नुपर्छ।",
        score=1.0, page_first=2, page_last=3, start=95, end=135,
    )  # fmt: skip
    assert _finds(hit, label) is found


def test_a_report_of_nothing_has_no_means(dataset: Dataset) -> None:
    report = Report(dataset, "http://127.0.0.1:8000")
    assert (report.summaries, report.failed, report.refusals.n_refused) == ({}, [], 0)
