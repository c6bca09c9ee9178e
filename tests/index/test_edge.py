"""What only the embedded engine can suffer: kills, full disks, closed folders, damaged files."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from points import COLLECTION, MODEL, Corpus, edition, marked, stored, vector_of

from rag_platform.errors import Busy, StorageError
from rag_platform.index.edge import EdgeIndex
from rag_platform.index.exact import ExactIndex
from rag_platform.index.files import writer_lock
from rag_platform.index.lexical import query_terms
from rag_platform.index.lexicon import StoredLexicon, Tally
from rag_platform.text.romanize import phonetic_key

KILLS = int(os.environ.get("KILL_ROUNDS", "5"))


@pytest.fixture
def index(tmp_path: Path) -> EdgeIndex:
    return EdgeIndex(tmp_path / "collections")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", folder], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"may not mount a small file system here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def names(index: EdgeIndex) -> list[str]:
    folder = index.folder(COLLECTION, MODEL) / "generations"
    return sorted(entry.name for entry in folder.iterdir())


def publisher(root: Path, number: int, **options: int) -> subprocess.Popen[str]:
    """Start a process that publishes an edition once it is told to go."""
    script = Path(__file__).with_name("publish_edition.py")
    process = subprocess.Popen(
        [sys.executable, script, root, str(number), json.dumps(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def points_of(corpus: Corpus) -> dict[str, object]:
    """Return ids and payloads of a corpus by the oracle."""
    exact = ExactIndex()
    corpus.publish(exact)
    return {key: chunk for key, (chunk, _) in stored(exact.open(COLLECTION, MODEL)).items()}


def published_points(index: EdgeIndex) -> dict[str, object]:
    return {key: chunk for key, (chunk, _) in stored(index.open(COLLECTION, MODEL)).items()}


def lexicon_files(index: EdgeIndex) -> dict[str, bytes]:
    folder = Path(index.open(COLLECTION, MODEL).manifest.address).with_name("lexicon")
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_layout_and_old_generations(index: EdgeIndex) -> None:
    for number in range(1, 5):
        manifest = edition(number).publish(index)
        folder = index.root / "nepali_docs" / "intfloat--multilingual-e5-small"
        assert manifest.generation == number
        assert manifest.address == str(folder / "generations" / str(number) / "shard")
        assert manifest.alias == str(folder / "CURRENT")
        assert Path(manifest.alias).read_text() == f"{number}\n"
        assert (folder / "generations" / str(number) / "manifest.json").is_file()
    assert names(index) == ["3", "4"]


def test_a_reader_outlives_its_folder(index: EdgeIndex) -> None:
    edition(1).publish(index)
    reader = index.open(COLLECTION, MODEL)
    before = stored(reader)
    for number in (2, 3, 4):
        edition(number).publish(index)
    assert not Path(reader.manifest.address).exists()
    assert stored(reader) == before
    assert reader.fetch(list(before)[:3]) == {key: before[key][0] for key in list(before)[:3]}
    assert len(reader.dense(vector_of(next(iter(before))), limit=10)) == 10
    assert reader.lexical(query_terms("दस्तावेज ५०"), limit=5)
    assert reader.lexicon.frequency("50") == 3
    assert reader.lexicon.candidates(phonetic_key("dastabej")) == [("दस्तावेज", reader.count())]


def test_the_old_generation_is_not_touched_by_the_next(index: EdgeIndex) -> None:
    edition(1).publish(index)
    first = index.open(COLLECTION, MODEL)
    before = stored(first)
    edition(2).publish(index)
    del first
    (index.folder(COLLECTION, MODEL) / "CURRENT").write_text("1\n")
    assert stored(index.open(COLLECTION, MODEL)) == before


def test_the_folder_may_move(index: EdgeIndex, tmp_path: Path) -> None:
    edition(1).publish(index)
    before = stored(index.open(COLLECTION, MODEL))
    shutil.move(index.root, tmp_path / "elsewhere")
    moved = EdgeIndex(tmp_path / "elsewhere")
    assert stored(moved.open(COLLECTION, MODEL)) == before
    assert edition(2).publish(moved).generation == 2


@pytest.mark.slow
def test_killed_at_any_moment(index: EdgeIndex) -> None:
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 100_000))
    moments = random.Random(seed)
    began = time.perf_counter()
    edition(0).publish(index)
    seconds = time.perf_counter() - began
    for number in range(1, KILLS + 1):
        before, after = points_of(edition(number - 1)), points_of(edition(number))
        process = publisher(index.root, number)
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(moments.uniform(0, 1.2) * seconds)
        process.kill()
        process.communicate()
        assert published_points(index) in (before, after), f"seed {seed}, round {number}"
        edition(number).publish(index)
        assert published_points(index) == after, f"seed {seed}, round {number}"
        assert all(name.isdecimal() for name in names(index)), f"seed {seed}, round {number}"
    changed, counted = stored(index.open(COLLECTION, MODEL)), lexicon_files(index)
    edition(KILLS).publish(index, rebuild=True)
    assert stored(index.open(COLLECTION, MODEL)) == changed
    assert lexicon_files(index) == counted


def test_leftovers_of_a_kill_are_removed(index: EdgeIndex) -> None:
    edition(1).publish(index)
    folder = index.folder(COLLECTION, MODEL) / "generations"
    (folder / "2.building" / "shard").mkdir(parents=True)
    shutil.copytree(folder / "1", folder / "2")  # renamed, but killed before the switch
    assert index.open(COLLECTION, MODEL).manifest.generation == 1
    assert edition(2).publish(index).generation == 2
    assert names(index) == ["1", "2"]
    assert published_points(index) == points_of(edition(2))


def test_a_second_publisher_waits_or_is_told(index: EdgeIndex) -> None:
    edition(1).publish(index)
    hasty = EdgeIndex(index.root, lock_timeout_s=0.05)
    with writer_lock(index.folder(COLLECTION, MODEL), 1), pytest.raises(Busy, match=r"writer\.lock"):
        edition(2).publish(hasty)
    assert hasty.open(COLLECTION, MODEL).manifest.generation == 1


@pytest.mark.slow
def test_two_publishers_at_once_lose_nothing(index: EdgeIndex) -> None:
    processes = [publisher(index.root, number) for number in (1, 2)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = sorted(process.communicate(timeout=120)[0] for process in processes)
    assert said == ["published 1\n", "published 2\n"]
    assert published_points(index) in (points_of(edition(1)), points_of(edition(2)))


@pytest.mark.slow
def test_opening_and_publishing_do_not_disturb_each_other(index: EdgeIndex) -> None:
    """The engine writes small files while it opens a shard, in the folder that is copied or removed."""
    marked(1).publish(index)
    opener = "import sys; from points import open_until_closed as run; run(sys.argv[1])"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", opener, index.root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for number in range(2, 12):
        assert marked(number).publish(index).generation == number
    for process in processes:
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert int(said) >= 3
    assert names(index) == ["10", "11"]


def test_threads_publish_one_after_the_other(index: EdgeIndex) -> None:
    threads = [threading.Thread(target=lambda n=n: edition(n).publish(index)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert index.open(COLLECTION, MODEL).manifest.generation == 3


@pytest.mark.slow
def test_a_full_disk(small_disk: Path) -> None:
    index = EdgeIndex(small_disk / "collections")
    edition(0).publish(index)
    filler, said = small_disk / "filler", []
    for number, free_mb in enumerate((0, 40, 66, 90, 130, 300), start=1):
        reader = index.open(COLLECTION, MODEL)
        before = stored(reader)
        process = publisher(index.root, number, chunk_length=9_000)
        free = shutil.disk_usage(small_disk).free
        filler.write_bytes(bytes(max(0, int(free - free_mb * 1e6))))
        answer, _ = process.communicate("go\n", timeout=120)
        assert process.returncode == 0, f"{free_mb} MB free: ended by signal {process.returncode}"
        assert stored(reader) == before
        said.append(answer.split()[0])
        assert said[-1] == "published" or "free some space" in answer
        filler.unlink()
        served = edition(number, chunk_length=9_000)
        if said[-1] == "published":
            assert published_points(index) == points_of(served)
        else:
            assert stored(index.open(COLLECTION, MODEL)) == before
        assert all(name.isdecimal() for name in names(index))
    assert (said[0], said[-1]) == ("StorageError", "published")


def test_a_folder_that_may_not_be_written(small_disk: Path, tmp_path: Path) -> None:
    index = EdgeIndex(small_disk / "collections")
    edition(1).publish(index)
    closed = tmp_path / "closed"
    closed.mkdir()
    subprocess.run(["mount", "--bind", small_disk, closed], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", closed], check=True)
        with pytest.raises(StorageError, match="permissions"):
            edition(2).publish(EdgeIndex(closed / "collections"))
        with pytest.raises(StorageError, match="may be written"):
            EdgeIndex(closed / "collections").open(COLLECTION, MODEL)
    finally:
        subprocess.run(["umount", "--lazy", closed], check=True)
    assert published_points(index) == points_of(edition(1))


@pytest.mark.parametrize(
    "damage",
    [
        "shard gone",
        "segment gone",
        "lexicon gone",
        "words gone",
        "words cut",
        "words of others",
        "terms no arrow",
        "manifest",
        "manifest gone",
        "pointer",
        "pointer no text",
        "far",
    ],
)
def test_damaged_files_are_an_error_to_readers_and_built_anew(
    damage: str, index: EdgeIndex, caplog: pytest.LogCaptureFixture
) -> None:
    shard = Path(edition(1).publish(index).address)
    lexicon = shard.with_name("lexicon")
    if damage == "shard gone":
        shutil.rmtree(shard)
    elif damage == "segment gone":
        shutil.rmtree(next((shard / "segments").iterdir()))
    elif damage == "lexicon gone":
        shutil.rmtree(lexicon)
    elif damage == "words gone":
        (lexicon / "words.arrow").unlink()
    elif damage == "words cut":
        os.truncate(lexicon / "words.arrow", 700)
    elif damage == "words of others":
        StoredLexicon.of(Tally()).save(lexicon.parent / "other")
        shutil.copy(lexicon.parent / "other" / "words.arrow", lexicon)
        shutil.rmtree(lexicon.parent / "other")
    elif damage == "terms no arrow":
        shutil.copy(lexicon / "words.arrow", lexicon / "terms.arrow")
    elif damage == "manifest":
        (shard.parent / "manifest.json").write_text("{")
    elif damage == "manifest gone":
        (shard.parent / "manifest.json").unlink()
    else:
        content = {"pointer": b"x", "pointer no text": b"\xff\xfe", "far": b"99\n"}[damage]
        (index.folder(COLLECTION, MODEL) / "CURRENT").write_bytes(content)
    with pytest.raises(StorageError, match="rag ingest --force"):
        index.open(COLLECTION, MODEL)
    if not damage.startswith(
        ("shard", "segment", "lexicon", "words", "terms")
    ):  # a publisher that asks first is told to publish
        assert index.current(COLLECTION, MODEL) is None
        assert index.published() == []
    manifest = edition(1).publish(index)
    assert manifest.generation == 2
    assert published_points(index) == points_of(edition(1))
    assert "nothing" in caplog.text or "anew" in caplog.text
    assert names(index)[-1] == "2"
