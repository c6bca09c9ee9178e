"""Variants change settings and search, and nothing that they cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_platform.errors import CallerError, InvalidSetting, UnknownName
from rag_platform.evaluation.variants import (
    applied,
    parse_variants,
    read_analyzer,
    read_variants,
    searched,
    spans_grid,
)
from rag_platform.reranking.catalogue import resolve
from rag_platform.retrieval.options import SearchOptions
from rag_platform.settings import Settings
from rag_platform.sweeping.configured import ABLATIONS, REFERENCE, find_config, read_config
from rag_platform.system import search_options
from rag_platform.types import AnalyzerOptions


def test_settings_by_either_name_and_options() -> None:
    settings = Settings.load(None, CHUNK_SIZE=200, RERANKER_MODEL="BAAI/bge-reranker-v2-m3")
    for name in ("CHUNK_SIZE", "chunk_size"):
        changed = applied(settings, {name: "128", "mode": "dense"})
        assert (changed.chunk_size, changed.reranker_model) == (128, "BAAI/bge-reranker-v2-m3")
    assert applied(settings, {"mode": "dense"}) is settings
    options = searched(
        SearchOptions(), {"weights": "0.9/0.1", "top_k": "50", "threshold": "0.5", "distinct": "true"}
    )
    assert (options.weights, options.candidates, options.threshold, options.distinct) == (
        (0.9, 0.1),
        50,
        0.5,
        True,
    )


def test_parts_of_the_analyzer_are_switched_by_dotted_names(tmp_path: Path) -> None:
    path = tmp_path / "v.toml"
    path.write_text(
        "[variants.bare]\nanalyzer = {fold = false, stem = false}\n"
        "[variants.nopieces]\nanalyzer.pieces = false\nmode = 'lexical'\n",
        encoding="utf-8",
    )
    found = {**read_variants(path), **parse_variants(["both:analyzer.fold=true,analyzer.spelling=false"])}
    assert found["bare"] == {"analyzer.fold": "false", "analyzer.stem": "false"}
    assert read_analyzer(found["bare"]) == AnalyzerOptions(fold=False, stem=False)
    assert read_analyzer(found["nopieces"]).left_out == ("pieces",)
    assert read_analyzer(found["both"]).left_out == ("spelling",)
    assert read_analyzer({"mode": "dense"}) == AnalyzerOptions()
    settings = Settings.load(None)
    assert applied(settings, {**found["bare"], "reranker": "none"}) is settings


def test_which_variants_stand_beside_every_cell() -> None:
    assert spans_grid("nofold", {"analyzer.fold": "false"})
    assert spans_grid("", {})
    assert not spans_grid("best", {"reranker": "none"})
    assert not spans_grid("baseline:dense", {"mode": "dense"})
    assert not spans_grid("long", {"context": "collection"})


def apply(changes: dict[str, str]) -> SearchOptions:
    return searched(search_options(applied(Settings.load(None), changes)), changes)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"chunk_sise": "128"}, UnknownName, "chunk_size"),
        ({"CHUNK_SIZE": "lots"}, InvalidSetting, "lots"),
        ({"RAG_HOME": "/tmp/x"}, InvalidSetting, "RAG_HOME"),
        ({"weights": "heavy"}, InvalidSetting, "heavy"),
        ({"distinct": "perhaps"}, InvalidSetting, "perhaps"),
        ({"k": "0"}, CallerError, "k is 0"),
        ({"fusion": "magic"}, UnknownName, "magic"),
    ],
)
def test_what_is_not_allowed_is_named(changes: dict[str, str], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        apply(changes)


@pytest.mark.parametrize(
    "written", ["lexical", "a:b", "a b:mode=dense", "x:RERANKER_MODEL=none", "x:EMBEDDING_MODEL=hashing"]
)
def test_no_variant_at_all(written: str) -> None:
    with pytest.raises(InvalidSetting):
        parse_variants([written])


def test_the_bundled_ablations_are_all_usable() -> None:
    variants = read_variants(find_config("ablations"))
    assert {"dense", "lexical", "hybrid", "rrf", "threshold", "weights-0.9-0.1", "weights-0.3-0.7"} <= set(
        variants
    )
    settings = Settings.load(None)
    made = {}
    for name, changes in variants.items():
        changed = applied(settings, changes)
        made[name] = (changed, searched(search_options(changed), changes))
    assert made["weights-0.3-0.7"][1].weights == (0.3, 0.7)
    assert made["chunks-128"][0].chunk_size == 128
    assert made["uncalibrated"][0].calibration == "off"
    chunkers = {changed.chunker for changed, _ in made.values()}
    assert chunkers == {"recursive", "sentences", "words"}
    left_out = {read_analyzer(changes).left_out for changes in variants.values()}
    assert left_out == {(), ("fold",), ("stem",), ("spelling",), ("pieces",)}
    assert variants["no-fold"] == {"analyzer.fold": "false"}
    assert {resolve(changes["reranker"]).name for changes in variants.values() if "reranker" in changes} == {
        "none",
        "BAAI/bge-reranker-v2-m3",
    }
    assert ABLATIONS.name == "ablations.toml"


def test_the_reference_reproduces_the_published_setup() -> None:
    said = read_config(find_config("reference"))
    assert len(said["embedders"]) * len(said["rerankers"]) == 30
    settings = Settings.load(None, **said["settings"])
    assert (settings.chunk_size, settings.overlap_ratio, settings.fusion) == (256, 0.15, "rrf")
    assert search_options(settings).weights == (0.7, 0.3)
    assert REFERENCE.name == "sweep.reference.toml"
    with pytest.raises(UnknownName, match="reference"):
        find_config("refrence")


def test_a_file_with_a_slip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    for text, words in (
        ("embeders = ['hashing']", "embeders"),
        ("embedders = 'hashing'", "embedders"),
        ("budget = 'much'", "budget"),
        ("= 3", "TOML"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidSetting, match=words):
            read_config(path)
    path.write_text("[variants]\nlexical = 3", encoding="utf-8")
    with pytest.raises(InvalidSetting, match="tables"):
        read_variants(path)
