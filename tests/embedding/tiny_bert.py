"""A real but tiny sentence-transformers model with its own tokenizer, built from nothing in a second."""

from __future__ import annotations

from pathlib import Path

DIM, MAX_TOKENS = 32, 64
TEXTS = [
    "नगरपालिकाको वडा कार्यालयले नागरिकता सिफारिसका लागि सूचना जारी गरेको छ।",
    "विद्यालयमा नयाँ शैक्षिक सत्र वैशाख महिनादेखि सुरु हुन्छ।",
    "बालबालिकालाई खोप लगाउन नजिकको स्वास्थ्य चौकीमा जानुहोस्।",
    "The ward office issues recommendation letters every working day.",
]


def build_tiny_bert(folder: Path) -> Path:
    """Save the model with prompts ``query`` and ``document`` in its configuration; return its folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(7)
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    prompts = ["query: passage:"]
    tokenizer.train_from_iterator(
        TEXTS + prompts,
        trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    base = folder / "base"
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=MAX_TOKENS,
    ).save_pretrained(base)
    BertModel(
        BertConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=DIM,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=MAX_TOKENS,
            initializer_range=0.5,
        )
    ).save_pretrained(base)
    model = SentenceTransformer(  # a plain BERT gets mean pooling
        str(base), prompts={"query": "query: ", "document": "passage: "}, device="cpu"
    )
    model.save(str(folder / "model"), create_model_card=False)
    return folder / "model"
