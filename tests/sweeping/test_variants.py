"""Variants of the analyzer, of how text is cut, and of the reranker: measured end to end, work shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sweeping_set import CASES, write_set

from rag_platform.chunking.chunkers import chunk_document, load_chunker
from rag_platform.errors import InvalidSetting, UnknownName
from rag_platform.evaluation.results import Cell, Run
from rag_platform.evaluation.sweep import Report
from rag_platform.sweeping.planning import plan_sweep
from rag_platform.sweeping.request import SweepRequest
from rag_platform.sweeping.wiring import Bench, check_request, open_sweep
from rag_platform.system import System

MakeSystem = Callable[..., System]
PAIR = [("hashing", "none")]
FOLDED = [
    {"id": "digits", "query": "8848", "relevant": [{"source": "हिमाल/documents/सगरमाथा.txt"}]},
    {"id": "case", "query": "WATER", "relevant": [{"source": "हिमाल/documents/water.txt"}]},
    {"id": "plain", "query": "मुगु", "relevant": [{"source": "ताल/documents/रारा.txt"}]},
]
"""The first two find nothing by their words where spellings are not folded."""


def swept(system: System, request: SweepRequest) -> tuple[Run, Report]:
    bench, cells = Bench(system, request), request.cells(PAIR)
    check_request(bench)
    sweep = open_sweep(bench, cells)
    report = sweep.over(cells)
    assert set(report.states.values()) == {("complete", "")}, report.states
    return sweep.run, report


def scores(run: Run, measure: str, variant: str) -> dict[str, float]:
    rows = run.scores().query("measure == @measure and variant == @variant and status == 'ok'")
    return dict(zip(rows["query_id"], rows["value"], strict=True))


def test_an_analyzer_without_folds_is_measured_and_nothing_is_embedded_for_it(
    make_system: MakeSystem, tmp_path: Path, work: Counter[str]
) -> None:
    system = make_system()
    variants = {
        "words": {"mode": "lexical"},
        "nofold": {"mode": "lexical", "analyzer.fold": "false"},
    }
    request = SweepRequest(
        str(write_set(tmp_path / "set", cases=FOLDED)), generator="none", variants=variants
    )
    run, report = swept(system, request)
    assert scores(run, "hit@1", "words") == {"digits": 1.0, "case": 1.0, "plain": 1.0}
    assert scores(run, "hit@1", "nofold") == {"digits": 0.0, "case": 0.0, "plain": 1.0}
    assert report.done["searches"] == 3 * 3
    n_chunks = sum(entry.n_chunks for entry in system.catalog.entries())
    assert work == {"parsed": 4, "passage texts": n_chunks, "query texts": 3}
    published = [manifest.collection for manifest in system.index.published()]
    assert published == ["eval-set"], "what other analyzers index stands apart"

    work.clear()
    again, second = swept(system, request)
    assert (again.run_id, second.done, work) == (run.run_id, {}, {}), "it goes on with its run, all done"
    changed = replace(request, variants={**variants, "nofold": {"mode": "lexical", "analyzer.stem": "false"}})
    other, third = swept(system, changed)
    assert (other.run_id, third.done, work) == (run.run_id, {"searches": 3}, {}), "only what changed"
    assert scores(other, "hit@1", "nofold") == {"digits": 1.0, "case": 1.0, "plain": 1.0}


def test_a_variant_of_the_chunker_reads_nothing_and_embeds_its_own_chunks(
    make_system: MakeSystem, tmp_path: Path, work: Counter[str]
) -> None:
    system = make_system()
    small = {"CHUNK_SIZE": "16", "OVERLAP_RATIO": "0"}
    variants = {name: {**small, "RAG_CHUNKER": name} for name in ("recursive", "words")}
    request = SweepRequest(str(write_set(tmp_path / "set")), variants=variants)
    run, _ = swept(system, request)
    documents = Bench(system, request).documents[""].values()
    texts: dict[str, set[str]] = {}
    for name in variants:
        cut = load_chunker(name, tokenizer=system.tokenizer, size=16, overlap_ratio=0)
        chunks = [one for document in documents for one in chunk_document(document, cut, system.tokenizer)]
        texts[name] = {one.indexed_text for one in chunks}
    whole = {one.text.strip() for one in documents}
    assert texts["words"] - texts["recursive"], "the chunkers really cut otherwise"
    assert work["parsed"] == 4
    assert work["passage texts"] == len(whole.union(*texts.values())), "each distinct passage once"
    assert work["query texts"] == 4
    for name in variants:
        assert scores(run, "hit@1", name)["ताल-१"] == 1.0, "labels by document"
        assert scores(run, "R@10", name)["ताल-२"] == 1.0, "labels by words of the document"
        contexts = run.answers().query("variant == @name")["contexts"]
        assert {text for some in contexts for text in some} <= texts[name]
    work.clear()
    assert (swept(system, request)[1].done, work) == ({}, {})


def test_a_variant_with_a_reranker_has_its_own_places(make_system: MakeSystem, tmp_path: Path) -> None:
    request = SweepRequest(
        str(write_set(tmp_path / "set")),
        variants={"plain": {"reranker": "none"}, "best": {"reranker": "bge-reranker-v2-m3", "k": "3"}},
    )
    pairs = [("hashing", "Qwen/Qwen3-Reranker-0.6B"), ("hashing", "none"), ("BAAI/bge-m3", "none")]
    cells = request.cells(pairs)
    assert cells == [
        *(Cell(*pair) for pair in pairs),
        Cell("hashing", "none", "plain"),
        Cell("BAAI/bge-m3", "none", "plain"),
        Cell("hashing", "BAAI/bge-reranker-v2-m3", "best"),
        Cell("BAAI/bge-m3", "BAAI/bge-reranker-v2-m3", "best"),
    ]
    run = Bench(make_system(), request).run(cells)
    assert run.rerankers == ("Qwen/Qwen3-Reranker-0.6B", "none"), "the grid is what was asked for"
    with pytest.raises(UnknownName, match="Did you mean 'BAAI/bge-reranker-v2-m3'"):
        replace(request, variants={"v": {"reranker": "bge-reranker-v2-m4"}}).cells(pairs)
    alone = replace(request, variants={"plain": {"reranker": "none"}})
    _, report = swept(make_system(), alone)
    assert (report.done["searches"], report.done["answers"]) == (4, 4), "the same search is not done twice"


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"analyzer.folds": "false"}, UnknownName, "Did you mean 'fold'"),
        ({"analyzer.fold": "no"}, InvalidSetting, "analyzer.fold='no' is not allowed: write true or false"),
        ({"analyzer.fold": "false", "mode": "dense"}, InvalidSetting, "searches no words"),
        ({"analyzer.fold": "false", "context": "collection"}, InvalidSetting, "nothing is searched"),
        ({"reranker": "none", "context": "document"}, InvalidSetting, "nothing is searched"),
        ({"RAG_CHUNKER": "sentence"}, UnknownName, "Did you mean 'sentences'"),
    ],
)
def test_what_would_change_nothing_is_refused_before_anything_is_done(
    make_system: MakeSystem,
    tmp_path: Path,
    work: Counter[str],
    changes: dict[str, str],
    error: type[Exception],
    words: str,
) -> None:
    folder = write_set(tmp_path / "set")
    with pytest.raises(error, match=words):
        check_request(Bench(make_system(), SweepRequest(str(folder), variants={"v": changes})))
    assert work == {}


def test_a_plan_counts_the_passages_of_other_chunks(make_system: MakeSystem, tmp_path: Path) -> None:
    system = make_system()
    folder = write_set(tmp_path / "set", cases=CASES)
    swept(system, SweepRequest(str(folder)))
    request = SweepRequest(
        str(folder),
        variants={"half": {"CHUNK_SIZE": "128"}, "nofold": {"analyzer.fold": "false"}},
    )
    bench, cells = Bench(system, request), request.cells(PAIR)
    plan = plan_sweep(bench, cells, bench.run(cells))
    assert (plan.chunks, plan.embeddings, plan.is_guess) == (4, 8, True), "half as large, twice as many"
    assert (plan.finished, plan.searches) == (1, 8)


def test_a_variant_that_changes_otherwise_now_is_not_finished(
    make_system: MakeSystem, tmp_path: Path
) -> None:
    system = make_system()
    request = SweepRequest(str(write_set(tmp_path / "set")), variants={"few": {"k": "1"}})
    swept(system, request)
    for changes, finished in (({"k": "1"}, 2), ({"k": "2"}, 1)):
        bench = Bench(system, replace(request, variants={"few": changes}))
        cells = bench.request.cells(PAIR)
        assert plan_sweep(bench, cells, bench.run(cells)).finished == finished
