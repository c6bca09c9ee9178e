"""The question log: whole lines whoever writes, bounded, and nothing of who asked."""

from __future__ import annotations

import json
import logging
import resource
import signal
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from points import chunks_of

from rag_platform.evaluation.question_sets import from_log
from rag_platform.question_log import QuestionLog
from rag_platform.types import Hit

HITS = [
    Hit(rank, 1.0 / rank, chunk)
    for rank, chunk in enumerate(
        [*chunks_of("कर.txt", ["सम्पत्ति कर", "मालपोत"]), *chunks_of("पानी.txt", ["धारा"])], start=1
    )
]


def lines(log: QuestionLog) -> list[dict[str, object]]:
    return [json.loads(line) for path in log.files for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_question_is_kept_with_what_was_shown(tmp_path: Path) -> None:
    log = QuestionLog.of(tmp_path)
    log.keep("सम्पत्ति कर कति हो?", HITS, {"nepali_docs": 3})
    log.keep("त्यसको जरिवाना?", [], {"a": 1, "b": 2}, standalone="करको जरिवाना?", refused=True)
    assert log.path == tmp_path / "logs" / "questions.jsonl"
    first, second = lines(log)
    now = datetime.now(UTC)
    for line in (first, second):
        kept_at = datetime.fromisoformat(str(line.pop("time")))
        assert timedelta(0) <= now - kept_at < timedelta(minutes=1)
    documents = [HITS[0].chunk.document_id, HITS[2].chunk.document_id]
    assert first == {
        "question": "सम्पत्ति कर कति हो?",
        "generations": {"nepali_docs": 3},
        "documents": documents,
        "refused": None,
    }
    assert second == {
        "question": "त्यसको जरिवाना?",
        "standalone": "करको जरिवाना?",
        "generations": {"a": 1, "b": 2},
        "documents": [],
        "refused": True,
    }
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_it_is_bounded_and_the_oldest_goes(tmp_path: Path) -> None:
    log = QuestionLog(tmp_path, most_bytes=1_000, older=2)
    for n in range(60):
        log.keep(f"प्रश्न {n}?", [], {"nepali_docs": 1}, refused=False)
    assert [path.name for path in log.files] == ["questions.2.jsonl", "questions.1.jsonl", "questions.jsonl"]
    assert all(path.stat().st_size <= 1_000 for path in log.files)
    kept = [str(line["question"]) for line in lines(log)]
    assert kept == [f"प्रश्न {n}?" for n in range(60 - len(kept), 60)]
    assert 10 < len(kept) < 30
    assert [text for _, text in from_log(*log.files)] == kept


WRITER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from rag_platform.question_log import QuestionLog
log, who = QuestionLog(Path(sys.argv[1]), most_bytes=20_000, older=50), sys.argv[2]
with ThreadPoolExecutor(4) as pool:
    for n in range(100):
        pool.submit(log.keep, f"प्रश्न {who} {n} {'लामो ' * 40}", [], {"nepali_docs": n})
"""


def test_lines_are_whole_whoever_writes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, str(who)]) for who in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    log = QuestionLog(tmp_path, older=50)
    asked = {tuple(str(line["question"]).split()[1:3]) for line in lines(log)}
    assert asked == {(str(who), str(n)) for who in range(3) for n in range(100)}
    assert len(log.files) > 3


@pytest.mark.parametrize("hostile", ["क\nख", "\u2028\x00", '"}\n{"question": "forged"}', "\ud800"])
def test_a_hostile_question_is_one_line(tmp_path: Path, hostile: str) -> None:
    log = QuestionLog(tmp_path)
    log.keep(hostile, [], {})
    assert log.path.read_bytes().count(b"\n") == 1
    assert len(lines(log)) == 1


def test_a_disk_that_takes_nothing_stops_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = QuestionLog(tmp_path)
    log.path.mkdir()
    with caplog.at_level(logging.WARNING):
        log.keep("गोप्य प्रश्न", HITS, {})
    assert "a question is not kept: cannot write" in caplog.text
    assert "गोप्य" not in caplog.text


def test_half_a_line_is_taken_back(tmp_path: Path) -> None:
    log = QuestionLog(tmp_path)
    log.keep("पहिलो", [], {})
    size = log.path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, hard))
        log.keep("दोस्रो", [], {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    log.keep("तेस्रो", [], {})
    assert [line["question"] for line in lines(log)] == ["पहिलो", "तेस्रो"]
