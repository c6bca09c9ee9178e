"""Tiny sentence-transformers models of the catalogue's architectures with their pooling, from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

TEXTS = [
    "नगरपालिकाको वडा कार्यालयले नागरिकता सिफारिसका लागि सूचना जारी गरेको छ।",
    "बालबालिकालाई खोप लगाउन नजिकको स्वास्थ्य चौकीमा जानुहोस्।",
    "Instruct: Given a web search query, retrieve relevant passages that answer the query Query: passage:",
]
TASK = "Given a web search query, retrieve relevant passages that answer the query"


class TinyModels:
    """Models by architecture and pooling, each saved once.

    Args:
        root: Where they are saved.
    """

    prompts: ClassVar = {"query": f"Instruct: {TASK}\nQuery:", "document": "Document: "}

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, architecture: str) -> Path:
        """Return the folder of ``xlm-roberta cls``, ``xlm-roberta mean`` or ``qwen3 lasttoken``."""
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
        tokenizer = _xlm_r_tokenizer() if kind == "xlm-roberta" else _qwen_tokenizer()
        tokenizer.save_pretrained(base)
        _model(kind, len(tokenizer)).save_pretrained(base)
        modules = [Transformer(str(base)), Pooling(32, pooling_mode=pooling), Normalize()]
        whole = SentenceTransformer(modules=modules, prompts=self.prompts, device="cpu")
        whole.save(str(folder), create_model_card=False)


def _model(kind: str, n_words: int) -> Any:
    from transformers import Qwen3Config, Qwen3Model, XLMRobertaConfig, XLMRobertaModel

    sizes: dict[str, Any] = {
        "vocab_size": n_words,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 600,
        "initializer_range": 0.5,
    }
    if kind == "xlm-roberta":
        return XLMRobertaModel(XLMRobertaConfig(pad_token_id=1, **sizes), add_pooling_layer=False)
    return Qwen3Model(Qwen3Config(head_dim=16, num_key_value_heads=1, **sizes))


def _xlm_r_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(
        TEXTS,
        trainers.UnigramTrainer(
            vocab_size=200, special_tokens=special, unk_token="<unk>", show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=512, **names)


def _qwen_tokenizer() -> Any:
    """Return a byte-level tokenizer that pads on the left and ends each text with ``<|endoftext|>``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(
            vocab_size=500, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet, show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|endoftext|>", padding_side="left", model_max_length=512
    )
