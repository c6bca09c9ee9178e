"""Centring takes a known share of known means away; caches keep what the model says."""

from pathlib import Path

import numpy as np
import pytest

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.calibration import (
    SHIPPED,
    CalibratedEncoder,
    Calibration,
    enough_of,
    find_calibration,
    load_calibration,
    measure,
    own_passages,
    own_questions,
    save_calibration,
    style_of,
)
from rag_platform.embedding.embed import embed_texts
from rag_platform.embedding.encoders import load_encoder
from rag_platform.errors import CallerError, DamagedFile
from rag_platform.protocols import FloatArray

E5 = "intfloat/multilingual-e5-small"


def calibration(share: float = 0.5) -> Calibration:
    axis = np.eye(3, dtype=np.float32)
    return Calibration(axis[0], {"ne": axis[1], "en": axis[2], "romanized": axis[0]}, share, 0.7)


def unit(*values: float) -> FloatArray:
    vector = np.array(values, np.float32)
    return vector / np.linalg.norm(vector)


def test_a_passage_loses_its_share_of_the_mean() -> None:
    found = calibration().centred(np.array([[1, 1, 0]], np.float32), ["दर्ता"], "passage")
    np.testing.assert_allclose(found, [unit(0.5, 1, 0)], atol=1e-6)


@pytest.mark.parametrize(
    ("question", "mean"),
    [("कर कहिले तिर्ने?", (1, 0.5, 1)), ("When is it due?", (1, 1, 0.5)), ("kar kahile tirne?", (0.5, 1, 1))],
)
def test_a_question_loses_the_mean_of_its_style(question: str, mean: tuple[float, ...]) -> None:
    found = calibration().centred(np.ones((1, 3), np.float32), [question], "query")
    np.testing.assert_allclose(found, [unit(*mean)], atol=1e-6)


def test_without_a_share_vectors_and_recipe_stay() -> None:
    vectors = np.ones((2, 3), np.float32)
    off = calibration(0)
    assert off.centred(vectors, ["क", "ख"], "passage") is vectors
    assert off.recipe == ""


def test_the_recipe_is_that_of_stored_vectors() -> None:
    first, other = calibration(), calibration(0.75)
    assert first.recipe != other.recipe
    own = Calibration(first.passage_mean, dict.fromkeys(first.query_means, first.passage_mean), 0.5, 0.7)
    assert own.recipe == first.recipe  # an installation's questions move no stored vector


def test_the_cache_keeps_what_the_model_says(tmp_path: Path) -> None:
    bare = load_encoder("hashing")
    mean = np.full(bare.dim, 0.05, np.float32)
    encoder = CalibratedEncoder(
        bare, Calibration(mean, {"ne": mean, "en": mean, "romanized": mean}, 1.0, 0.7)
    )
    cache = EmbeddingCache(tmp_path)
    texts = ["नागरिकता प्रमाणपत्र", "घरजग्गा कर"]
    first = embed_texts(encoder, cache, texts, "passage")
    again = embed_texts(encoder, cache, texts, "passage")
    assert (first.n_encoded, again.n_encoded) == (2, 0)
    np.testing.assert_array_equal(first.vectors, again.vectors)
    np.testing.assert_allclose(first.vectors, encoder.encode(texts, "passage"), atol=1e-6)
    raw = embed_texts(bare, cache, texts, "passage")
    assert raw.n_encoded == 0
    assert not np.allclose(raw.vectors, first.vectors)


def test_the_shipped_calibration_is_what_the_shipped_texts_give(tmp_path: Path) -> None:
    path = find_calibration(E5, tmp_path)
    assert path == SHIPPED / "intfloat--multilingual-e5-small.npz"
    shipped = load_calibration(path, 384)
    made = measure(load_encoder(E5), own_questions(), own_passages(), share=shipped.share)
    np.testing.assert_allclose(made.passage_mean, shipped.passage_mean, atol=1e-3)
    for style, mean in made.query_means.items():
        np.testing.assert_allclose(mean, shipped.query_means[style], atol=1e-3)
    assert shipped.share == 0.75
    assert made.match == pytest.approx(shipped.match, abs=0.01)


def test_own_texts_are_of_the_style_they_stand_for() -> None:
    questions = own_questions()
    assert [len(questions[style]) for style in ("ne", "en", "romanized")] == [180, 60, 60]
    assert all(style_of(text) == style for style, texts in questions.items() for text in texts)
    assert [len(texts) for texts in own_passages()] == [24, 24]


def test_an_installation_replaces_the_means_of_which_it_has_enough(tmp_path: Path) -> None:
    asked = [f"वडा नम्बर {n} को कार्यालय कहाँ छ?" for n in range(160)] + ["Where is the ward office?"]
    assert list(enough_of(asked)) == ["ne"]
    (tmp_path / "calibrations").mkdir()
    own = tmp_path / "calibrations" / "intfloat--multilingual-e5-small.npz"
    save_calibration(calibration(), own)
    assert find_calibration(E5, tmp_path) == own
    assert load_calibration(own, 3).query_means["en"].tolist() == [0, 0, 1]


def test_damage_and_other_sizes_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    save_calibration(calibration(), path)
    with pytest.raises(DamagedFile, match="another size than 384"):
        load_calibration(path, 384)
    path.write_bytes(b"not an archive")
    with pytest.raises(DamagedFile, match="rag calibrate"):
        load_calibration(path, 3)


def test_too_few_texts_are_refused() -> None:
    questions = own_questions()
    with pytest.raises(CallerError, match="en: 3 texts are too few"):
        measure(load_encoder("hashing"), {**questions, "en": questions["en"][:3]}, own_passages(), share=0.5)
