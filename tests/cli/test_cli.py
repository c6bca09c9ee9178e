"""``rag`` as people and programs run it: a process of its own, on a home of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pymupdf
import pytest
from support import TEXTS

RAG = [sys.executable, "-m", "rag_platform.cli"]
ROOT = Path(__file__).parents[2]


class Shell:
    """Runs ``rag`` in a folder, with the hashing encoder and nothing of the outer settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "EMBEDDING_MODEL": "hashing",
            "RAG_WORKERS": "1",
            "OMP_THREAD_LIMIT": "1",
        }

    def run(self, *arguments: str, expect: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*RAG, *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == expect, done.stderr
        return done

    def json(self, *arguments: str, expect: int = 0, **environment: str) -> Any:
        return json.loads(self.run(*arguments, "--format", "json", expect=expect, **environment).stdout)


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def pdf(**save: object) -> bytes:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "The ward office is closed on Saturday and on public holidays.")
    return bytes(document.tobytes(**save))


def bad_files() -> dict[str, str | bytes]:
    whole = pdf()
    return {
        "bad/खाली.txt": b"",
        "bad/आधा.pdf": whole[: len(whole) // 3],
        "bad/locked.pdf": pdf(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="गोप्य", owner_pw="x"),
        "bad/पुरानो.doc": bytes.fromhex("d0cf11e0a1b11ae1") + bytes(2048),
        "bad/कार्यक्रम.exe": b"MZ" + bytes(range(256)) * 8,
        "bad/.hidden.txt": "लुकेको",
        "wrong suffix.docx": pdf(),
    }


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("cli"))


@pytest.fixture(scope="module")
def ingested(shell: Shell) -> subprocess.CompletedProcess[str]:
    """Ingest good and bad files together, once for the module."""
    write(shell.folder / "docs", {**TEXTS, **bad_files()})
    return shell.run("ingest", "docs", "--format", "json", expect=1)


def by_source(answer: dict[str, list[dict[str, object]]]) -> dict[str, dict[str, object]]:
    return {str(row["source"]): row for row in answer["documents"]}


def test_good_documents_are_ingested_beside_bad_ones(ingested: subprocess.CompletedProcess[str]) -> None:
    answer = json.loads(ingested.stdout)
    assert set(answer) == {"documents", "collection"}
    rows = by_source(answer)
    assert {source for source, row in rows.items() if row["status"] == "ok"} == {*TEXTS, "wrong suffix.docx"}
    assert set(rows["health.txt"]) == {"source", "partition", "status", "pages", "chunks", "error"}
    assert (rows["health.txt"]["pages"], rows["health.txt"]["chunks"], rows["health.txt"]["error"]) == (
        1,
        1,
        None,
    )
    assert str(rows["कर सूचना.txt"]["partition"]).startswith("कर-सूचना-txt-")
    assert answer["collection"] == {
        "name": "nepali_docs",
        "model": "hashing",
        "generation": 1,
        "points": len(TEXTS) + 1,
    }


@pytest.mark.parametrize(
    ("source", "status", "says"),
    [
        ("bad/खाली.txt", "failed", "empty"),
        ("bad/आधा.pdf", "failed", "damaged"),
        ("bad/locked.pdf", "failed", "password"),
        ("bad/पुरानो.doc", "unsupported", "doc"),
        ("bad/कार्यक्रम.exe", "unsupported", "exe"),
    ],
)
def test_each_refusal_names_its_reason(
    ingested: subprocess.CompletedProcess[str], shell: Shell, source: str, status: str, says: str
) -> None:
    told = by_source(json.loads(ingested.stdout))[source]
    listed = by_source(shell.json("documents"))[source]
    assert (told["status"], listed["status"]) == (status, status)
    assert says in str(told["error"])
    assert listed["error"] == told["error"]
    assert listed["stage"] == "pages"


def test_stderr_is_a_summary_not_a_log(ingested: subprocess.CompletedProcess[str]) -> None:
    assert ingested.stderr.splitlines() == ["5 ok, 3 failed, 2 unsupported"]


def test_hidden_files_of_a_folder_are_skipped(ingested: subprocess.CompletedProcess[str]) -> None:
    assert "bad/.hidden.txt" not in by_source(json.loads(ingested.stdout))


@pytest.mark.usefixtures("ingested")
def test_a_second_ingest_finds_nothing_to_do(shell: Shell) -> None:
    done = shell.run("ingest", *(f"docs/{source}" for source in TEXTS), "--format", "json")
    answer = json.loads(done.stdout)
    assert {row["status"] for row in answer["documents"]} == {"unchanged"}
    assert answer["collection"]["generation"] == 1
    assert done.stderr.splitlines() == [f"nothing to do: all {len(TEXTS)} documents are unchanged"]


@pytest.mark.usefixtures("ingested")
def test_a_refused_document_is_refused_again(shell: Shell) -> None:
    answer = shell.json("ingest", "docs", expect=1)
    assert by_source(answer)["bad/locked.pdf"]["status"] == "failed"
    assert by_source(answer)["health.txt"]["status"] == "unchanged"


@pytest.mark.usefixtures("ingested")
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_search_writes_hits_as_json(shell: Shell, mode: str) -> None:
    (hit,) = shell.json("search", "boil water before drinking", "--k", "1", "--mode", mode)["hits"]
    assert set(hit) == {
        "rank",
        "score",
        "text",
        "source",
        "page_first",
        "page_last",
        "kind",
        "path",
        "header",
        "fields",
        "document_id",
        "chunk_id",
        "scores",
        "context",
        "duplicates",
        "keywords",
    }
    assert (hit["rank"], hit["source"], hit["page_first"], hit["page_last"]) == (1, "health.txt", 1, 1)
    assert hit["text"] == TEXTS["health.txt"]


@pytest.mark.usefixtures("ingested")
def test_search_knows_the_flags_of_the_reference_system(shell: Shell) -> None:
    flags = ["--top-k", "3", "--top-r", "2", "--embedding", "Hashing", "-c", "nepali_docs"]
    assert len(shell.json("search", "पानी", *flags)["hits"]) == 2


@pytest.mark.usefixtures("ingested")
def test_search_takes_kinds(shell: Shell) -> None:
    assert shell.json("search", "पानी", "--kinds", "table,image")["hits"] == []
    assert len(shell.json("search", "पानी", "--kinds", " text", "--k", "2")["hits"]) == 2
    assert "Did you mean 'table'" in shell.run("search", "पानी", "--kinds", "tabel", expect=1).stderr


@pytest.mark.usefixtures("ingested")
def test_search_says_why(shell: Shell) -> None:
    found = shell.json("search", "kar kahile tirne?", "--explain", "--k", "1")
    reasons = found["explanation"]
    assert reasons["language"] == "romanized"
    assert "कर" in reasons["reading"]
    assert set(reasons["candidates"]) == {"dense", "lexical"}
    assert reasons["fusion"] == "calibrated"
    assert {"analysis", "encoding", "dense", "lexical", "fusion"} <= set(reasons["milliseconds"])
    assert found["hits"][0]["scores"]["lexical_rank"] >= 1
    shown = shell.run("search", "kar kahile tirne?", "--explain").stdout
    assert "reading" in shown
    assert "full match is worth" in shown


def test_calibrate_measures_a_model_and_mends_a_damaged_file(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    made = shell.json("calibrate")
    assert (made["model"], made["share"]) == ("hashing", 0)
    assert Path(made["file"]).parent == tmp_path / ".rag" / "calibrations"
    assert shell.json("calibrate", "--share", "0.5")["share"] == 0.5
    assert shell.json("calibrate")["share"] == 0.5
    Path(made["file"]).write_bytes(b"damaged")
    done = shell.run("calibrate", "--format", "json")
    assert json.loads(done.stdout)["share"] == 0
    assert "made anew" in done.stderr
    (tmp_path / "utf16.txt").write_bytes("कर कहिले?".encode("utf-16"))
    assert "save the file as UTF-8" in shell.run("calibrate", "--questions", "utf16.txt", expect=1).stderr


@pytest.mark.usefixtures("ingested")
def test_search_shows_what_stands_around_and_is_choosy(shell: Shell) -> None:
    found = shell.json("search", "सम्पत्ति कर", "--neighbours", "1", "--per-document", "1", "--distinct")[
        "hits"
    ]
    assert len({hit["source"] for hit in found}) == len(found) > 1
    assert all(isinstance(hit["context"], list) for hit in found)
    assert shell.json("search", "सम्पत्ति कर", "--threshold", "9")["hits"] == []
    assert "keywords" in shell.run("search", "सम्पत्ति कर", "--keywords", "3").stdout
    figures = shell.json("collections", "--statistics")["statistics"]
    assert figures[0]["n_chunks"] >= figures[0]["n_documents"] > 1
    assert "reranker" in shell.run("search", "कर", "--reranker", "bge-rerankr-v2-m3", expect=1).stderr


@pytest.mark.usefixtures("ingested")
def test_output_that_cannot_be_written_is_an_error(shell: Shell) -> None:
    for form in ("json", "table"):
        command = " ".join(f"'{part}'" for part in RAG) + f" documents --format {form} > /dev/full"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=shell.folder,
            env=shell.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert "the output cannot be written" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("ingested")
def test_output_is_utf8_under_a_c_locale(shell: Shell) -> None:
    done = shell.run("search", "सम्पत्ति कर", "--k", "1", LC_ALL="C", LANG="C")
    assert "कर सूचना.txt" in done.stdout
    assert "सुनकोशी नगरपालिकाको सूचना" in " ".join(done.stdout.split())


@pytest.mark.usefixtures("ingested")
def test_documents_and_collections_as_tables(shell: Shell) -> None:
    listed = shell.run("documents")
    assert "विद्यालय/भर्ना.md" in listed.stdout
    assert listed.stderr == "10 documents\n"
    (row,) = [line.split() for line in shell.run("collections").stdout.splitlines() if "nepali_docs" in line]
    assert row[:5] == ["nepali_docs", "10", "hashing", "1", "5"]


@pytest.mark.usefixtures("ingested")
def test_a_reader_that_has_enough_is_no_error(shell: Shell) -> None:
    command = " ".join(f"'{part}'" for part in RAG) + " documents --format json | head -c 5"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=shell.folder,
        env=shell.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == '{\n  "'
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr


@pytest.mark.usefixtures("ingested")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["search", "x", "-c", "nepali_doc"],
            "error: unknown published collection 'nepali_doc'. Did you mean",
        ),
        (["search", "x", "--embedding", "bge-m4"], "error: unknown embedding model 'bge-m4'. Did you mean"),
        (["search", " "], "error: the query is blank"),
        (["search", "x", "--env-file", "no.env"], "error: the settings file no.env does not exist"),
        (["documents", "-c", "laws2"], "error: unknown collection 'laws2'"),
        (["delete", "नभएको.txt"], "error: unknown document of 'nepali_docs' 'नभएको.txt'"),
        (["ingest", "docs/health.txt", "--chunk-size", "1"], "error: CHUNK_SIZE='1'"),
        (["ingest", "docs/health.txt", "-c", "नयाँ"], "error: 'नयाँ' is no collection name"),
        (["parse", "docs/bad/locked.pdf"], "error: "),
    ],
)
def test_an_error_is_one_line_and_exit_code_1(shell: Shell, arguments: list[str], says: str) -> None:
    done = shell.run(*arguments, expect=1)
    assert done.stdout == ""
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["search"],
        ["search", "x", "--mode", "magic"],
        ["ingest", "nowhere.txt"],
        ["ingest"],
        ["fly"],
        ["parse", "."],
    ],
)
def test_bad_usage_is_exit_code_2(tmp_path: Path, arguments: list[str]) -> None:
    done = Shell(tmp_path).run(*arguments, expect=2)
    assert done.stdout == ""
    assert "Usage: rag" in done.stderr
    assert not (tmp_path / ".rag").exists()


@pytest.mark.parametrize("command", [["search", "x"], ["documents"], ["collections"], ["delete", "x"]])
def test_reading_where_nothing_is_stored_makes_no_home(tmp_path: Path, command: list[str]) -> None:
    done = Shell(tmp_path).run(*command, expect=1)
    assert f"error: nothing is stored at {tmp_path / '.rag'} yet" in done.stderr
    assert not (tmp_path / ".rag").exists()


def test_parse_shows_one_file_and_stores_nothing(tmp_path: Path) -> None:
    write(tmp_path, TEXTS)  # type: ignore[arg-type]
    shell = Shell(tmp_path)
    text = shell.run("parse", "health.txt")
    assert text.stdout == TEXTS["health.txt"] + "\n"
    answer = shell.json("parse", "विद्यालय/भर्ना.md")
    assert answer["document"]["format"] == "md"
    assert answer["document"]["source"] == "भर्ना.md"
    assert answer["document"]["language"] == "ne"
    (page,) = answer["pages"]
    assert {"page_no", "text", "origin", "confidence", "reason"} <= set(page)
    assert (page["page_no"], page["origin"], page["confidence"]) == (1, "markup", 1.0)
    assert "नयाँ भर्ना वैशाख १५ गतेबाट सुरु हुन्छ।" in page["text"]
    assert not (tmp_path / ".rag").exists()


def test_models_lists_the_catalogue(tmp_path: Path) -> None:
    rows = Shell(tmp_path).json("models")["models"]
    assert len(rows) == 13
    (active,) = [row for row in rows if row["active"]]
    assert (active["name"], active["loadable"], active["remedy"]) == ("hashing", True, None)
    (bundled,) = [row for row in rows if row["name"] == "intfloat/multilingual-e5-small"]
    assert (bundled["dim"], bundled["loadable"]) == (384, True)
    assert all(row["loadable"] or row["remedy"] for row in rows)


def test_doctor_tells_what_works_and_what_to_do(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    found = {row["check"]: row for row in shell.json("doctor")["findings"]}
    assert found["tesseract"]["verdict"] == "ok"
    assert found["model hashing"] == {
        "check": "model hashing",
        "verdict": "ok",
        "found": "active",
        "remedy": "",
    }
    assert "profile full: intfloat/multilingual-e5-large" in found["setting EMBEDDING_MODEL"]["found"]
    assert found["published"]["remedy"] == "rag ingest PATH"
    assert not (tmp_path / ".rag").exists()


def test_doctor_fails_when_the_main_job_cannot_run(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    answer = shell.json(
        "doctor",
        expect=1,
        EMBEDDING_MODEL="BAAI/bge-m3",
        TESSERACT_LANGUAGES="nep+tlh",
        QDRANT_URL="http://127.0.0.1:9",
        HF_HUB_OFFLINE="1",
    )
    missing = {row["check"]: row for row in answer["findings"] if row["verdict"] == "missing"}
    assert set(missing) == {"model BAAI/bge-m3", "tesseract", "qdrant"}
    assert "tlh" in missing["tesseract"]["found"]
    assert all(row["remedy"] for row in missing.values())


def test_version_and_help(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert shell.run("--version").stdout == "rag-platform 0.1.0\n"
    for command in (
        "ingest",
        "search",
        "parse",
        "delete",
        "documents",
        "collections",
        "models",
        "serve",
        "doctor",
    ):
        assert "Usage: rag " + command in shell.run(command, "--help").stdout


@pytest.mark.slow
def test_a_life_of_a_document(tmp_path: Path) -> None:
    """A collection of its own, a new version, --force, deletion, a vanished file."""
    shell = Shell(tmp_path)
    write(
        tmp_path,
        {"ऐन/दफा.txt": "दफा १. यो ऐनलाई पुस्तकालय ऐन भनिनेछ।", "ऐन/नियम.txt": "नियम २. सदस्यता निःशुल्क हुनेछ।"},
    )
    first = shell.json("ingest", "ऐन", "-c", "laws")
    assert first["collection"] == {"name": "laws", "model": "hashing", "generation": 1, "points": 2}
    assert (tmp_path / ".rag/inbox/laws/दफा.txt").exists()
    assert shell.json("search", "पुस्तकालय", "-c", "laws", "--k", "1")["hits"][0]["source"] == "दफा.txt"

    write(tmp_path, {"ऐन/दफा.txt": "दफा १. यो ऐनलाई अभिलेख ऐन भनिनेछ।"})
    second = shell.json("ingest", "ऐन", "-c", "laws")
    assert {row["source"]: row["status"] for row in second["documents"]} == {
        "दफा.txt": "ok",
        "नियम.txt": "unchanged",
    }
    assert second["collection"]["generation"] == 2
    assert "अभिलेख" in shell.json("search", "अभिलेख", "-c", "laws", "--k", "1")["hits"][0]["text"]

    forced = shell.json("ingest", "ऐन/नियम.txt", "-c", "laws", "--force")
    assert {row["source"]: row["status"] for row in forced["documents"]} == {"नियम.txt": "ok"}

    deleted = shell.json("delete", "दफा.txt", "-c", "laws")
    assert [(row["source"], row["status"]) for row in deleted["documents"]] == [("दफा.txt", "deleted")]
    assert deleted["collection"]["points"] == 1
    assert not (tmp_path / ".rag/inbox/laws/दफा.txt").exists()
    assert [row["source"] for row in shell.json("documents", "-c", "laws")["documents"]] == ["नियम.txt"]

    (tmp_path / ".rag/inbox/laws/नियम.txt").unlink()
    write(tmp_path, {"अर्को.txt": "अर्को कागजात।"})
    last = shell.json("ingest", "अर्को.txt", "-c", "laws")
    assert {row["source"]: row["status"] for row in last["documents"]} == {
        "अर्को.txt": "ok",
        "नियम.txt": "deleted",
    }
    assert last["collection"]["points"] == 1


@pytest.mark.slow
def test_ctrl_c_says_one_line_and_the_rest_is_done_later(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    write(tmp_path, {f"docs/{n}.txt": f"कागजात नम्बर {n} मा लेखिएको सूचना।" for n in range(150)})
    process = subprocess.Popen(
        [*RAG, "ingest", "docs"],
        cwd=tmp_path,
        env=shell.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    tables = tmp_path / ".rag" / "tables"
    deadline = time.monotonic() + 60
    while not (tables.is_dir() and len(list(tables.rglob("*.parquet"))) > 3):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.decode() == "interrupted; what was finished is kept, repeat the command to go on\n"
    answer = shell.json("ingest", "docs")
    assert {row["status"] for row in answer["documents"]} <= {"ok", "unchanged"}
    assert answer["collection"]["points"] == 150


@pytest.mark.slow
def test_serve_answers_until_ctrl_c(shell: Shell, ingested: subprocess.CompletedProcess[str]) -> None:
    assert ingested.returncode == 1
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [*RAG, "serve", "--port", str(port)],
        cwd=shell.folder,
        env=shell.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        ready, deadline = 0, time.monotonic() + 60
        while ready != 200:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
            with contextlib.suppress(httpx.TransportError):
                ready = client.get("/readyz").status_code
        hits = client.post("/v1/search", json={"query": "boil water", "k": 1}).json()["hits"]
    assert [hit["source"] for hit in hits] == ["health.txt"]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "")
    assert err == f"serving .rag on http://127.0.0.1:{port} (Ctrl-C stops it)\n"
