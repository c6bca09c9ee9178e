"""The same calls in this process and over HTTP, both for asyncio too: the same values, the same errors."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from http_service import served, wire
from support import TEXTS, drop, ingest

from rag_platform import AsyncRagClient, AsyncRagPlatform, RagClient, RagError, RagPlatform
from rag_platform.answering.conversation import Turn
from rag_platform.errors import CallerError, NotPublished, UnknownName
from rag_platform.evaluation.leaderboard import Leaderboard
from rag_platform.retrieval.options import SearchOptions
from rag_platform.retrieval.result import SearchResult
from rag_platform.system import System
from rag_platform.types import Condition, document_id
from serving.app import create_app

TAX = "सम्पत्ति कर कहिलेसम्म तिर्ने?"
FINE = "त्यसको जरिवाना कति हो?"
LONG = "\n\n".join(f"दफा {number}। " + "यो दफामा लेखिएको कुरा सबैले मान्नुपर्छ। " * 9 for number in range(1, 9))
SAID = [Turn("user", TAX), Turn("assistant", "असार मसान्तभित्र तिर्नुपर्छ। [1]")]
EVERYTHING = SearchOptions(
    k=4,
    candidates=9,
    mode="hybrid",
    fusion="rrf",
    weights=(0.4, 0.6),
    kinds=("text",),
    where=(Condition("language", "=", ("ne", "mixed")), Condition("published", ">=", (20230717,))),
    per_document=2,
    distinct=True,
    neighbours=1,
    around="page",
    keywords=3,
    wordings=("घरको कर बुझाउने म्याद",),
)

Call = Callable[[Any], Any]

READ: dict[str, Call] = {
    "search": lambda rag: rag.search(TAX),
    "search with k": lambda rag: rag.search(TAX, k=1),
    "search in romanized Nepali": lambda rag: rag.search("sampatti kar kahile tirne?", k=2),
    "search with filters": lambda rag: rag.search("दफा", filters=["year=२०८१", "published>=2080-04"]),
    "search by everything": lambda rag: rag.search("दफा मान्नुपर्छ", options=EVERYTHING),
    "search by everything, filtered": lambda rag: rag.search(
        "दफा", k=2, options=dataclasses.replace(EVERYTHING, mode="lexical"), filters=["year=2081|2082"]
    ),
    "search in two collections": lambda rag: rag.search("मौलिक हक", collection=["laws", "nepali_docs"]),
    "search of a model": lambda rag: rag.search(TAX, embedding_model="hashing"),
    "search without a hit": lambda rag: rag.search(TAX, options=SearchOptions(threshold=99.0)),
    "batch": lambda rag: rag.search_batch([TAX, " ", "water"], k=1),
    "batch of none": lambda rag: rag.search_batch([]),
    "explain": lambda rag: rag.explain("kar kahile tirne?", filters=["language=ne"]),
    "ask": lambda rag: rag.ask(TAX, k=2),
    "ask strictly": lambda rag: rag.ask(TAX, strict=True, options=SearchOptions(mode="lexical")),
    "ask on": lambda rag: rag.ask(FINE, history=SAID),
    "ask for the prompt": lambda rag: rag.ask(TAX, generator="prompt", k=1),
    "ask in other words": lambda rag: rag.ask(TAX, expand=1),
    "ask what nobody knows": lambda rag: rag.ask("What is the capital of France?"),
    "stream": lambda rag: rag.stream(TAX),
    "stream from a collection": lambda rag: rag.stream("मौलिक हक", collection="laws"),
    "documents": lambda rag: rag.documents(),
    "documents of a collection": lambda rag: rag.documents("laws"),
    "documents, deleted too": lambda rag: rag.documents(deleted=True),
    "document by source": lambda rag: rag.document("लामो.md"),
    "document of a collection": lambda rag: rag.document("ऐन.txt", collection="laws"),
    "document by id": lambda rag: rag.document(document_id("nepali_docs", "इतिहास.html")),
    "document that failed": lambda rag: rag.document("टुटेको.pdf"),
    "collections": lambda rag: rag.collections(),
    "models": lambda rag: rag.models(),
}

WRONG: dict[str, Call] = {
    "a collection that is none": lambda rag: rag.search(TAX, collection="nepali_dox"),
    "documents of a collection that is none": lambda rag: rag.documents("nepali_dox"),
    "nothing published": lambda rag: rag.search(TAX, collection="empty"),
    "a blank question": lambda rag: rag.search("  "),
    "a blank question to answer": lambda rag: rag.ask("  "),
    "a blank question to stream": lambda rag: rag.stream(""),
    "too few": lambda rag: rag.search(TAX, k=0),
    "a mode that is none": lambda rag: rag.search(TAX, options=SearchOptions(mode="dens")),  # type: ignore[arg-type]
    "a filter that is none": lambda rag: rag.search(TAX, filters=["2081"]),
    "a field that is none": lambda rag: rag.search(TAX, filters=["yaer=2081"]),
    "a model that is none": lambda rag: rag.search(TAX, embedding_model="e5-smal"),
    "a reranker that is none": lambda rag: rag.search(TAX, options=SearchOptions(reranker="x")),
    "a generator that is none": lambda rag: rag.ask(TAX, generator="gpt-5"),
    "a role that is none": lambda rag: rag.ask(TAX, history=[Turn("system", "x")]),  # type: ignore[arg-type]
    "a source that is none": lambda rag: rag.document("लामो.txt"),
    "an id that is none": lambda rag: rag.document(document_id("x", "y")),
    "what is not there to delete": lambda rag: rag.delete("लामो.txt"),
    "no leaderboard": lambda rag: rag.leaderboard(),
    "no run": lambda rag: rag.leaderboard("x"),
    "no folder": lambda rag: rag.ingest_folder("/nowhere"),
    "no file": lambda rag: rag.ingest("/nowhere/x.txt"),
    "a blank text": lambda rag: rag.add_text(" \n"),
    "a name that is none": lambda rag: rag.add_text("पाठ", name=".."),
    "metadata that means nothing": lambda rag: rag.add_text("पाठ", metadata={"yaer": 2081}),
    "metadata without a name": lambda rag: rag.add_text("पाठ", metadata=["2081"]),
}


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    system = wire(tmp_path_factory.mktemp("home"))
    for name in ("laws", "empty"):
        system.catalog.create_collection(name)
        (system.inbox.root / name).mkdir()
    (system.inbox.root / "laws" / "ऐन.txt").write_text("मौलिक हक सबै नागरिकलाई समान हुन्छ।", "utf-8")
    long = f"---\nyear: 2081\npublished: 2081-04-01\n---\n# ऐन\n\n{LONG}"
    drop(system, {**TEXTS, "लामो.md": long, "टुटेको.pdf": "%PDF-1.7 टुटेको", "गएको.txt": "गएको पाठ।"})
    ingest(system)
    with RagPlatform(system=system) as rag:
        rag.delete("गएको.txt")
    yield system
    system.close()


@pytest.fixture(scope="module")
def url(system: System) -> Iterator[str]:
    with served(create_app(system=system)) as client:
        yield str(client.base_url)


@pytest.mark.parametrize("call", READ.values(), ids=READ.keys())
def test_both_say_the_same(call: Call, system: System, url: str) -> None:
    with RagPlatform(system=system) as rag, RagClient(url) as client:
        here, there = came(rag, call), came(client, call)
    assert_same(there, here)
    assert not isinstance(here, RagError)
    near, far = asyncio.run(came_later(system, url, call))
    assert_same(near, here)
    assert_same(far, here)


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_both_fail_the_same(call: Call, system: System, url: str) -> None:
    with RagPlatform(system=system) as rag, RagClient(url) as client:
        here, there = came(rag, call), came(client, call)
    near, far = asyncio.run(came_later(system, url, call))
    assert isinstance(here, RagError)
    assert {(type(one), one.code) for one in (there, near, far)} == {(type(here), here.code)}
    if isinstance(here, UnknownName):
        assert there.kind.split()[0] == here.kind.split()[0]
        assert there.name


def test_both_have_the_same_methods() -> None:
    beside = {"at", "evaluate", "info", "put_text", "remove", "system"}  # what only a process beside can do
    for local, remote in ((RagPlatform, RagClient), (AsyncRagPlatform, AsyncRagClient)):
        assert public(local) - public(remote) == beside & public(local) | ({"off_loop"} & public(local))
        assert public(remote) <= public(local)
    for name in public(RagClient) - {"close", "chat"}:
        known = dict(inspect.signature(getattr(RagPlatform, name)).parameters)
        asked = dict(inspect.signature(getattr(RagClient, name)).parameters)
        missing = known.keys() - asked.keys() - {"self"}
        assert missing <= {"progress"}, name
        assert {one: asked[one].default for one in asked} == {one: known[one].default for one in asked}, name


def test_a_conversation_follows(system: System, url: str) -> None:
    def talked(rag: Any) -> list[Any]:
        talk = rag.chat(collection="nepali_docs", generator="extractive")
        found = [talk.ask(TAX), talk.ask(FINE)]
        with pytest.raises(CallerError):
            talk.ask(" ")
        return [*found, list(talk.history)]

    async def talked_later() -> list[Any]:
        async with AsyncRagClient(url) as client:
            talk = client.chat(collection="nepali_docs", generator="extractive")
            return [await talk.ask(TAX), await talk.ask(FINE), talk.history]

    with RagPlatform(system=system) as rag, RagClient(url) as client:
        here = talked(rag)
        assert_same(talked(client), here)
    assert_same(asyncio.run(talked_later()), here)
    assert "सम्पत्ति कर" in here[1].standalone


def test_documents_go_in_and_out_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    for source, text in TEXTS.items():
        (folder / source).parent.mkdir(parents=True, exist_ok=True)
        (folder / source).write_text(text, "utf-8")
    (folder / "विद्यालय" / "_metadata.toml").write_text('publisher = "विद्यालय"\nyear = 2081\n', "utf-8")
    (folder / "health.txt.meta.toml").write_text("yaer = 2081", "utf-8")
    (folder / "तालिका.csv").write_text("नाम,शुल्क\nनागरिकता,१०\n", "utf-8")
    steps: list[Call] = [
        lambda rag: rag.ingest_folder(folder),
        lambda rag: rag.ingest(str(folder)),
        lambda rag: rag.ingest(
            [folder / "कर सूचना.txt", folder / "विद्यालय"],
            collection="notices",
            metadata={"publisher": "नगरपालिका", "year": 2082},
            kinds=["text"],
            force=True,
        ),
        lambda rag: rag.search("भर्ना", filters=["publisher=विद्यालय"]),
        lambda rag: rag.search("भर्ना", collection="notices", filters=["year=2082"]),
        lambda rag: rag.add_text("बिदा दुई दिन हुन्छ।", name="बिदा", metadata=["year=2081"]),
        lambda rag: rag.add_text("नाम नभएको पाठ।"),
        lambda rag: rag.delete("बिदा.txt"),
        lambda rag: rag.delete("विद्यालय/भर्ना.md", collection="notices"),
        lambda rag: rag.delete("विद्यालय/भर्ना.md", collection="notices"),
        lambda rag: rag.documents(deleted=True),
        lambda rag: rag.document("विद्यालय/भर्ना.md"),
        lambda rag: rag.collections(),
    ]

    with RagPlatform(system=(near := wire(tmp_path / "near"))) as rag:
        here = [came(rag, step) for step in steps]
    with (
        served(create_app(system=wire(tmp_path / "far"))) as service,
        RagClient(str(service.base_url)) as rag,
    ):
        there = [came(rag, step) for step in steps]
    near.close()
    for number, (ours, theirs) in enumerate(zip(here, there, strict=True)):
        assert plain(theirs, timeless=True) == plain(ours, timeless=True), number
    assert {one.filename for one in here[0]} == {*TEXTS, "तालिका.csv"}
    assert [one.failure.code for one in here[0] if one.failure] == ["invalid_metadata"]
    assert isinstance(here[9], UnknownName)
    assert [[hit.chunk.source for hit in here[at].hits[:1]] for at in (3, 4)] == [["विद्यालय/भर्ना.md"]] * 2


def test_a_leaderboard_is_read_back() -> None:
    cell = {"embedding_model": "hashing", "reranker": "none", "variant": ""}
    entry = {"value": 0.5, "ci_low": None, "ci_high": 0.7, "n_queries": 4, "n_failed": 0, "n_skipped": 1}
    entry |= {"worst": 0.5, "tied_with_best": True, "beats": ["b", "c"]}
    state = {
        "letter": "a",
        "status": "complete",
        "reason": "",
        "gate_passed": True,
        "seconds": None,
        "cost": 0.0,
    }
    best = {"cell": cell, "value": 0.5, "n_common": 4, "n_tied": 1, "detectable": None}
    about = dict.fromkeys(("run_id", "name", "note", "created_at", "dataset", "generator", "judge"), "x")
    value = {
        "run": about,
        "main_measure": "nDCG@10",
        "rows": [{**cell, **state, "tied_with_best": True, "measures": {"nDCG@10": entry}}],
        "best": {"nDCG@10": best, "MRR": {**best, "cell": None, "value": None}},
    }
    assert json.loads(json.dumps(Leaderboard.read(value).value())) == value


def test_no_leaderboard_is_told_as_in_this_process(url: str) -> None:
    with RagClient(url) as client, pytest.raises(NotPublished, match="rag sweep"):
        client.leaderboard()


def came(rag: Any, call: Call) -> Any:
    """Return what comes of a call, its error too."""
    try:
        value = call(rag)
        return list(value) if isinstance(value, Iterator) else value
    except RagError as error:
        return error


async def came_later(system: System, url: str, call: Call) -> list[Any]:
    """Return what comes of a call to both that are for asyncio."""
    found = []
    async with AsyncRagPlatform(system=system) as rag, AsyncRagClient(url) as client:
        for one in (rag, client):
            try:
                value = call(one)
                value = [e async for e in value] if isinstance(value, AsyncIterator) else await value
            except RagError as error:
                value = error
            found.append(value)
    return found


def assert_same(found: Any, wanted: Any) -> None:
    assert type(found) is type(wanted), found
    assert plain(found) == plain(wanted)


_TIMELY = ("fingerprint", "claimed", "alias", "generation")
"""What differs between two homes: times and folders, and how many uploads were published."""


def plain(value: Any, *, timeless: bool = False) -> Any:
    """Return a value with its types, without what differs from run to run."""
    left_out = {"milliseconds", "updated_at", *(_TIMELY if timeless else ())}
    if isinstance(value, RagError):
        return type(value).__name__, value.code
    if timeless and isinstance(value, SearchResult):
        value = dataclasses.replace(value, generations={})
    if dataclasses.is_dataclass(value):
        fields = [one.name for one in dataclasses.fields(value) if one.name not in left_out]
        return type(value).__name__, {name: plain(getattr(value, name), timeless=timeless) for name in fields}
    if isinstance(value, Mapping):
        return {key: plain(one, timeless=timeless) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(one, timeless=timeless) for one in value]
    return value


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}
