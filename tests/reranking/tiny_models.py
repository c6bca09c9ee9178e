"""Real but tiny rerankers of each architecture with their own tokenizers, built from nothing in a second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

TEXTS = [
    "नगरपालिकाको वडा कार्यालयले नागरिकता सिफारिसका लागि सूचना जारी गरेको छ।",
    "विद्यालयमा नयाँ शैक्षिक सत्र वैशाख महिनादेखि सुरु हुन्छ। धारा १२ अनुसार शुल्क लाग्दैन।",
    "Judge whether the Document meets the requirements <Instruct>: <Query>: Yes No yes no A: B:",
    "Given a query A and a passage B, determine whether the passage contains an answer to the query",
]

_MOST_WORDS = 4_000
"""Of a tokenizer."""


def _byte_tokenizer(texts: Sequence[str], special: list[str], **names: Any) -> Any:
    """Return a byte-level BPE tokenizer, as Qwen has one; ``yes``, ``no`` and ``Yes`` are one token each."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_MOST_WORDS,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*texts, *["yes", "no", "Yes", "No"] * 50], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def build_cross_encoder(
    folder: Path, n_labels: int = 1, texts: Sequence[str] = TEXTS, max_tokens: int = 78
) -> Path:
    """Save an XLM-R classifier whose pairs are ``<s> A </s></s> B </s>``; return its folder."""
    import torch
    from embedding.tiny_models import word_pieces
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast, XLMRobertaConfig, XLMRobertaForSequenceClassification

    torch.manual_seed(7)
    tokenizer = Tokenizer(models.Unigram(word_pieces(texts), unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)
    XLMRobertaForSequenceClassification(
        XLMRobertaConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=max_tokens + 2,  # XLM-R counts positions from 2
            num_labels=n_labels,
            pad_token_id=1,
            initializer_range=0.5,
        )
    ).save_pretrained(folder)
    return folder


def build_qwen(folder: Path, texts: Sequence[str] = TEXTS) -> Path:
    """Save a Qwen3 language model with ChatML tokens; return its folder."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(7)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = _byte_tokenizer(texts, special, pad_token="<|endoftext|>", eos_token="<|im_end|>")
    tokenizer.save_pretrained(folder)
    Qwen3ForCausalLM(Qwen3Config(vocab_size=len(tokenizer), head_dim=16, **_SIZES)).save_pretrained(folder)
    return folder


def build_gemma(folder: Path, texts: Sequence[str] = TEXTS) -> Path:
    """Save a Gemma language model whose tokenizer begins with ``<bos>``; return its folder."""
    import torch
    from transformers import GemmaConfig, GemmaForCausalLM

    torch.manual_seed(7)
    tokenizer = _byte_tokenizer(
        texts, ["<pad>", "<eos>", "<bos>"], pad_token="<pad>", eos_token="<eos>", bos_token="<bos>"
    )
    tokenizer.save_pretrained(folder)
    config = GemmaConfig(vocab_size=len(tokenizer), head_dim=16, pad_token_id=0, bos_token_id=2, **_SIZES)
    GemmaForCausalLM(config).save_pretrained(folder)
    return folder


_SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 64,
    "max_position_embeddings": 2048,
    "initializer_range": 0.3,
}
