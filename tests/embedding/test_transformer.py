import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra models)")

from embedding.tiny_models import TinyModels, missing

from rag_platform.embedding.catalogue import ENCODERS, EncoderSpec, PromptSpec
from rag_platform.embedding.transformer import SentenceTransformerEncoder, pick_device
from rag_platform.errors import (
    CallerError,
    ChunkTooLong,
    DimensionMismatch,
    InvalidSetting,
    MissingDependency,
)

HERE = Path(__file__).parent
SPEC = EncoderSpec(
    name="rag-test/tiny",
    engine="sentence-transformers",
    n_parameters=50_000,
    dim=32,
    max_tokens=64,
    query=PromptSpec("query: "),
    passage=PromptSpec("passage: "),
    revision="0123456789abcdef0123456789abcdef01234567",
)
TEXTS = [
    "विद्यालयमा नयाँ शैक्षिक सत्र सुरु हुन्छ।",
    "सूचना",
    "बालबालिकालाई खोप लगाउन नजिकको स्वास्थ्य चौकीमा जानुहोस्।",
    "The ward office issues recommendation letters.",
    "वडा कार्यालय",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import importlib.util

    spec = importlib.util.spec_from_file_location("tiny_bert", HERE / "tiny_bert.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path: Path = module.build_tiny_bert(tmp_path_factory.mktemp("tiny"))
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    return TinyModels(tmp_path_factory.mktemp("architectures"))


@pytest.fixture(scope="module")
def encoder(folder: Path) -> SentenceTransformerEncoder:
    return SentenceTransformerEncoder(SPEC, path=folder, device="cpu", batch_size=2)


def test_weights_load_with_the_first_text(folder: Path) -> None:
    fresh = SentenceTransformerEncoder(SPEC, path=folder)
    assert (fresh.name, fresh.dim, fresh.max_tokens) == ("rag-test/tiny", 32, 64)
    assert fresh.recipe
    assert fresh.prompted("सूचना", "query") == "query: सूचना"
    assert "_loaded" not in vars(fresh)
    fresh.count_tokens("सूचना", "query")
    assert "_loaded" in vars(fresh)


def test_rows_are_unit_vectors_in_the_order_of_the_texts(encoder: SentenceTransformerEncoder) -> None:
    together = encoder.encode(TEXTS, "passage")
    assert (together.shape, together.dtype) == ((5, 32), np.float32)
    assert np.linalg.norm(together, axis=1) == pytest.approx([1.0] * 5, abs=1e-6)
    single = np.concatenate([encoder.encode([text], "passage") for text in TEXTS])
    assert together == pytest.approx(single, abs=1e-5)
    assert not np.allclose(together[0], together[2], atol=1e-3)


def test_the_vector_is_the_mean_of_the_model_over_the_prompted_text(
    encoder: SentenceTransformerEncoder, folder: Path
) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).float().eval()
    with torch.inference_mode():
        states = model(**tokenizer("query: वडा कार्यालय", return_tensors="pt")).last_hidden_state[0]
    mean = states.mean(dim=0).numpy()
    expected = mean / np.linalg.norm(mean)
    assert encoder.encode(["वडा कार्यालय"], "query")[0] == pytest.approx(expected, abs=1e-5)
    assert encoder.count_tokens("वडा कार्यालय", "query") == len(states)


def test_a_prompt_by_name_reads_the_words_that_came_with_the_weights(
    encoder: SentenceTransformerEncoder, folder: Path
) -> None:
    spec = dataclasses.replace(
        SPEC, query=PromptSpec(name="query", task="query"), passage=PromptSpec(name="document")
    )
    named = SentenceTransformerEncoder(spec, path=folder, device="cpu")
    for prompt in ("query", "passage"):
        assert np.array_equal(named.encode(TEXTS[:1], prompt), encoder.encode(TEXTS[:1], prompt))
        assert named.count_tokens(TEXTS[0], prompt) == encoder.count_tokens(TEXTS[0], prompt)
    assert named.prompted("सूचना", "query") != named.prompted("सूचना", "passage")
    assert named.recipe != encoder.recipe


def test_a_side_without_a_prompt_ignores_the_default_of_the_weights(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = shutil.copytree(folder, tmp_path / "copy")
    config = copy / "config_sentence_transformers.json"
    settings = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps(settings | {"default_prompt_name": "query"}), encoding="utf-8")
    bare = dataclasses.replace(SPEC, query=PromptSpec(), passage=PromptSpec())
    plain = SentenceTransformerEncoder(bare, path=folder, device="cpu").encode(TEXTS, "passage")
    assert np.array_equal(
        SentenceTransformerEncoder(bare, path=copy, device="cpu").encode(TEXTS, "passage"), plain
    )


def test_a_prompt_name_that_the_weights_do_not_know_is_an_error(folder: Path) -> None:
    spec = dataclasses.replace(SPEC, passage=PromptSpec(name="retrieval.passage"))
    with pytest.raises(MissingDependency, match=r"no prompt 'retrieval.passage'.*document.*hf download"):
        SentenceTransformerEncoder(spec, path=folder, device="cpu").encode(["सूचना"], "passage")


def test_text_over_the_limit_is_refused_not_cut(encoder: SentenceTransformerEncoder) -> None:
    long = "वडा " * 70
    with pytest.raises(ChunkTooLong, match="rag-test/tiny reads 64"):
        encoder.encode(["वडा", long], "passage")
    with pytest.raises(CallerError, match="shorten it"):
        encoder.encode([long], "query")


def test_weights_that_read_less_than_the_catalogue_says_set_the_limit(folder: Path) -> None:
    spec = dataclasses.replace(SPEC, max_tokens=8192)
    generous = SentenceTransformerEncoder(spec, path=folder, device="cpu")
    with pytest.raises(ChunkTooLong, match="reads 64"):
        generous.encode(["वडा " * 70], "passage")
    assert generous.max_tokens == 64


def test_weights_of_another_size_are_refused(folder: Path) -> None:
    with pytest.raises(DimensionMismatch, match=r"\(1, 32\).*1024"):
        SentenceTransformerEncoder(dataclasses.replace(SPEC, dim=1024), path=folder).encode(["वडा"], "query")


def test_a_folder_that_holds_no_model_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(MissingDependency, match=f"cannot be loaded from {tmp_path}"):
        SentenceTransformerEncoder(SPEC, path=tmp_path, device="cpu").encode(["वडा"], "query")


def test_changed_weights_in_a_folder_are_another_recipe(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = shutil.copytree(folder, tmp_path / "copy")
    assert (
        SentenceTransformerEncoder(SPEC, path=copy).recipe
        == SentenceTransformerEncoder(SPEC, path=folder).recipe
    )
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    assert (
        SentenceTransformerEncoder(SPEC, path=copy).recipe
        != SentenceTransformerEncoder(SPEC, path=folder).recipe
    )


def test_a_device_that_is_not_there_is_an_error(folder: Path) -> None:
    import torch

    absent = "mps" if torch.cuda.is_available() else "cuda"
    with pytest.raises(MissingDependency, match=f"device '{absent}' is not available.*RAG_DEVICE"):
        SentenceTransformerEncoder(SPEC, path=folder, device=absent).encode(["वडा"], "query")
    assert pick_device("auto") in ("cpu", "cuda", "mps")
    assert pick_device("cpu") == "cpu"


def test_it_may_be_shared_between_threads(encoder: SentenceTransformerEncoder) -> None:
    expected = encoder.encode(TEXTS, "passage")
    found: list[np.ndarray] = []

    def work() -> None:
        for _ in range(5):
            encoder.count_tokens(TEXTS[2], "query")
            found.append(encoder.encode(TEXTS, "passage"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20
    assert all(np.allclose(vectors, expected, atol=1e-6) for vectors in found)


HUB = """
import dataclasses, json, sys
looked_up = []
network = ("socket.getaddrinfo", "socket.connect")
sys.addaudithook(lambda event, args: looked_up.append(str(args)) if event in network else None)
from rag_platform.embedding.catalogue import ENCODERS, EncoderSpec
from rag_platform.embedding.encoders import can_load, load_encoder
from rag_platform.embedding.transformer import SentenceTransformerEncoder
from rag_platform.errors import MissingDependency
for name in ENCODERS:
    load_encoder(name).recipe
torch_before = "torch" in sys.modules
for name in ("hashing", "multilingual-e5-small"):
    load_encoder(name).encode(["सूचना"], "query")
spec = EncoderSpec(name="rag-test/tiny", engine="sentence-transformers", n_parameters=1, dim=32,
                   max_tokens=64, revision=REVISION)
other = dataclasses.replace(spec, revision="f" * 40)
shape = SentenceTransformerEncoder(spec, device="cpu").encode(["सूचना"], "query").shape
try:
    SentenceTransformerEncoder(other, device="cpu").encode(["सूचना"], "query")
    error = ""
except MissingDependency as problem:
    error = str(problem)
print(json.dumps({"torch_before": torch_before, "shape": shape, "error": error, "looked_up": looked_up,
                  "can": can_load(spec), "cannot": can_load(other)}))
"""


def test_offline_only_the_cache_is_searched_and_nothing_leaves_the_machine(
    folder: Path, tmp_path: Path
) -> None:
    """A cache laid out as the hub client does, one revision in it, the network forbidden by the user."""
    revision = str(SPEC.revision)
    repository = tmp_path / "hub" / "models--rag-test--tiny"
    (repository / "snapshots").mkdir(parents=True)
    (repository / "snapshots" / revision).symlink_to(folder, target_is_directory=True)
    done = subprocess.run(
        [sys.executable, "-c", HUB.replace("REVISION", repr(revision))],
        env={**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["torch_before"] is False
    assert found["shape"] == [1, 32]
    assert found["can"] is None
    assert "hf download rag-test/tiny --revision ffff" in found["cannot"]
    assert "HF_HUB_OFFLINE is set" in found["error"]
    assert "hf download rag-test/tiny --revision ffff" in found["error"]
    assert found["looked_up"] == []


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependency, match=r"pip install 'rag-platform\[models\]'"):
        SentenceTransformerEncoder(SPEC, path=folder).encode(["वडा"], "query")


def test_a_smaller_vector_is_the_head_of_the_whole_one_made_unit_again(folder: Path) -> None:
    spec = dataclasses.replace(SPEC, min_dim=8)
    whole = SentenceTransformerEncoder(spec, path=folder, device="cpu")
    small = SentenceTransformerEncoder(spec, path=folder, device="cpu", dim=8)
    found = small.encode(TEXTS, "passage")
    head = whole.encode(TEXTS, "passage")[:, :8]
    assert found == pytest.approx(head / np.linalg.norm(head, axis=1, keepdims=True), abs=1e-6)
    assert (small.dim, found.shape) == (8, (5, 8))
    assert small.recipe == whole.recipe + "|dim 8"
    for dim in (4, 64):
        with pytest.raises(InvalidSetting, match=f"is {dim}, but rag-test/tiny offers 8 to 32"):
            SentenceTransformerEncoder(spec, path=folder, dim=dim)


@pytest.mark.parametrize("backend", ["onnx", "openvino"])
def test_a_backend_that_is_not_installed_is_an_error_with_its_packages(
    folder: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optimum", None)
    encoder = SentenceTransformerEncoder(SPEC, path=folder, backend=backend)
    assert encoder.recipe.endswith(f"|{backend}")
    with pytest.raises(MissingDependency, match=rf"sentence-transformers\[{backend}\].*RAG_BACKEND=torch"):
        encoder.encode(["वडा"], "query")
    with pytest.raises(InvalidSetting, match="'jax'"):
        SentenceTransformerEncoder(SPEC, path=folder, backend="jax")


@pytest.mark.skipif(
    not importlib.util.find_spec("optimum"), reason="Optimum is not installed (sentence-transformers[onnx])"
)
def test_onnx_gives_the_vectors_of_torch(folder: Path, encoder: SentenceTransformerEncoder) -> None:
    pytest.importorskip("optimum.onnxruntime", reason="Optimum for ONNX is not installed")
    exported = SentenceTransformerEncoder(SPEC, path=folder, backend="onnx")
    expected = encoder.encode(TEXTS, "passage")
    assert exported.encode(TEXTS, "passage") == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        ("BAAI/bge-m3", "xlm-roberta cls"),
        ("intfloat/multilingual-e5-base", "xlm-roberta mean"),
        ("intfloat/multilingual-e5-large", "xlm-roberta mean"),
        ("intfloat/multilingual-e5-large-instruct", "xlm-roberta mean"),
        ("Qwen/Qwen3-Embedding-0.6B", "qwen3 lasttoken"),
        ("Qwen/Qwen3-Embedding-4B", "qwen3 lasttoken"),
        ("Qwen/Qwen3-Embedding-8B", "qwen3 lasttoken"),
        ("jinaai/jina-embeddings-v5-text-small-retrieval", "qwen3 lasttoken"),
        ("jinaai/jina-embeddings-v5-text-nano-retrieval", "eurobert lasttoken"),
        ("jinaai/jina-embeddings-v3", "jina_embeddings_v3 mean"),
        ("Alibaba-NLP/gte-multilingual-base", "gte cls"),
    ],
)
def test_a_catalogue_entry_reads_its_prompt_and_pools_as_its_weights_say(
    tiny: TinyModels, name: str, architecture: str
) -> None:
    """On tiny weights of its architecture: the vector is that of the prompted text, pooled by hand."""
    if reason := missing(architecture):
        pytest.skip(reason)
    spec = dataclasses.replace(ENCODERS[name], dim=32, revision=None)
    encoder = SentenceTransformerEncoder(spec, path=tiny.folder(architecture), device="cpu")
    for prompt in ("query", "passage"):
        side = spec.prompt(prompt)
        words = tiny.prompts[side.name] if side.name else side.text
        expected = tiny.pooled(architecture, words + TEXTS[2])
        assert encoder.encode([TEXTS[1], TEXTS[2]], prompt)[1] == pytest.approx(expected, abs=1e-5)
    assert tiny.prompts["query"] == ENCODERS["Qwen/Qwen3-Embedding-0.6B"].query.text
