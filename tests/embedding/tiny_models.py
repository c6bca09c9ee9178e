"""Tiny sentence-transformers models of the catalogue's architectures with their pooling, from nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

TEXTS = [
    "नगरपालिकाको वडा कार्यालयले नागरिकता सिफारिसका लागि सूचना जारी गरेको छ।",
    "बालबालिकालाई खोप लगाउन नजिकको स्वास्थ्य चौकीमा जानुहोस्।",
    "Instruct: Given a web search query, retrieve relevant passages that answer the query Query: passage:",
]
TASK = "Given a web search query, retrieve relevant passages that answer the query"

_MOST_WORDS, _LONGEST = 4_000, 8
"""Entries of a tokenizer, and characters of one that is cut from words."""


class TinyModels:
    """Models by architecture and pooling, each saved once.

    Args:
        root: Where they are saved.
        texts: What their tokenizers know the words of.
        max_tokens: What they read.
    """

    prompts: ClassVar = {
        "query": f"Instruct: {TASK}\nQuery:",
        "document": "Document: ",
        "retrieval.query": "Represent the query for retrieving evidence documents: ",
        "retrieval.passage": "Represent the document for retrieval: ",
    }

    def __init__(self, root: Path, texts: Sequence[str] = TEXTS, *, max_tokens: int = 512) -> None:
        self.root, self.texts, self.max_tokens = root, texts, max_tokens

    def folder(self, architecture: str) -> Path:
        """Return the folder of an architecture and its pooling, say ``xlm-roberta cls``.

        Architectures: ``xlm-roberta``, ``jina_embeddings_v3``, ``gte``, ``eurobert``, ``qwen3``; pooling:
        ``cls``, ``mean``, ``lasttoken``.
        """
        folder = self.root / architecture.replace(" ", "-")
        if not folder.exists():
            self._save(folder, *architecture.split())
        return folder

    def pooled(self, architecture: str, text: str) -> np.ndarray:
        """Return the unit vector of a text, computed from token states by hand."""
        import torch
        from transformers import AutoModel, AutoTokenizer

        folder = self.folder(architecture)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModel.from_pretrained(folder).float().eval()
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
        by_pooling = {"cls": states[0], "mean": states.mean(axis=0), "lasttoken": states[-1]}
        vector = by_pooling[architecture.split()[1]]
        return np.asarray(vector / np.linalg.norm(vector))

    def _save(self, folder: Path, kind: str, pooling: str) -> None:
        import torch
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

        torch.manual_seed(7)
        base = folder.with_name(folder.name + "-base")
        make = _byte_tokenizer if kind in ("qwen3", "eurobert") else _xlm_r_tokenizer
        tokenizer = make(self.texts, self.max_tokens)
        tokenizer.save_pretrained(base)
        _model(kind, len(tokenizer), self.max_tokens).save_pretrained(base)
        modules = [Transformer(str(base)), Pooling(32, pooling_mode=pooling), Normalize()]
        whole = SentenceTransformer(modules=modules, prompts=self.prompts, device="cpu")
        whole.save(str(folder), create_model_card=False)


_CLASSES = {
    "xlm-roberta": "XLMRoberta",
    "jina_embeddings_v3": "JinaEmbeddingsV3",
    "gte": "Gte",
    "eurobert": "EuroBert",
    "qwen3": "Qwen3",
}


def missing(architecture: str) -> str:
    """Return why the installed transformers builds no such architecture; empty: it does."""
    import transformers

    name = f"{_CLASSES[architecture.split()[0]]}Model"
    return "" if hasattr(transformers, name) else f"transformers {transformers.__version__} has no {name}"


def _model(kind: str, n_words: int, max_tokens: int) -> Any:
    import transformers as t

    sizes: dict[str, Any] = {
        "vocab_size": n_words,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": max_tokens + 2,  # XLM-R counts positions from 2
        "initializer_range": 0.5,
    }
    special = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
    if kind == "xlm-roberta":
        return t.XLMRobertaModel(t.XLMRobertaConfig(**special, **sizes), add_pooling_layer=False)
    if kind == "jina_embeddings_v3":
        return t.JinaEmbeddingsV3Model(t.JinaEmbeddingsV3Config(**special, **sizes), add_pooling_layer=False)
    if kind == "gte":
        return t.GteModel(t.GteConfig(**special, **sizes), add_pooling_layer=False)
    if kind == "eurobert":
        ends = {"bos_token_id": 0, "pad_token_id": 0, "eos_token_id": 0, "mask_token_id": 0}
        return t.EuroBertModel(t.EuroBertConfig(num_key_value_heads=1, **ends, **sizes))
    return t.Qwen3Model(t.Qwen3Config(head_dim=16, num_key_value_heads=1, **sizes))


def word_pieces(texts: Sequence[str]) -> list[tuple[str, float]]:
    """Return the vocabulary of XLM-R's kind: pieces of words with their log shares, always the same.

    The trainer of ``tokenizers`` makes another one each time.
    """
    words = Counter(f"▁{word}" for text in texts for word in text.split())
    pieces: Counter[str] = Counter()
    for word, n in words.items():
        for start, end in combinations(range(len(word) + 1), 2):
            if end - start <= _LONGEST:
                pieces[word[start:end]] += n
    by_use = sorted(pieces, key=lambda piece: (len(piece) > 1, -pieces[piece] * len(piece), piece))
    total = pieces.total()
    special = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    return special + [(piece, math.log(pieces[piece] / total)) for piece in by_use[:_MOST_WORDS]]


def _xlm_r_tokenizer(texts: Sequence[str], max_tokens: int) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram(word_pieces(texts), unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=max_tokens, **names)


def _byte_tokenizer(texts: Sequence[str], max_tokens: int) -> Any:
    """Return a byte-level tokenizer that pads on the left and ends each text with ``<|endoftext|>``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=_MOST_WORDS,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|endoftext|>",
        padding_side="left",
        model_max_length=max_tokens,
    )
