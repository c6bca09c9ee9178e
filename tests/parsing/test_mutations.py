"""Thousands of damaged files: extraction gives text or an error of ours, in bounded time and memory.

Every file goes through the pool, as in an ingestion: a crash, a hang or a burst of memory is seen as such.
``MUTATIONS`` raises the number (``make soak``), ``MUTATION_SEED`` replays another course.
"""

from __future__ import annotations

import io
import os
import random
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from parsing.seeds import SEEDS

from rag_platform.errors import ParseError, RagError
from rag_platform.parsing.parse import ParseOptions
from rag_platform.parsing.pool import Job, Limits, parse_all
from rag_platform.text.normalize import stored_text
from rag_platform.types import Document

MUTATIONS = int(os.environ.get("MUTATIONS", "1500"))
SEED = int(os.environ.get("MUTATION_SEED", "2082"))
BATCH = 500
LIMITS = Limits(timeout_s=15, memory_mb=1536)
BROKEN = re.compile(r"its reader crashed|the system ended its reader|takes longer than|needs more than")
"""How the pool says that a file harmed its process."""

_NUMBER = re.compile(rb"-?\d+")
_NUMBERS = (b"0", b"-1", b"99999", b"2147483648", b"99999999999999999999", b"1e308", b"NaN", b"")
_PIECES = (
    b"\0", b"\xff\xfe", b"\xf0\x9f", b"\x80", b"<", b"</", b"]]>", b"<!--", b"&#xD800;", b"&#0;", b'"', b"{",
    b"}", b"\\", b"\\bin99999999 ", b"\\u-1?", b"\\'81", b"|", b"\n", b"\f", b"\xe2\x80\x8d" * 5,
    b"<table><tr><td>" * 400, b"<div>" * 3000, b"{" * 3000, b"[" * 3000, b"<w:tbl><w:tr><w:tc>" * 300,
    b"stream\n", b"endobj", b"0 0 0 0 re f ", b"/Kids [1 0 R]", b"9 9 R", b"<<" * 500,
)  # fmt: skip
"""What readers may stumble over: ends, openings, characters that no file may hold, deep nesting."""


def flipped(content: bytearray, at: int, rng: random.Random) -> None:
    content[at] = rng.randrange(256)


def cut_off(content: bytearray, at: int, rng: random.Random) -> None:
    del content[max(1, at) :]


def block_lost(content: bytearray, at: int, rng: random.Random) -> None:
    del content[at : at + rng.choice((1, 7, 60, 900))]


def block_doubled(content: bytearray, at: int, rng: random.Random) -> None:
    content[at:at] = content[at : at + rng.choice((1, 7, 60, 900))] * rng.choice((1, 1, 20))


def block_moved(content: bytearray, at: int, rng: random.Random) -> None:
    piece = content[at : at + 60]
    del content[at : at + 60]
    to = rng.randrange(len(content) + 1)
    content[to:to] = piece


def piece_put_in(content: bytearray, at: int, rng: random.Random) -> None:
    content[at:at] = rng.choice(_PIECES)


def number_changed(content: bytearray, at: int, rng: random.Random) -> None:
    found = _NUMBER.search(content, at)
    if found:
        content[found.start() : found.end()] = rng.choice(_NUMBERS)


KINDS = (flipped, cut_off, block_lost, block_doubled, block_moved, piece_put_in, number_changed)


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Return a file with one to four faults."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if changed:
            rng.choice(KINDS)(changed, rng.randrange(len(changed)), rng)
    return bytes(changed)


def repacked(content: bytes, rng: random.Random) -> bytes:
    """Return a ZIP container whose member has a fault, is lost, or holds what another does."""
    with zipfile.ZipFile(io.BytesIO(content)) as whole:
        members = {name: whole.read(name) for name in whole.namelist()}
    name, other = rng.choice(list(members)), rng.choice(list(members))
    kind = rng.random()
    if kind < 0.05:
        del members[name]
    elif kind < 0.1:
        members[name] = members[other]
    else:
        members[name] = mutated(members[name], rng)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, inside in members.items():
            archive.writestr(each, inside)
    return file.getvalue()


def mutations(folder: Path, n_files: int, seed: int) -> Iterator[Path]:
    """Write damaged files, as many of each seed; the name tells how to make one again."""
    seeds = {name: make(folder) for name, make in SEEDS.items()}
    for number in range(n_files):
        name, content = list(seeds.items())[number % len(seeds)]
        rng = random.Random(f"{seed} {number}")
        is_container = content.startswith(b"PK") and rng.random() < 0.8
        path = folder / f"{seed}-{number}-{name}"
        path.write_bytes((repacked if is_container else mutated)(content, rng))
        yield path


def faults(document: Document) -> Iterator[str]:
    """Yield what is wrong with a document, whatever was in its file."""
    if [page.page_no for page in document.pages] != list(range(1, len(document.pages) + 1)):
        yield "pages are not numbered from 1"
    for page in document.pages:
        page.text.encode()
        if stored_text(page.text).strip() != page.text:
            yield f"page {page.page_no} is not stored text"
        if not 0 <= page.confidence <= 1 or not 0 <= page.score <= 1:
            yield f"page {page.page_no} has confidence {page.confidence}, score {page.score}"
        if any(not 0 <= one.start < one.end <= len(page.text) for one in page.regions):
            yield f"page {page.page_no} has regions outside its text"


def own_fault(error: RagError) -> bool:
    """Say whether the process died of a file, or the message says nothing."""
    return not str(error).strip() or (isinstance(error, ParseError) and bool(BROKEN.search(str(error))))


def outcomes(paths: list[Path]) -> Iterator[tuple[str, Document | RagError]]:
    jobs = [Job(path.name, path, path.name, "c") for path in paths]
    yield from parse_all(jobs, ParseOptions(ocr="never"), workers=2, limits=LIMITS)


@pytest.mark.slow
@pytest.mark.timeout(max(300, MUTATIONS // 10))
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_damaged_files_give_text_or_an_error_of_ours(tmp_path: Path) -> None:
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    for start in range(0, MUTATIONS, BATCH):
        paths = list(mutations(tmp_path, min(BATCH, MUTATIONS - start), SEED + start))
        for name, result in outcomes(paths):
            if isinstance(result, Document):
                counts["text"] += 1
                wrong += [f"{name}: {fault}" for fault in faults(result)]
            else:
                counts[type(result).__name__] += 1
                wrong += [f"{name}: {result}"] if own_fault(result) else []
        for path in paths:
            path.unlink()

    assert not wrong, "\n".join(wrong)
    assert sum(counts.values()) == MUTATIONS
    assert counts["text"] > MUTATIONS / 4, f"mutations so harsh prove little: {counts}"
