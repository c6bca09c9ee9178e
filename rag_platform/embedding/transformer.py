"""Models of the hub, or of a local folder, through sentence-transformers.

Everything that is special about torch and the hub stays here; both are imported when weights are loaded,
never before.
"""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rag_platform.embedding.catalogue import EncoderSpec, sized
from rag_platform.embedding.limits import require_fit, require_readable, unit_rows
from rag_platform.errors import InvalidSetting, MissingDependency
from rag_platform.privacy import is_offline, keep_private
from rag_platform.protocols import FloatArray
from rag_platform.types import Prompt

__all__ = [
    "BACKENDS",
    "DEVICES",
    "INSTALL_MODELS",
    "SentenceTransformerEncoder",
    "download_command",
    "folder_digest",
    "pick_device",
]

DEVICES = ("auto", "cpu", "cuda", "mps")
BACKENDS = ("torch", "onnx", "openvino")
INSTALL_MODELS = "pip install 'rag-platform[models]'"
_OPTIMUM = {"onnx": "optimum.onnxruntime", "openvino": "optimum.intel"}


def download_command(spec: EncoderSpec) -> str:
    """Return the shell command that puts a model into the Hugging Face cache."""
    return f"hf download {spec.name}" + (f" --revision {spec.revision}" if spec.revision else "")


def pick_device(device: str) -> str:
    """Return the torch device to run on; ``auto`` is the best that is there.

    Raises:
        InvalidSetting: No such kind of device.
        MissingDependency: This machine, or this build of torch, has no such device.
    """
    if device not in DEVICES:
        raise InvalidSetting(f"unknown device {device!r}; RAG_DEVICE is one of {', '.join(DEVICES)}")
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return next(name for name, available in there.items() if available)
    if not there[device]:
        raise MissingDependency(
            f"device {device!r} is not available to torch {torch.__version__} on this machine;"
            " set RAG_DEVICE=auto or cpu, or install a torch build for that device"
        )
    return device


def _require_backend(backend: str) -> None:
    """Refuse a backend whose packages are not here."""
    module = _OPTIMUM.get(backend)
    if module is None:
        return
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise MissingDependency(
            f"the backend {backend!r} needs {module}, which is missing; install it with:"
            f" pip install 'sentence-transformers[{backend}]', or set RAG_BACKEND=torch"
        )


def folder_digest(path: Path) -> str:
    """Return a digest of every file of a model folder, names included."""
    from rag_platform.storage import storage_errors

    digest = hashlib.sha256()
    with storage_errors("read", path):
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


class SentenceTransformerEncoder:
    """A model that sentence-transformers runs; weights load at the first count or encode.

    The recipe does not name the precision: half precision on a GPU differs from full precision by
    rounding, and vectors of both may stand in one collection.

    Args:
        spec: The model; its name is looked up on the hub unless ``path`` is given.
        path: A folder that sentence-transformers saved, to use instead of the hub.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        batch_size: Texts in one forward pass.
        dim: Size to cut vectors to, of a model trained for it; 0: its own.
        backend: ``torch``, ``onnx`` or ``openvino``; the last two through Optimum, on the CPU.
    """

    def __init__(
        self,
        spec: EncoderSpec,
        *,
        path: Path | None = None,
        device: str = "auto",
        batch_size: int = 32,
        dim: int = 0,
        backend: str = "torch",
    ) -> None:
        if device not in DEVICES:
            raise InvalidSetting(f"unknown device {device!r}; RAG_DEVICE is one of {', '.join(DEVICES)}")
        if backend not in BACKENDS:
            raise InvalidSetting(f"unknown backend {backend!r}; RAG_BACKEND is one of {', '.join(BACKENDS)}")
        self.spec = spec
        self.path = path
        self.device = device
        self.batch_size = batch_size
        self.name = spec.name
        self.dim = sized(spec, dim)
        self.backend = backend
        self._lock = threading.RLock()

    @cached_property
    def recipe(self) -> str:
        """Model, revision (of a folder: the digest of its files), both prompts, and what is not usual."""
        version = f"folder {folder_digest(self.path)}" if self.path else self.spec.revision or "unpinned"
        whole = f"{self.name}@{version}|query {self.spec.query}|passage {self.spec.passage}"
        size = f"|dim {self.dim}" if self.dim != self.spec.dim else ""
        return whole + size + (f"|{self.backend}" if self.backend != "torch" else "")

    @property
    def max_tokens(self) -> int:
        """The catalogue's limit, or that of the loaded weights if they read less."""
        loaded = self._loaded.max_seq_length if "_loaded" in self.__dict__ else None
        return min(self.spec.max_tokens, loaded or self.spec.max_tokens)

    def prompted(self, text: str, prompt: Prompt) -> str:
        """Return the text with its prompt.

        The words of a prompt known by name come with the weights; here its name stands for them.
        """
        spec = self.spec.prompt(prompt)
        return f"{spec.name}\x1f{text}" if spec.name else spec.text + text

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        """Return the model's own token count of the prompted text, special tokens included."""
        return self._counts([text], prompt)[0]

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        """Return ``(len(texts), dim)`` float32, rows L2-normalised, in the order of ``texts``.

        sentence-transformers sorts by length within the call and restores the order.

        Raises:
            CallerError: A text is blank, or a query is too long.
            ChunkTooLong: A passage is too long; the library itself would cut it.
            MissingDependency: The model or a package is not here.
        """
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        require_readable(texts)
        spec = self.spec.prompt(prompt)
        options: dict[str, Any] = {"task": spec.task} if spec.task else {}
        with self._lock:
            counts = self._counts(texts, prompt)  # first, because loaded weights may lower the limit
            require_fit(self.name, self.max_tokens, counts, prompt)
            vectors = self._loaded.encode(
                list(texts),
                prompt=self._words(prompt),
                batch_size=self.batch_size,
                normalize_embeddings=True,
                show_progress_bar=False,
                **options,
            )
        whole = unit_rows(self.name, self.spec.dim, vectors)
        return whole if self.dim == self.spec.dim else unit_rows(self.name, self.dim, whole[:, : self.dim])

    def _counts(self, texts: Sequence[str], prompt: Prompt) -> list[int]:
        with self._lock:
            words = self._words(prompt)
            tokens = self._loaded.tokenizer([words + text for text in texts], truncation=False, verbose=False)
        return [len(ids) for ids in tokens["input_ids"]]

    def _words(self, prompt: Prompt) -> str:
        """Return the prompt's own words; for a name, those that came with the weights."""
        spec = self.spec.prompt(prompt)
        if spec.name is None:
            return spec.text
        prompts: dict[str, str] = self._loaded.prompts
        if spec.name not in prompts:
            raise MissingDependency(
                f"the weights of {self.name} bring no prompt {spec.name!r} (only {sorted(prompts)});"
                f" download them again: {download_command(self.spec)}"
            )
        return prompts[spec.name]

    @cached_property
    def _loaded(self) -> Any:  # noqa: ANN401
        """Load the weights: half precision on a GPU, full precision on a CPU."""
        keep_private()
        try:
            import sentence_transformers
        except ImportError as error:
            raise MissingDependency(
                f"{self.name} needs sentence-transformers and torch ({error}); {INSTALL_MODELS}"
            ) from error
        _require_backend(self.backend)
        device = pick_device(self.device) if self.backend == "torch" else "cpu"
        try:
            model = sentence_transformers.SentenceTransformer(
                str(self.path or self.name),
                device=device,
                revision=None if self.path else self.spec.revision,
                trust_remote_code=self.spec.remote_code,
                local_files_only=self.path is not None or is_offline(),
                backend=self.backend,
            )
        except (ImportError, OSError, ValueError) as error:
            raise MissingDependency(self._remedy(error)) from error
        if self.backend != "torch":
            return model
        return model.float() if device == "cpu" else model.half()

    def _remedy(self, error: Exception) -> str:
        """Say why the weights did not load and what to do about it."""
        reason = " ".join(str(error).split())[:300]
        if self.path:
            return f"{self.name} cannot be loaded from {self.path}: {reason}; check that folder"
        offline = " (HF_HUB_OFFLINE is set, so only the cache was searched)" if is_offline() else ""
        return (
            f"{self.name} cannot be loaded{offline}: {reason}; where there is a network run:"
            f" {download_command(self.spec)}"
        )
