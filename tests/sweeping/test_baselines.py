"""Baselines of a sweep: search by one part, answers without search; and what a judge says again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Says, speaking
from sweeping_set import TEXTS, write_set

from rag_platform.answering.prompts import is_refusal, spoken
from rag_platform.cli.runs import write_tables
from rag_platform.errors import InvalidSetting, UnknownName
from rag_platform.evaluation import answer_measures, answering
from rag_platform.evaluation.contexts import Context, Contexts
from rag_platform.evaluation.datasets import Case, Label
from rag_platform.evaluation.judge.cases import JudgeCase, Scored
from rag_platform.evaluation.leaderboard import leaderboard
from rag_platform.evaluation.report.charts import grids
from rag_platform.evaluation.results import Cell, Run
from rag_platform.evaluation.variants import BASELINES, read_context, read_variants
from rag_platform.sweeping.planning import plan_sweep
from rag_platform.sweeping.request import SweepRequest
from rag_platform.sweeping.wiring import Bench, check_request, open_sweep
from rag_platform.system import System
from rag_platform.types import Answer, Document, Page, Passage, Usage

MakeSystem = Callable[..., System]
PAIR = [("hashing", "none")]
ALONE = "baseline:no-retrieval"
LONG = "baseline:long-context"
WHOLE = "baseline:whole-document"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_set(tmp_path / "पहाड र ताल")


def swept(system: System, request: SweepRequest, generator: Any = None, judge: Any = None) -> Run:
    bench = Bench(system, request)
    check_request(bench)
    bench.answering.generator = generator or bench.answering.generator
    bench.answering.judge = judge
    cells = request.cells(PAIR)
    sweep = open_sweep(bench, cells)
    report = sweep.over(cells)
    assert set(report.states.values()) == {("complete", "")}, report.states
    return sweep.run


def rows(run: Run, variant: str, measure: str) -> dict[str, tuple[str, float]]:
    found = run.scores().query("variant == @variant and measure == @measure")
    pairs = zip(found["status"], found["value"], strict=True)
    return dict(zip(found["query_id"], pairs, strict=True))


def answer_of(run: Run, variant: str, query_id: str) -> dict[str, Any]:
    """Return the row of one answer."""
    (row,) = run.answers().query("variant == @variant and query_id == @query_id").to_dict("records")
    return {str(name): value for name, value in row.items()}


def test_baselines_are_rows_of_the_same_sweep(make_system: MakeSystem, folder: Path) -> None:
    request = SweepRequest(str(folder), baselines=True)
    run = swept(make_system(), request)
    assert {cell.variant for cell in run.states()} == {"", *BASELINES}
    alone = run.answers().query("variant == @ALONE")
    assert alone["refused"].all(), "without passages the extractive generator says that it has no answer"
    assert not any(map(len, alone["contexts"]))
    long = answer_of(run, LONG, "ताल-१")
    assert list(long["sources"]) == sorted(TEXTS), "every document, in the order of the names"
    assert "मुगु" in long["answer"]
    whole = answer_of(run, WHOLE, "ताल-२")
    assert list(whole["sources"]) == ["ताल/documents/फेवा.md"]
    assert "तालबाराही" in whole["answer"]
    assert rows(run, "baseline:lexical", "hit@1")["ताल-१"] == ("ok", 1.0)
    assert rows(run, LONG, "nDCG@10")["ताल-१"][0] == "skipped"
    assert rows(run, ALONE, "answered")["ताल-१"] == ("ok", 0.0)
    assert rows(run, ALONE, "refusal")["none-1"] == ("ok", 1.0)

    board = leaderboard(run)
    by_variant = {row.cell.variant: row for row in board.rows}
    assert set(by_variant) == {"", *BASELINES}
    assert board.summaries["nDCG@10"].n_common == 3, "what does not search takes no question from the others"
    assert "nDCG@10" not in by_variant[ALONE].measures
    assert by_variant[LONG].measures["answered"].value == 1.0
    assert [grid.variant for grid in grids(board)] == [""], "a baseline is no grid"
    assert (run.embedding_models, run.rerankers) == (("hashing",), ("none",))


def test_a_baseline_has_a_cell_for_what_matters_to_it() -> None:
    pairs = [("intfloat/multilingual-e5-small", "BAAI/bge-reranker-v2-m3"), ("BAAI/bge-m3", "none")]
    variants = {"rrf": {"fusion": "rrf"}, "short": {"context": "collection", "context_tokens": "900"}}
    cells = SweepRequest("set", variants=variants, baselines=True).cells(pairs)
    assert [cell for cell in cells if cell.variant == "rrf"] == [Cell(*pair, "rrf") for pair in pairs]
    assert {cell for cell in cells if cell.variant == "baseline:dense"} == {
        Cell("intfloat/multilingual-e5-small", "none", "baseline:dense"),
        Cell("BAAI/bge-m3", "none", "baseline:dense"),
    }
    for name in ("short", "baseline:lexical", ALONE, LONG, WHOLE):
        assert [cell for cell in cells if cell.variant == name] == [Cell("hashing", "none", name)]
    silent = SweepRequest("set", generator="none", baselines=True)
    assert silent.variant_names == ("", "baseline:lexical", "baseline:dense")


def test_what_a_context_may_be(make_system: MakeSystem, folder: Path) -> None:
    assert read_context({"context": "document", "context_tokens": "500"}) == Context("document", 500)
    assert read_context({"mode": "dense"}) is None
    with pytest.raises(UnknownName, match="collection"):
        read_context({"context": "colection"})
    with pytest.raises(InvalidSetting, match="nothing is searched, so 'mode'"):
        read_context({"context": "none", "mode": "dense"})
    for tokens in ("many", "3", "-100", "८०००"):
        with pytest.raises(InvalidSetting, match=tokens):
            read_context({"context": "collection", "context_tokens": tokens})
    with pytest.raises(InvalidSetting, match="context_tokens limits"):
        read_context({"context_tokens": "500"})
    mine = folder / "mine.toml"
    mine.write_text('[variants."baseline:mine"]\nmode = "dense"\n', encoding="utf-8")
    with pytest.raises(InvalidSetting, match="'baseline:mine' cannot be the name of a variant"):
        read_variants(mine)
    wanted = SweepRequest(str(folder), generator="none", variants={"alone": {"context": "none"}})
    with pytest.raises(InvalidSetting, match="the generator is none"):
        check_request(Bench(make_system(), wanted))


class Words:
    """Counts words."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def test_a_long_context_ends_with_a_sentence_that_fits() -> None:
    pages = (Page(1, "रारा ताल मुगुमा छ।", "markup"), Page(2, "पानी नीलो छ। माछा पनि पाइन्छ।", "markup"))
    documents = {"": {"क.txt": Document("क.txt", "0" * 64, "txt", pages)}}
    case = Case("1", "रारा कहाँ छ?", (Label("क.txt", page=1),))
    made = {n: Contexts(Context("collection", n), documents, Words()).of(case) for n in (4, 7, 8, 100)}
    assert [[hit.chunk.text for hit in made[n]] for n in (4, 7)] == [
        ["रारा ताल मुगुमा छ।"],
        ["रारा ताल मुगुमा छ।", "पानी नीलो छ।"],
    ]
    assert made[8] == tuple(made[8])
    assert made[8][1].chunk.text == "पानी नीलो छ।"
    text = documents[""]["क.txt"].text
    for hit in made[100]:
        assert text[hit.chunk.start : hit.chunk.end] == hit.chunk.text
        assert hit.chunk.page_first == hit.rank
    assert Contexts(Context("none"), documents, Words()).of(case) == ()


@pytest.fixture
def model() -> Iterator[ModelServer]:
    pytest.importorskip("litellm", reason="litellm is not installed (extra remote)")

    def reply(body: dict[str, Any]) -> Says:
        knows = body["messages"][1]["content"].startswith("रारा")
        return Says(("मुगु जिल्लामा।" if knows else "मलाई यसको जवाफ थाहा छैन।",))

    with speaking(reply) as local:
        yield local


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_model_answers_alone_from_what_it_knows(
    model: ModelServer, make_system: MakeSystem, folder: Path
) -> None:
    system = make_system(OPENAI_BASE_URL=model.url, OPENAI_API_KEY="k")
    request = SweepRequest(
        str(folder), generator="openai/office", variants={"alone": {"context": "none"}}, baseline=False
    )
    run = swept(system, request)
    asked = [body["messages"] for body in model.bodies]
    assert len(asked) == 4
    for system_message, user in asked:
        assert "[1]" not in json.dumps([system_message, user])
        assert "कागजात" in system_message["content"] or spoken(user["content"]) == "en"
    assert rows(run, "alone", "F1")["ताल-१"] == ("ok", 1.0)
    for name in ("citations", "faithful"):
        assert rows(run, "alone", name)["ताल-१"][0] == "skipped"
    answers = run.answers().set_index("query_id")
    assert answers["refused"].to_dict() == {
        "ताल-१": False, "ताल-२": True, "water-1": True, "none-1": True,
    }  # fmt: skip
    assert is_refusal(answer_of(run, "alone", "ताल-२")["answer"])
    swept(system, request)
    assert len(model.bodies) == 4, "a kept answer is not asked for again"


class Teller:
    """A generator that says the first sentence that it reads."""

    name, recipe = "test/teller", "teller"

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        first = passages[0].text.split("।")[0] if passages else "मलाई थाहा भएअनुसार मुगु"
        return Answer(f"{first}।", usage=Usage(10, 5, 0.0))


class Marker:
    """A judge that gives a little more each time."""

    name, recipe = "test/marker", "marker"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, int]] = []

    def score(self, case: JudgeCase, metric: str, *, repeat: int = 0) -> Scored:
        self.asked.append((case.question, metric, repeat))
        if metric == "Faithfulness" and repeat == 2:
            return Scored("failed", float("nan"), "the judge is busy", calls=1)
        return Scored("ok", 0.5 + 0.1 * repeat, "so", calls=1)


def test_what_is_about_passages_is_not_asked_of_an_answer_without_any(
    make_system: MakeSystem, folder: Path
) -> None:
    marker = Marker()
    request = SweepRequest(str(folder), variants={"alone": {"context": "none"}}, baseline=False)
    run = swept(make_system(), request, Teller(), marker)
    assert {metric for _, metric, _ in marker.asked} == {"Answer Relevancy"}
    assert rows(run, "alone", "Answer Relevancy")["ताल-१"] == ("ok", 0.5)
    for name in ("Faithfulness", "Contextual Recall", "Retrieval Avg"):
        assert rows(run, "alone", name)["ताल-१"][0] == "skipped"


def test_a_judges_repeats_are_kept(make_system: MakeSystem, folder: Path) -> None:
    system = make_system()
    run = swept(system, SweepRequest(str(folder), judge_repeats=3), Teller(), Marker())
    repeats = run.repeats()
    mine = repeats.query("query_id == 'ताल-१' and measure == 'Answer Relevancy'")
    assert mine["repeat"].tolist() == [0, 1, 2]
    assert mine["value"].tolist() == pytest.approx([0.5, 0.6, 0.7])
    failed = repeats.query("status == 'failed'")
    assert set(failed["measure"]) == {"Faithfulness"}
    assert set(failed["reason"]) == {"the judge is busy"}
    assert failed["value"].isna().all()
    assert set(repeats.groupby(["query_id", "measure"]).size()) == {3}
    assert rows(run, "", "Answer Relevancy")["ताल-१"] == ("ok", 0.5), "the score is what was said first"
    assert "repeats.csv" in write_tables(run, folder.parent / "out")
    swept(system, SweepRequest(str(folder)), Teller(), Marker())
    assert run.repeats().empty, "judged once, there is nothing to repeat"


def test_measures_are_computed_once_an_answer(
    make_system: MakeSystem, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []
    measure = answer_measures.answer_scores

    def counted(answer: Answer, **about: Any) -> Any:
        measured.append(answer.text)
        return measure(answer, **about)

    monkeypatch.setattr(answering, "answer_scores", counted)
    system = make_system()
    variants = {"same": {"candidates": str(system.search_options.depth + 1)}}
    run = swept(system, SweepRequest(str(folder), variants=variants))
    assert len(measured) == 4, "two cells, the same four answers"
    same, base = (rows(run, name, "F1") for name in ("same", ""))
    assert (same["ताल-१"], len(same)) == (base["ताल-१"], 4)


def test_a_plan_knows_that_baselines_search_less(make_system: MakeSystem, folder: Path) -> None:
    request = SweepRequest(str(folder), baselines=True)
    bench, cells = Bench(make_system(), request), request.cells(PAIR)
    plan = plan_sweep(bench, cells, bench.run(cells))
    assert (plan.cells, plan.generations, plan.searches) == (6, 6 * 4, 3 * 4)
