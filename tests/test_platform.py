"""The platform in one process, sync and async."""

from __future__ import annotations

import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import TEXTS

import rag_platform
from rag_platform import AsyncRagPlatform, RagPlatform
from rag_platform.answering.ask import Delta, Done, Sources
from rag_platform.errors import CallerError, NotPublished, UnknownName
from rag_platform.talk import Conversation

TAX = "सम्पत्ति कर कहिलेसम्म तिर्ने?"
GUIDE = Path(__file__).parent.parent / "docs" / "python.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    for source, text in TEXTS.items():
        (folder / source).parent.mkdir(exist_ok=True)
        (folder / source).write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def rag(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[RagPlatform]:
    home = tmp_path_factory.mktemp("home")
    with RagPlatform.at(home, EMBEDDING_MODEL="hashing", RAG_WORKERS=1) as rag:
        rag.ingest_folder(folder)
        yield rag


def test_a_folder_is_ingested_with_its_paths(rag: RagPlatform, folder: Path) -> None:
    done = rag.ingest_folder(folder)
    assert {one.filename for one in done} == set(TEXTS)
    assert {(one.status, one.pages_extracted, one.chunks_created, one.chunks_indexed) for one in done} == {
        ("unchanged", 1, 1, 1)
    }
    with pytest.raises(CallerError, match="is no folder"):
        rag.ingest_folder(folder / "health.txt")


def test_files_go_into_a_collection_with_what_is_said_of_them(rag: RagPlatform, folder: Path) -> None:
    (done,) = rag.ingest(
        folder / "health.txt", collection="health", metadata={"publisher": "अस्पताल"}, kinds=["text"]
    )
    assert (done.collection_name, done.filename, done.status) == ("health", "health.txt", "ok")
    found = rag.search("boil water", collection="health", filters=["publisher=अस्पताल"])
    assert [hit.chunk.source for hit in found.hits] == ["health.txt"]
    assert dict(rag.search("water", collection=["health", "nepali_docs"]).generations).keys() == {
        "health",
        "nepali_docs",
    }


def test_a_file_that_cannot_be_taken_is_told_with_the_others(rag: RagPlatform, tmp_path: Path) -> None:
    good, bad = tmp_path / "राम्रो.txt", tmp_path / "नराम्रो.txt"
    good.write_text("राम्रो पाठ।", "utf-8")
    bad.write_text("नराम्रो टिप्पणी भएको।", "utf-8")
    (tmp_path / "नराम्रो.txt.meta.toml").write_text("yaer = 2081", "utf-8")
    done = {one.filename: one for one in rag.ingest([good, bad])}
    assert (done["राम्रो.txt"].status, done["नराम्रो.txt"].status) == ("ok", "failed")
    failure = done["नराम्रो.txt"].failure
    assert failure is not None
    assert (failure.stage, failure.code) == ("inbox", "invalid_metadata")


def test_a_text_comes_and_goes(rag: RagPlatform) -> None:
    added = rag.add_text(
        "# बिदा\n\nबुद्ध जयन्तीका दिन कार्यालय बन्द हुन्छ।", name="बिदा.md", metadata={"year": 2082}
    )
    stored = rag.document(added.document_id)
    assert (stored.entry.format, stored.entry.n_chunks) == ("md", 1)
    assert stored.document.text[stored.chunks[0].start : stored.chunks[0].end] == stored.chunks[0].text
    assert rag.document("बिदा.md").entry.document_id == added.document_id
    assert rag.add_text("नाम नभएको पाठ।").filename == rag.add_text("नाम नभएको पाठ।").filename
    assert rag.delete("बिदा.md").status == "deleted"
    with pytest.raises(UnknownName):
        rag.document(added.document_id)
    assert added.document_id in {one.document_id for one in rag.documents(deleted=True)}
    assert "बिदा.md" not in {one.source for one in rag.documents("nepali_docs")}


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_blank_text_is_refused(rag: RagPlatform, text: str) -> None:
    with pytest.raises(CallerError, match="blank"):
        rag.add_text(text)


def test_questions_are_searched_explained_and_answered(rag: RagPlatform) -> None:
    assert rag.search(TAX, k=1).hits[0].chunk.source == "कर सूचना.txt"
    assert rag.explain("kar kahile tirne?").language == "romanized"
    reply = rag.ask(TAX, k=2)
    assert "असार मसान्तभित्र" in reply.answer
    assert len(reply.hits) == 2
    assert all(one.quote in TEXTS[one.source] for one in reply.citations)
    assert rag.ask(TAX, generator="prompt").mode == "prompt"
    alone = rag.ask(TAX, expand=1)
    assert (alone.searched, len(alone.notes)) == ((TAX,), 1)
    events = list(rag.stream(TAX))
    assert isinstance(events[0], Sources)
    assert isinstance(events[-1], Done)
    assert "".join(one.text for one in events if isinstance(one, Delta)) == events[-1].reply.answer


def test_a_conversation_follows(rag: RagPlatform) -> None:
    talk = rag.chat()
    assert isinstance(talk, Conversation)
    talk.ask(TAX)
    assert "सम्पत्ति कर" in talk.ask("त्यसको जरिवाना कति हो?").standalone
    assert [turn.role for turn in talk.history] == ["user", "assistant"] * 2
    with pytest.raises(CallerError):
        talk.ask(" ")
    assert len(talk.history) == 4


def test_what_is_there_is_told(rag: RagPlatform) -> None:
    assert "nepali_docs" in {one.name for one in rag.collections()}
    found = rag.models()
    assert [one.name for one in found.embedding if one.active] == ["hashing"]
    assert [one.name for one in found.rerankers if one.active] == ["none"]
    assert [(one.name, one.active) for one in found.generators] == [("extractive", True), ("prompt", False)]
    info = rag.info()
    assert (info.collection, info.embedding_model, info.reranker) == ("nepali_docs", "hashing", "none")
    assert info.n_documents == len(rag.documents())
    with pytest.raises(UnknownName, match="nepali_docs"):
        rag.documents("nepali_dox")
    with pytest.raises(NotPublished, match="rag sweep"):
        rag.leaderboard()


def test_a_set_is_measured(rag: RagPlatform, tmp_path: Path) -> None:
    documents = tmp_path / "set" / "notices" / "documents"
    documents.mkdir(parents=True)
    (documents / "कर.txt").write_text(TEXTS["कर सूचना.txt"], "utf-8")
    (tmp_path / "set" / "notices" / "data.csv").write_text(
        "question,actual_answer\nसम्पत्ति कर कहिले तिर्ने?,असार मसान्तभित्र\n", "utf-8"
    )
    evaluation = rag.evaluate(tmp_path / "set", measures=["hit@1"])
    assert evaluation.intervals()["hit@1"].mean == 1.0


def test_a_closed_platform_says_so(tmp_path: Path) -> None:
    rag = RagPlatform.at(tmp_path, EMBEDDING_MODEL="hashing")
    rag.close()
    rag.close()
    with pytest.raises(CallerError, match="is closed"):
        rag.search(TAX)


def test_a_system_that_was_given_stays_open(rag: RagPlatform) -> None:
    with RagPlatform(system=rag.system) as other:
        assert other.documents() == rag.documents()
    assert rag.documents()


def test_asyncio_does_not_wait(rag: RagPlatform) -> None:
    async def talk() -> list[object]:
        async with AsyncRagPlatform(system=rag.system) as other:
            added = await other.add_text("पुस्तकालय बिहान दश बजे खुल्छ।", name="पुस्तकालय")
            beats = 0

            async def beat() -> None:
                nonlocal beats
                while True:
                    beats += 1
                    await asyncio.sleep(0.001)

            pulse = asyncio.create_task(beat())
            asked = [f"{n} गते पुस्तकालय बिहान कति बजे खुल्छ?" for n in range(1, 33)]
            replies = await asyncio.gather(*map(other.ask, asked))
            pulse.cancel()
            assert beats > 3
            assert {reply.citations[0].document_id for reply in replies} == {added.document_id}
            kinds = [type(one) async for one in other.stream("पुस्तकालय बिहान कति बजे खुल्छ?")]
            conversation = other.chat()
            await conversation.ask(TAX)
            followed = await conversation.ask("त्यसको जरिवाना कति हो?")
            await other.delete(added.document_id)
            assert len(conversation.history) == 4
            return [kinds[0], kinds[-1], "सम्पत्ति कर" in followed.standalone]

    assert asyncio.run(talk()) == [Sources, Done, True]
    assert rag.documents()  # whose system it was is open


def test_both_have_the_same_methods() -> None:
    def public(one: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(one) if not name.startswith("_")}

    wanted = {
        "add_text",
        "ask",
        "at",
        "chat",
        "close",
        "collections",
        "delete",
        "document",
        "documents",
        "evaluate",
        "explain",
        "info",
        "ingest",
        "ingest_folder",
        "leaderboard",
        "models",
        "search",
        "stream",
    }
    assert wanted <= public(RagPlatform)
    assert wanted <= public(AsyncRagPlatform)


def test_the_names_of_the_package_are_there_and_cost_nothing_before() -> None:
    assert rag_platform.RagPlatform is RagPlatform
    with pytest.raises(AttributeError, match="no attribute 'RagPlatfrom'"):
        _ = rag_platform.RagPlatfrom  # type: ignore[attr-defined]
    code = (
        "import sys, rag_platform;"
        "print(sorted({'pyarrow', 'dagster', 'rag_platform.platform'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


def test_the_platform_works_without_dagster() -> None:
    code = (
        "import sys; import rag_platform.platform, rag_platform.platform_async;"
        "print(sorted({'dagster', 'fastapi', 'torch', 'litellm'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


def test_the_examples_of_the_guide_run(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "documents").symlink_to(folder)
    first, second, _ = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.S)
    exec(compile(first, str(GUIDE), "exec"), {})
    told = capsys.readouterr().out
    assert "health.txt ok 1 1 1" in told
    assert "खानेपानीको धारा शनिबार मर्मत हुन्छ [1]।" in told
    assert told.endswith("deleted\n")
    exec(compile(second, str(GUIDE), "exec"), {})
    assert "Done(" in capsys.readouterr().out
