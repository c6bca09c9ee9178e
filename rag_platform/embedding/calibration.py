"""Cosines without their bias, and what a word match is worth beside them.

The vectors of most encoders crowd around a common direction: any question is near any passage, and questions
in one script are near each other whatever they ask. ``Calibration`` takes a share of the mean passage vector
from passages and of the mean question vector of the same script from questions. The means are constants of
the model, measured once on texts of our own (``calibrations/``) and never on the collection, so that no
publish moves them. How scores are fused is not decided here.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from rag_platform.errors import CallerError, DamagedFile
from rag_platform.protocols import Encoder, FloatArray
from rag_platform.storage import atomic, storage_errors
from rag_platform.text.language import detect_language, script_shares
from rag_platform.types import Prompt

__all__ = [
    "ENOUGH",
    "SHIPPED",
    "CalibratedEncoder",
    "Calibration",
    "Style",
    "enough_of",
    "file_name",
    "find_calibration",
    "load_calibration",
    "measure",
    "own_passages",
    "own_questions",
    "save_calibration",
    "style_of",
]

Style = Literal["ne", "en", "romanized"]
"""Questions are alike by script, and romanized Nepali is not English."""

SHIPPED = Path(__file__).parent / "calibrations"

_MATCH_SPREADS = 9.5
"""What a passage with all the question's words is worth, in standard deviations of unrelated cosines."""

ENOUGH = 150
"""Own questions of a style from which their mean replaces the shipped one."""

_FEWEST = 20
"""Texts a mean is made of at least."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Constants of one encoder.

    Attributes:
        passage_mean: ``(dim,)`` float32, the mean vector of passages, balanced over scripts.
        query_means: The mean vector of questions of each style.
        share: Of the means that is taken away, 0 to 1; 0 leaves vectors as they are.
        match: What a full lexical match is worth as a difference of cosines.
    """

    passage_mean: FloatArray
    query_means: Mapping[Style, FloatArray]
    share: float
    match: float

    @property
    def recipe(self) -> str:
        """What decides stored vectors; the question means do not."""
        if not self.share:
            return ""
        return f"centred {self.share} {hashlib.sha256(self.passage_mean.tobytes()).hexdigest()[:16]}"

    @property
    def fingerprint(self) -> str:
        """What decides a search: all constants, those of questions and the worth of a match included."""
        digest = hashlib.sha256(f"{self.share} {self.match}".encode())
        for mean in (self.passage_mean, *(self.query_means[style] for style in sorted(self.query_means))):
            digest.update(np.ascontiguousarray(mean).tobytes())
        return digest.hexdigest()[:16]

    def centred(self, vectors: FloatArray, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        """Return ``(n, dim)`` float32, rows L2-normalised, without their share of the mean.

        Args:
            vectors: ``(n, dim)``, as the encoder made them.
            texts: What was encoded; decides which mean a question loses.
            prompt: Which side it is.
        """
        if not self.share or not len(texts):
            return vectors
        if prompt == "passage":
            return _unit(vectors - self.share * self.passage_mean)
        return _unit(vectors - self.share * np.stack([self.query_means[style_of(text)] for text in texts]))


@dataclass(frozen=True, slots=True)
class CalibratedEncoder:
    """An encoder whose vectors are centred.

    Caches keep what ``inner`` says (``embed.embed_texts``), so that new means cost no encoding.
    """

    inner: Encoder
    calibration: Calibration

    @property
    def name(self) -> str:
        """Catalogue name."""
        return self.inner.name

    @property
    def dim(self) -> int:
        """Size of a vector."""
        return self.inner.dim

    @property
    def max_tokens(self) -> int:
        """The model's limit, prefix and special tokens included."""
        return self.inner.max_tokens

    @property
    def recipe(self) -> str:
        """The encoder's, and what decides how passages are centred."""
        return "|".join(filter(None, (self.inner.recipe, self.calibration.recipe)))

    def prompted(self, text: str, prompt: Prompt) -> str:
        """Return the exact text the model reads."""
        return self.inner.prompted(text, prompt)

    def count_tokens(self, text: str, prompt: Prompt) -> int:
        """Return the model's own token count of the prompted text."""
        return self.inner.count_tokens(text, prompt)

    def encode(self, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        """Return ``(len(texts), dim)`` float32, rows L2-normalised, centred."""
        return self.calibration.centred(self.inner.encode(texts, prompt), texts, prompt)


def style_of(text: str) -> Style:
    """Return which questions a question is like.

    >>> style_of("कर कहिले तिर्ने?"), style_of("kar kahile tirne?"), style_of("When is the tax due?")
    ('ne', 'romanized', 'en')
    """
    language = detect_language(text)
    if language in ("romanized", "en"):
        return "romanized" if language == "romanized" else "en"
    return "en" if script_shares(text).get("Latin", 0) > 0.5 else "ne"


def measure(
    encoder: Encoder,
    questions: Mapping[Style, Sequence[str]],
    passages: Sequence[Sequence[str]],
    *,
    share: float,
) -> Calibration:
    """Measure an encoder's constants.

    Args:
        encoder: The bare encoder.
        questions: Of each style, at least 20, better 150 of many topics.
        passages: Passages of each script; each script counts the same.
        share: Of the means that is taken away.

    Raises:
        CallerError: Too few texts, or a share outside 0 to 1.
    """
    if not 0 <= share <= 1:
        raise CallerError(f"the share of the means is {share}, allowed are 0 to 1")
    for name, texts in (*questions.items(), *(("passages", some) for some in passages)):
        if len(texts) < _FEWEST:
            raise CallerError(f"{name}: {len(texts)} texts are too few for a mean; give at least {_FEWEST}")
    if missing := sorted(set(get_args(Style)) - set(questions)):
        raise CallerError(f"no questions of {missing}; give some of each of {list(get_args(Style))}")
    asked = {style: encoder.encode(list(texts), "query") for style, texts in questions.items()}
    read = [encoder.encode(list(texts), "passage") for texts in passages]
    means = {style: vectors.mean(axis=0) for style, vectors in asked.items()}
    made = Calibration(np.mean([some.mean(axis=0) for some in read], axis=0), means, share, 0.0)
    flat = [text for some in passages for text in some]
    centred = made.centred(np.concatenate(read), flat, "passage")
    cosines = [made.centred(asked[style], list(questions[style]), "query") @ centred.T for style in questions]
    spread = float(np.mean([np.std(some) for some in cosines]))
    return Calibration(made.passage_mean, means, share, round(_MATCH_SPREADS * spread, 3))


def own_questions() -> dict[Style, list[str]]:
    """Return the questions that come with the platform, by style: 60 topics, all kinds, our own."""
    found: dict[Style, list[str]] = {"ne": [], "en": [], "romanized": []}
    kinds: dict[str, Style] = {"english": "en", "romanized": "romanized"}
    for line in (SHIPPED / "questions.tsv").read_text(encoding="utf-8").splitlines():
        kind, text = line.split("\t")
        found[kinds.get(kind, "ne")].append(text)
    return found


def own_passages() -> list[list[str]]:
    """Return the passages that come with the platform: Devanagari, then Latin, as many of each."""
    lines = (SHIPPED / "passages.txt").read_text(encoding="utf-8").splitlines()
    return [[line for line in lines if style_of(line) == style] for style in ("ne", "en")]


def enough_of(questions: Sequence[str]) -> dict[Style, list[str]]:
    """Return an installation's questions of those styles of which there are enough to stand alone."""
    found: dict[Style, list[str]] = {}
    for text in dict.fromkeys(line.strip() for line in questions):
        if text:
            found.setdefault(style_of(text), []).append(text)
    return {style: texts for style, texts in found.items() if len(texts) >= ENOUGH}


def file_name(model: str) -> str:
    """Return the name of a model's calibration file."""
    return f"{model.replace('/', '--')}.npz"


def find_calibration(model: str, home: Path) -> Path | None:
    """Return where a model's calibration stands: an installation's own before the shipped one."""
    name = file_name(model)
    return next((path for path in (home / "calibrations" / name, SHIPPED / name) if path.exists()), None)


def load_calibration(path: Path, dim: int) -> Calibration:
    """Read a calibration.

    Raises:
        DamagedFile: It is not one, or of another vector size.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: np.asarray(stored[name], np.float32) for name in stored.files}
        styles: tuple[Style, ...] = get_args(Style)
        made = Calibration(
            arrays["passage"],
            {style: arrays[style] for style in styles},
            round(float(arrays["share"]), 6),
            round(float(arrays["match"]), 6),
        )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedFile(
            f"{path} is no calibration ({error}); remove it, or make it again: rag calibrate"
        ) from error
    if any(mean.shape != (dim,) for mean in (made.passage_mean, *made.query_means.values())):
        raise DamagedFile(f"{path} is for vectors of another size than {dim}; make it again: rag calibrate")
    return made


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Write a calibration, whole or not at all."""
    arrays: dict[str, Any] = {str(style): mean for style, mean in calibration.query_means.items()} | {
        "passage": calibration.passage_mean,
        "share": np.float32(calibration.share),
        "match": np.float32(calibration.match),
    }
    with storage_errors("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic(path) as file:
            np.savez(file, **arrays)


def _unit(vectors: FloatArray) -> FloatArray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: FloatArray = (vectors / np.where(norms > 0, norms, 1)).astype(np.float32)
    return unit
