import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_platform.errors import CallerError, InvalidSetting, UnknownName
from rag_platform.reranking.catalogue import RERANKERS, markdown_table, resolve
from rag_platform.reranking.rerankers import NoReranker, can_load, load_reranker

DOC = Path(__file__).parents[2] / "docs" / "models.md"


def test_none_is_the_default_and_keeps_the_order() -> None:
    assert next(iter(RERANKERS)) == "none"
    for name in ("", "none", " NONE "):
        reranker = load_reranker(name)
        assert isinstance(reranker, NoReranker)
        assert (reranker.name, reranker.recipe) == ("none", "none")
    scores = reranker.score("के?", ["क", "ख", "ग"])
    assert scores.tolist() == [0.0, -1.0, -2.0]
    assert scores.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "n_parameters", "context", "max_tokens", "engine"),
    [
        ("BAAI/bge-reranker-v2-m3", 568e6, 8192, 1024, "cross-encoder"),
        ("Qwen/Qwen3-Reranker-0.6B", 600e6, 32768, 8192, "causal"),
        ("BAAI/bge-reranker-v2-gemma", 2.6e9, 8192, 1024, "causal"),
        ("cross-encoder/mmarco-mMiniLMv2-L12-H384-v1", 118e6, 512, 512, "cross-encoder"),
    ],
)
def test_figures_are_those_of_the_publishers(
    name: str, n_parameters: float, context: int, max_tokens: int, engine: str
) -> None:
    spec = RERANKERS[name]
    assert (spec.n_parameters, spec.context, spec.max_tokens) == (n_parameters, context, max_tokens)
    assert spec.engine == engine
    assert (spec.template is not None) == (engine == "causal")
    assert load_reranker(name).name == name


def test_in_every_template_the_passage_ends_its_part() -> None:
    templates = [spec.template for spec in RERANKERS.values() if spec.template]
    assert len(templates) == 2
    for template in templates:
        parts = [template.before, *template.pair, *template.after]
        assert "".join(parts).count("{query}") == "".join(parts).count("{passage}") == 1
        assert template.pair[-1].endswith("{passage}")


@pytest.mark.parametrize(
    ("said", "name", "remote"),
    [
        ("BGE-reranker-v2-m3", "BAAI/bge-reranker-v2-m3", ""),
        ("qwen3-reranker-0.6b", "Qwen/Qwen3-Reranker-0.6B", ""),
        ("Cohere", "cohere", "cohere/rerank-v3.5"),
        ("cohere/rerank-v4.0-pro", "cohere/rerank-v4.0-pro", "cohere/rerank-v4.0-pro"),
        ("jina", "jina", "jina_ai/jina-reranker-v2-base-multilingual"),
        ("jina/jina-reranker-v3", "jina/jina-reranker-v3", "jina_ai/jina-reranker-v3"),
        ("llm/ollama/gemma4", "llm/ollama/gemma4", "ollama/gemma4"),
    ],
)
def test_names_are_found(said: str, name: str, remote: str) -> None:
    spec = resolve(said)
    assert (spec.name, spec.remote) == (name, remote)
    assert load_reranker(said, api_key="k").name == name


def test_unknown_names_are_errors() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'BAAI/bge-reranker-v2-m3'"):
        load_reranker("bge-reranker-v2-m4")
    with pytest.raises(UnknownName, match="unknown reranker 'cohere/'"):
        load_reranker("cohere/")
    with pytest.raises(CallerError, match="llm/PROVIDER/MODEL"):
        load_reranker("llm")
    with pytest.raises(InvalidSetting, match="'gpu'"):
        load_reranker("bge-reranker-v2-m3", device="gpu")


def test_recipes_differ() -> None:
    names = [name for name in RERANKERS if name != "llm"] + ["llm/openai/gpt-4o-mini", "llm/ollama/gemma4"]
    recipes = [load_reranker(name).recipe for name in names]
    assert len(set(recipes)) == len(names)
    assert load_reranker("jina").recipe != load_reranker("jina", base_url="http://localhost:1").recipe
    assert "secret" not in load_reranker("jina", api_key="secret").recipe


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert can_load(RERANKERS["none"]) is None
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    if importlib.util.find_spec("torch"):
        remedy = can_load(RERANKERS["BAAI/bge-reranker-v2-m3"])
        assert remedy is not None
        assert "hf download BAAI/bge-reranker-v2-m3" in remedy

    def nothing_there(name: str) -> Any:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nothing_there)
    remedies = {name: can_load(spec) for name, spec in RERANKERS.items()}
    assert re.search(
        r"torch, transformers not installed: .*\[models\]", str(remedies["Qwen/Qwen3-Reranker-0.6B"])
    )
    assert re.search(r"litellm not installed: .*\[remote\]", str(remedies["cohere"]))


def test_the_documented_table_is_the_catalogue() -> None:
    assert markdown_table() in DOC.read_text(encoding="utf-8"), (
        "docs/models.md is out of date; print the table with: python -c"
        " 'from rag_platform.reranking.catalogue import markdown_table; print(markdown_table())'"
    )
