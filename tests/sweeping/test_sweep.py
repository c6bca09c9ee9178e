"""The sweep by the library alone: counted work, every cell's state, what is done again and what is not."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sweeping_set import CASES, TEXTS, write_questions, write_set

from rag_platform import sanity
from rag_platform.errors import CallerError, InvalidDataset, InvalidSetting, UnknownName, UpstreamError
from rag_platform.evaluation.judge.cases import JudgeCase, Scored
from rag_platform.evaluation.results import Cell, Run
from rag_platform.evaluation.sweep import Report, grid
from rag_platform.sweeping.planning import plan_sweep
from rag_platform.sweeping.request import SweepRequest, collection_of, load_set
from rag_platform.sweeping.wiring import Bench, check_request, open_sweep
from rag_platform.system import System
from rag_platform.types import Answer, Passage, Usage

BASE = Cell("hashing", "none")
MakeSystem = Callable[..., System]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path / "पहाड र ताल")


@pytest.fixture
def system(make_system: MakeSystem) -> System:
    return make_system()


def request(folder: Path, **changes: Any) -> SweepRequest:
    return SweepRequest(str(folder), **changes)


def swept(system: System, wanted: SweepRequest, *cells: Cell) -> tuple[Run, Report]:
    sweep = open_sweep(Bench(system, wanted), cells or [BASE])
    return sweep.run, sweep.over(cells or [BASE])


def values(run: Run, measure: str, cell: Cell = BASE) -> dict[str, float]:
    """Return the ok scores of a cell by question."""
    rows = run.scores()
    rows = rows[(rows["measure"] == measure) & (rows["variant"] == cell.variant) & (rows["status"] == "ok")]
    return dict(zip(rows["query_id"], rows["value"], strict=True))


# Work and results


def test_documents_enter_as_a_collection_and_everything_is_done_once(
    system: System, folder: Path, work: Counter[str]
) -> None:
    variants = {
        "lexical": {"mode": "lexical"},
        "rrf": {"fusion": "rrf"},
        "few": {"candidates": "2", "k": "1"},
    }
    wanted = request(folder, variants=variants)
    cells = grid(["hashing"], ["none"], wanted.variant_names)
    run, report = swept(system, wanted, *cells)
    assert {status for status, _ in report.states.values()} == {"complete"}
    entries = system.catalog.entries(collection_of(load_set(wanted)))
    assert {entry.source for entry in entries} == set(TEXTS)
    assert {entry.status for entry in entries} == {"ok"}
    n_chunks = sum(entry.n_chunks for entry in entries)
    assert work == {"parsed": 4, "passage texts": n_chunks, "query texts": 4}
    assert report.done["searches"] == 4 * 4, "four variants, each searched once a question"
    assert values(run, "hit@1") == {"ताल-१": 1.0, "ताल-२": 1.0, "water-1": 1.0}
    assert set(run.measures) >= {"nDCG@10", "MAP@10", "P@5", "F1", "faithful", "refusal"}

    work.clear()
    again, second = swept(system, wanted, *cells)
    assert again.run_id == run.run_id
    assert (work, second.done) == ({}, {}), "nothing is left to do, and no model is asked"
    assert set(second.states.values()) == {("complete", "")}


def test_rows_say_what_was_not_measured(system: System, folder: Path) -> None:
    run, _ = swept(system, request(folder))
    scores, answers = run.scores(), run.answers()
    unanswerable = scores[scores["query_id"] == "none-1"].set_index("measure")
    assert unanswerable.loc["nDCG@10", ["status", "reason"]].tolist() == [
        "skipped",
        "unanswerable on purpose",
    ]
    assert unanswerable["value"].isna().sum() == len(unanswerable) - 1
    assert unanswerable.loc["refusal", "status"] == "ok"
    assert set(scores["status"]) == {"ok", "skipped"}
    assert len(scores) == 4 * len(run.measures), "a row a question and measure, whatever came of it"
    assert scores["fingerprint"][scores["status"] == "ok"].is_unique
    first = answers.set_index("query_id").loc["ताल-१"]
    assert "मुगु" in first["answer"]
    assert first["sources"][0] == "ताल/documents/रारा.txt"
    assert first["contexts"][0].startswith("रारा ताल मुगु जिल्लामा छ।")
    assert (first["pages"][0], first["reference_answer"]) == (1, "मुगु जिल्लामा।")
    (cell,) = run.cells().to_dict("records")
    assert (cell["status"], cell["n_questions"], cell["gate_passed"]) == ("complete", 4, True)
    assert cell["seconds_retrieve"] > 0
    assert cell["seconds_encode"] > 0


def test_only_what_changed_is_done_again(system: System, folder: Path, work: Counter[str]) -> None:
    run, _ = swept(system, request(folder))
    kept = dict(run.scores().set_index(["query_id", "measure"])["fingerprint"])
    changed = [{**case, "query": "रारा ताल कहाँ पर्छ?"} if case["id"] == "ताल-१" else case for case in CASES]
    write_set(folder, cases=changed)
    work.clear()
    other, report = swept(system, request(folder))
    assert other.run_id != run.run_id, "other questions are another run, beside the first"
    assert report.done == {"searches": 1, "answers": 1}
    assert work == {"query texts": 1}
    now = dict(other.scores().set_index(["query_id", "measure"])["fingerprint"])
    assert all(now[key] == kept[key] for key in kept if key[0] != "ताल-१")

    (folder / "हिमाल/documents/water.txt").write_text("Boil water for three minutes.", encoding="utf-8")
    work.clear()
    _, report = swept(system, request(folder))
    assert work == {"parsed": 1, "passage texts": 1}, "one document is read and embedded again"
    assert report.done["searches"] == 4


def test_a_variant_with_other_chunks_is_read_no_second_time(
    system: System, folder: Path, work: Counter[str]
) -> None:
    wanted = request(folder, variants={"small": {"CHUNK_SIZE": "16", "OVERLAP_RATIO": "0"}})
    before = len(system.catalog.collections())
    run, report = swept(system, wanted, BASE, Cell("hashing", "none", "small"))
    assert {status for status, _ in report.states.values()} == {"complete"}
    assert work["parsed"] == 4
    assert len(system.catalog.collections()) == before + 1, "other chunks stand apart from the collection"
    answers = run.answers()
    longest = answers["contexts"].map(lambda texts: max(map(len, texts))).groupby(answers["variant"]).max()
    assert longest["small"] < longest[""]
    assert values(run, "hit@1", Cell("hashing", "none", "small"))["ताल-२"] == 1.0, "quotes are found again"


def test_a_document_that_left_the_set_leaves_the_collection(system: System, folder: Path) -> None:
    swept(system, request(folder))
    (folder / "हिमाल/documents/सगरमाथा.txt").unlink()
    run, _ = swept(system, request(folder))
    assert "हिमाल/documents/सगरमाथा.txt" not in {s for sources in run.answers()["sources"] for s in sources}


def test_passages_of_beir_are_swept_too(system: System, tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    folder.mkdir()
    corpus = [{"_id": source, "text": text} for source, text in TEXTS.items()]
    queries = [{"_id": case["id"], "text": case["query"]} for case in CASES[:3]]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    labels = "".join(f"{case['id']}\t{case['relevant'][0]['source']}\t1\n" for case in CASES[:3])
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + labels, encoding="utf-8")
    wanted = request(folder, generator="none", variants={"dense": {"mode": "dense"}})
    run, report = swept(system, wanted, BASE, Cell("hashing", "none", "dense"))
    assert set(report.states.values()) == {("complete", "")}
    assert values(run, "hit@1") == {"ताल-१": 1.0, "ताल-२": 1.0, "water-1": 1.0}
    assert set(run.answers()["answer"]) == {""}
    assert "F1" not in run.measures, "without a generator no measure is about answers"


def test_own_questions_need_no_card(system: System, tmp_path: Path) -> None:
    path, documents = write_questions(tmp_path)
    wanted = SweepRequest(str(path), documents=str(documents))
    run, _ = swept(system, wanted)
    assert run.dataset == "प्रश्न"
    assert values(run, "hit@1") == {"1": 1.0, "2": 1.0, "3": 1.0}
    with pytest.raises(CallerError, match="--documents FOLDER"):
        load_set(SweepRequest(str(path)))


# Models that cannot run


def test_cells_that_cannot_run_say_why_and_the_others_go_on(system: System, folder: Path) -> None:
    cells = grid(["BAAI/bge-m3", "hashing"], ["none", "BAAI/bge-reranker-v2-m3"], [""])
    run, report = swept(system, request(folder), *cells)
    states = {cell: status for cell, (status, _) in report.states.items()}
    assert states.pop(BASE) == "complete"
    assert set(states.values()) == {"unavailable"}
    table = run.cells().set_index(["embedding_model", "reranker"])
    assert "hf download BAAI/bge-m3" in table.loc[("BAAI/bge-m3", "none"), "reason"]
    assert (
        "hf download BAAI/bge-reranker-v2-m3" in table.loc[("hashing", "BAAI/bge-reranker-v2-m3"), "reason"]
    )
    assert (table.loc[("BAAI/bge-m3", "none"), "n_questions"], len(run.scores())) == (
        0,
        4 * len(run.measures),
    )


def test_a_model_that_ranks_wrongly_is_refused_or_on_record(
    make_system: MakeSystem, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundled model against pairs whose right and wrong passages are swapped."""
    swapped = tuple(replace(pair, right=pair.wrong[1], wrong=(pair.right,)) for pair in sanity.PAIRS)
    monkeypatch.setattr(sanity, "PAIRS", swapped)
    monkeypatch.setattr(sanity, "_RESULTS", {})
    e5 = Cell("intfloat/multilingual-e5-small", "none")
    cells = (e5, BASE)
    run, report = swept(make_system(), request(folder, generator="none"), *cells)
    assert report.states[BASE][0] == "complete"
    status, reason = report.states[e5]
    assert status == "gate_failed"
    assert "RAG_SANITY_GATE=record" in reason
    assert run.cells().set_index("embedding_model").loc[e5.embedding_model, "reason"] == reason
    run, report = swept(make_system(RAG_SANITY_GATE="record"), request(folder, generator="none"), *cells)
    assert set(report.states.values()) == {("complete", "")}
    passed = run.cells().set_index("embedding_model")["gate_passed"].to_dict()
    assert passed == {"hashing": True, e5.embedding_model: False}


def test_where_no_model_runs_nothing_is_read(system: System, folder: Path, work: Counter[str]) -> None:
    _, report = swept(system, request(folder), Cell("BAAI/bge-m3", "none"))
    assert [status for status, _ in report.states.values()] == ["unavailable"]
    assert work == {}


def test_a_wrong_request_is_refused_before_anything_is_done(
    system: System, folder: Path, work: Counter[str]
) -> None:
    for changes, error, words in (
        ({"fold": "false"}, UnknownName, "fold"),
        ({"mode": "leksical"}, UnknownName, "lexical"),
        ({"candidates": "many"}, InvalidSetting, "many"),
        ({"CHUNK_SIZE": "3"}, InvalidSetting, "CHUNK_SIZE"),
        ({"RAG_PORT": "9000"}, InvalidSetting, "RAG_PORT"),
    ):
        with pytest.raises(error, match=words):
            check_request(Bench(system, request(folder, variants={"v": changes})))
    with pytest.raises(UnknownName, match="extractive"):
        check_request(Bench(system, request(folder, generator="extractiv")))
    with pytest.raises(UnknownName, match="Faithfulness"):
        check_request(Bench(system, request(folder, metrics=("Faithfulnes",))))
    with pytest.raises(UnknownName, match="bge-m3"):
        grid(["bge-m4"], ["none"], [""])
    unjudged = write_set(folder, cases=[CASES[3]])
    with pytest.raises(InvalidDataset, match="nothing can be measured"):
        check_request(Bench(system, request(unjudged, generator="none")))
    assert work == {}


# Answers, judge and budget


class Teller:
    """A generator that says the first sentence of the first passage; each call has a price."""

    name = "test/teller"
    recipe = "teller"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_busy = True

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        self.asked.append(question)
        if "water" in question and self.is_busy:
            raise UpstreamError("the server is busy; try again later")
        return Answer(f"{passages[0].text.split('।')[0]}। [1]", citations=(1,), usage=Usage(100, 10, 0.01))


class Marker:
    """A judge that gives marks by the length of the question; each call has a price."""

    name = "test/marker"
    recipe = "marker"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def score(self, case: JudgeCase, metric: str, *, repeat: int = 0) -> Scored:
        self.asked.append((case.question, metric))
        value = (len(case.question) + 10 * repeat) / 100
        return Scored("ok", value, "length", tokens=50, cost=0.1, seconds=0.5, calls=1)


def judged(
    system: System, folder: Path, teller: Teller, marker: Marker, *cells: Cell, **changes: Any
) -> tuple[Run, Report]:
    bench = Bench(system, request(folder, variants={"lexical": {"mode": "lexical"}}, **changes))
    bench.answering.generator, bench.answering.judge = teller, marker
    sweep = open_sweep(bench, cells or [BASE])
    return sweep.run, sweep.over(cells or [BASE])


def test_equal_contexts_are_answered_and_judged_once(system: System, folder: Path) -> None:
    teller, marker = Teller(), Marker()
    cells = (BASE, Cell("hashing", "none", "lexical"))
    run, report = judged(system, folder, teller, marker, *cells)
    contexts = {
        (row.query, tuple(row.contexts)) for row in run.answers().itertuples() if "water" not in row.query
    }
    assert len([q for q in teller.asked if "water" not in q]) == len(contexts)
    assert len(marker.asked) == 5 * len(contexts)
    scores = run.scores()
    failed = scores[scores["query_id"] == "water-1"].set_index("measure")
    assert failed.loc["F1", "status"].tolist() == ["failed", "failed"]
    assert "the server is busy" in failed.loc["Faithfulness", "reason"].iloc[0]
    average = values(run, "Retrieval Avg")["ताल-१"]
    assert average == pytest.approx(len("रारा ताल कुन जिल्लामा छ?") / 100)
    (first, _) = run.cells().sort_values("variant").to_dict("records")
    assert first["status"] == "complete"
    assert first["seconds_judge"] == pytest.approx(0.5 * 5 * 3)

    asked, marked = len(teller.asked), len(marker.asked)
    teller.is_busy = False
    _, report = judged(system, folder, teller, marker, *cells)  # what failed is tried again, and nothing else
    assert set(report.states.values()) == {("complete", "")}
    assert set(run.scores()["status"]) == {"ok", "skipped"}
    assert set(teller.asked[asked:]) == {"How long should water be boiled?"}
    assert {q for q, _ in marker.asked[marked:]} == {"How long should water be boiled?"}
    before = len(teller.asked), len(marker.asked)
    judged(system, folder, teller, marker, *cells)
    assert (len(teller.asked), len(marker.asked)) == before


def test_a_budget_stops_and_a_larger_one_goes_on(system: System, folder: Path) -> None:
    teller, marker = Teller(), Marker()
    teller.is_busy = False
    run, report = judged(system, folder, teller, marker, max_calls=8)
    assert report.stopped == "the budget of 8 calls is used up"
    assert report.states[BASE] == ("partial", report.stopped)
    assert not run.is_complete
    skipped = run.scores().query("status == 'skipped'")
    assert report.stopped in set(skipped["reason"])
    assert len(values(run, "nDCG@10")) == 3, "what costs nothing is complete"

    assert len(marker.asked) + len(teller.asked) == 8
    _, report = judged(system, folder, teller, marker, budget=100.0)
    assert (report.states[BASE], report.stopped) == (("complete", ""), "")
    assert run.is_complete
    assert len(set(marker.asked)) == len(marker.asked), "no judgement was asked for twice"
    assert len(teller.asked) == 4


def test_a_judge_that_is_asked_again_shows_how_sure_it_is(system: System, folder: Path) -> None:
    teller, marker = Teller(), Marker()
    teller.is_busy = False
    run, report = judged(system, folder, teller, marker)
    first = values(run, "Faithfulness")
    assert report.deviations == {}
    _, report = judged(system, folder, teller, marker, judge_repeats=3)
    assert report.deviations["Faithfulness"] == pytest.approx(0.1), "of x, x + 0.1 and x + 0.2"
    assert report.done["judge calls"] == 4 * 5 * 2, "the first of the three is kept from before"
    assert values(run, "Faithfulness") == first, "a score stays what the first said"


# The plan


def test_a_plan_counts_what_is_left(system: System, folder: Path, work: Counter[str]) -> None:
    wanted = request(folder, variants={"lexical": {"mode": "lexical"}})
    cells = grid(["hashing", "BAAI/bge-m3"], ["none", "BAAI/bge-reranker-v2-m3"], wanted.variant_names)
    bench = Bench(system, wanted)
    before = plan_sweep(bench, cells, bench.run(cells))
    assert work == {}, "a plan does nothing"
    assert system.catalog.entries() == []
    assert (before.cells, before.finished, before.documents, before.is_guess) == (8, 0, 4, True)
    assert (before.questions, before.searches, before.generations) == (4, 8, 8)
    assert set(before.unavailable) == {"BAAI/bge-m3", "BAAI/bge-reranker-v2-m3"}
    assert (before.ocr_pages, before.judge_calls, before.cost) == (0, 0, 0.0)

    swept(system, wanted, BASE)
    bench = Bench(system, wanted)
    after = plan_sweep(bench, cells, bench.run(cells))
    assert (after.finished, after.documents, after.embeddings, after.questions) == (1, 0, 0, 0)
    assert (after.searches, after.generations, after.is_guess) == (4, 4, False)


def test_a_plan_names_the_judges_calls_and_their_price(make_system: MakeSystem, folder: Path) -> None:
    pytest.importorskip("deepeval", reason="deepeval is not installed (extra judge)")
    system = make_system(EVAL_PROVIDER="openai", EVAL_MODEL="gpt-4o-mini", EVAL_API_KEY="k")
    bench = Bench(system, request(folder))
    plan = plan_sweep(bench, [BASE], bench.run([BASE]))
    assert plan.judge_calls == 4 * (2 + 3 + 1 + 1 + 5), "relevancy is asked once a context"
    assert plan.cost == pytest.approx(plan.judge_calls * (3_000 * 0.15e-6 + 400 * 0.6e-6))
    unjudged = Bench(make_system(), request(folder)).run([BASE])
    assert bench.run([BASE]).run_id != unjudged.run_id, "a judge makes another run"
    unknown = make_system(EVAL_PROVIDER="openai", EVAL_MODEL="nobody-knows", EVAL_API_KEY="k")
    bench = Bench(unknown, request(folder))
    assert plan_sweep(bench, [BASE], bench.run([BASE])).cost is None


def test_runs_are_told_apart_by_name_generator_and_settings(make_system: MakeSystem, folder: Path) -> None:
    def run_id(system: System, **changes: Any) -> str:
        return Bench(system, request(folder, **changes)).run([BASE]).run_id

    system = make_system()
    usual = run_id(system)
    assert run_id(system, note="मेरो टिपोट", budget=3.0) == usual
    others = {
        run_id(system, name="second"),
        run_id(system, generator="none"),
        run_id(make_system(CHUNK_SIZE=128)),
        run_id(make_system(TOP_K_RERANK=3)),
    }
    assert len(others | {usual}) == 5
    assert usual == run_id(make_system(RAG_PORT=9001, RAG_EVAL_CONCURRENCY=4)), "what changes no score"
    assert replace(Bench(system, request(folder)).run([BASE]), note="x").run_id == usual
