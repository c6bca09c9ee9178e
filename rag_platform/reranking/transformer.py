"""Rerankers of the hub, or of a local folder, through transformers: cross-encoders and causal models.

Pairs are built here token by token rather than by sentence-transformers' CrossEncoder, whose call cuts the
question as readily as the passage, and which leaves a causal model's template to files of the checkpoint.
torch and transformers are imported when weights are loaded, never before.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rag_platform.embedding.limits import require_readable
from rag_platform.embedding.transformer import DEVICES, INSTALL_MODELS, folder_digest, pick_device
from rag_platform.errors import CallerError, InvalidSetting, MissingDependency, UpstreamError
from rag_platform.privacy import is_offline, keep_private
from rag_platform.protocols import FloatArray
from rag_platform.reranking.catalogue import CausalTemplate, RerankerSpec

__all__ = ["CausalReranker", "CrossEncoderReranker"]

_PASSAGE_ROOM = 4
"""A question with its template takes three quarters of the limit at most: one in four is the passage's."""


class _TorchReranker(ABC):
    """What both kinds share: loading, batches by length, one lock around the model.

    Args:
        spec: The model; its name is looked up on the hub unless ``path`` is given.
        path: A folder with weights and tokenizer, to use instead of the hub.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        batch_size: Pairs in one forward pass.
    """

    def __init__(
        self, spec: RerankerSpec, *, path: Path | None = None, device: str = "auto", batch_size: int = 32
    ) -> None:
        if device not in DEVICES:
            raise InvalidSetting(f"unknown device {device!r}; RAG_DEVICE is one of {', '.join(DEVICES)}")
        self.spec, self.path, self.device, self.batch_size = spec, path, device, batch_size
        self.name = spec.name
        self._lock = threading.RLock()

    @cached_property
    def recipe(self) -> str:
        """Model, revision (of a folder: the digest of its files), template and limit."""
        version = f"folder {folder_digest(self.path)}" if self.path else self.spec.revision or "unpinned"
        template = hashlib.sha256(repr(self.spec.template).encode()).hexdigest()[:12]
        return f"{self.name}@{version}|template {template}|{self.spec.max_tokens} tokens"

    def score(self, query: str, passages: Sequence[str]) -> FloatArray:
        """Return ``(len(passages),)`` float32 logits in the order of ``passages``.

        A pair over the limit loses the end of its passage, never of its question.

        Raises:
            CallerError: A text is blank, or the question is too long.
            MissingDependency: The model or a package is not here.
            UpstreamError: The model gave a value that is no number.
        """
        require_readable([query, *passages])
        scores = np.zeros(len(passages), dtype=np.float32)
        if not len(passages):
            return scores
        with self._lock:
            rows = self.pairs(query, passages)
            order = sorted(range(len(rows)), key=lambda i: len(rows[i]), reverse=True)
            for start in range(0, len(order), self.batch_size):
                batch = order[start : start + self.batch_size]
                scores[batch] = self._logits([rows[i] for i in batch])
        if not np.isfinite(scores).all():
            raise UpstreamError(
                f"{self.name} gave a score that is no number; on a GPU try RAG_DEVICE=cpu"
                " (half precision overflows in some models)"
            )
        return scores

    @abstractmethod
    def pairs(self, query: str, passages: Sequence[str]) -> list[list[int]]:
        """Return the token ids that the model reads, one row a passage."""

    @abstractmethod
    def _logits(self, rows: Sequence[Sequence[int]]) -> FloatArray:
        """Return one score a row."""

    @abstractmethod
    def _architecture(self) -> Any:  # noqa: ANN401
        """Return the class of transformers that loads the weights."""

    def _require_room(self, n_tokens: int) -> None:
        limit = self.spec.max_tokens
        if n_tokens > limit - limit // _PASSAGE_ROOM:
            raise CallerError(
                f"the question has {n_tokens} tokens with the template of {self.name}, which reads {limit}"
                " with the passage; shorten the question or search without reranker"
            )

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Return ids and mask ``(n, longest)``, filled up on the right."""
        import torch

        pad = self._tokenizer.pad_token_id
        width = max(map(len, rows))
        ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        return ids.to(self._model.device), mask.to(self._model.device)

    @property
    def _tokenizer(self) -> Any:  # noqa: ANN401
        return self._loaded[0]

    @property
    def _model(self) -> Any:  # noqa: ANN401
        return self._loaded[1]

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """Load tokenizer and weights: half precision on a GPU, full precision on a CPU."""
        keep_private()
        source: dict[str, Any] = {
            "revision": None if self.path else self.spec.revision,
            "local_files_only": self.path is not None or is_offline(),
        }
        try:
            import torch
            from transformers import AutoTokenizer

            device = pick_device(self.device)
            dtype = torch.float32 if device == "cpu" else torch.bfloat16
            where = str(self.path or self.name)
            tokenizer = AutoTokenizer.from_pretrained(where, **source)
            model, report = self._architecture().from_pretrained(
                where, dtype=dtype, output_loading_info=True, **source
            )
        except ImportError as error:
            raise MissingDependency(
                f"{self.name} needs torch and transformers ({error}); {INSTALL_MODELS}"
            ) from error
        except (OSError, ValueError) as error:
            raise MissingDependency(self._remedy(error)) from error
        if report["missing_keys"]:
            raise MissingDependency(
                f"the weights of {self.name} lack {', '.join(sorted(report['missing_keys'])[:3])}: its score"
                " would come from an untrained head; use weights that were trained as a reranker"
            )
        return tokenizer, model.to(device).eval()

    def _remedy(self, error: Exception) -> str:
        reason = " ".join(str(error).split())[:300]
        if self.path:
            return f"{self.name} cannot be loaded from {self.path}: {reason}; check that folder"
        offline = " (HF_HUB_OFFLINE is set, so only the cache was searched)" if is_offline() else ""
        return (
            f"{self.name} cannot be loaded{offline}: {reason}; where there is a network run:"
            f" hf download {self.name}"
        )


class CrossEncoderReranker(_TorchReranker):
    """A classifier of one output over question and passage; its logit is the score."""

    def pairs(self, query: str, passages: Sequence[str]) -> list[list[int]]:
        """Return ``<s> question </s></s> passage </s>`` in the tokenizer's own form."""
        self._require_room(len(self._tokenizer(query)["input_ids"]))
        rows: list[list[int]] = self._tokenizer(
            [query] * len(passages),
            list(passages),
            truncation="only_second",
            max_length=self.spec.max_tokens,
            verbose=False,
        )["input_ids"]
        return rows

    def _architecture(self) -> Any:  # noqa: ANN401
        from transformers import AutoModelForSequenceClassification

        return AutoModelForSequenceClassification

    def _logits(self, rows: Sequence[Sequence[int]]) -> FloatArray:
        import torch

        ids, mask = self._padded(rows)
        with torch.inference_mode():
            logits = self._model(input_ids=ids, attention_mask=mask).logits
        if logits.shape[1] != 1:
            raise MissingDependency(
                f"{self.name} has a head of {logits.shape[1]} outputs, a reranker has one; check its weights"
            )
        scores: FloatArray = logits[:, 0].float().cpu().numpy()
        return scores


class CausalReranker(_TorchReranker):
    """A language model that is asked for yes or no; the logit of the answer's first token is the score.

    Args:
        spec: With its template.
        path: A folder with weights and tokenizer, to use instead of the hub.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        batch_size: Pairs in one forward pass.
    """

    def __init__(
        self, spec: RerankerSpec, *, path: Path | None = None, device: str = "auto", batch_size: int = 8
    ) -> None:
        super().__init__(spec, path=path, device=device, batch_size=batch_size)
        if spec.template is None:
            raise InvalidSetting(f"the causal reranker {spec.name} has no template in the catalogue")
        self.template: CausalTemplate = spec.template

    def pairs(self, query: str, passages: Sequence[str]) -> list[list[int]]:
        """Return the filled template; over the limit the passage's last tokens fall away."""
        *fixed, last = self.template.pair
        head = [self._tokenizer.bos_token_id] if self.template.bos else []
        head += self._ids(self.template.before)
        head += [token for part in fixed for token in self._ids(part.format(query=query), plain=True)]
        tail = [token for part in self.template.after for token in self._ids(part)]
        bare = self._ids(last.format(query=query, passage=""), plain=True)
        self._require_room(len(head) + len(bare) + len(tail))
        room = self.spec.max_tokens - len(head) - len(tail)
        filled = (last.format(query=query, passage=passage) for passage in passages)
        return [[*head, *self._ids(text, plain=True)[:room], *tail] for text in filled]

    def _ids(self, text: str, *, plain: bool = False) -> list[int]:
        """Return the tokens of a text; ``plain`` text cannot end a turn: ``<|im_end|>`` in it is letters."""
        ids: list[int] = self._tokenizer(
            text, add_special_tokens=False, split_special_tokens=plain, verbose=False
        )["input_ids"]
        return ids

    @cached_property
    def _answers(self) -> tuple[int, int | None]:
        """Return the tokens of yes and no; each has to be one token, or its logit is another word's."""
        found: list[int | None] = []
        for word in (self.template.yes, self.template.no):
            ids = self._ids(word) if word else []
            if word and len(ids) != 1:
                raise MissingDependency(
                    f"the tokenizer of {self.name} cuts {word!r} into {len(ids)} tokens; check its files"
                )
            found.append(ids[0] if ids else None)
        yes, no = found
        assert yes is not None  # a template always has one
        return yes, no

    def _architecture(self) -> Any:  # noqa: ANN401
        from transformers import AutoModelForCausalLM

        return AutoModelForCausalLM

    def _logits(self, rows: Sequence[Sequence[int]]) -> FloatArray:
        """Score the last token of each row; a vocabulary of logits for every token would fill the memory."""
        import torch

        yes, no = self._answers
        ids, mask = self._padded(rows)
        with torch.inference_mode():
            states = self._model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
            last = states[torch.arange(len(rows)), mask.sum(dim=1) - 1]
            logits = self._model.get_output_embeddings()(last).float()
        scores = logits[:, yes] - logits[:, no] if no is not None else logits[:, yes]
        result: FloatArray = scores.cpu().numpy()
        return result
