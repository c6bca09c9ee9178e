"""What is written beside documents, through the real pipeline: fields, filters, and what is redone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from qdrant_client import QdrantClient
from support import drop, ingest

from rag_platform import pipeline
from rag_platform.embedding.hashing import HashingEncoder
from rag_platform.entries import Observed
from rag_platform.errors import InvalidMetadata
from rag_platform.index.qdrant import QdrantIndex
from rag_platform.protocols import FloatArray
from rag_platform.retrieval.filters import parse_filters
from rag_platform.retrieval.options import SearchOptions
from rag_platform.system import System
from rag_platform.types import Mode, Prompt

# The in-memory engine says that it searches exactly and has no use for the search width a server reads.
pytestmark = pytest.mark.filterwarnings("ignore:Local mode performs exact:UserWarning")

MODEL, COLLECTION = "hashing", "nepali_docs"

DOCUMENTS: Mapping[str, str] = {
    "सूचना/छात्रवृत्ति.txt": "छात्रवृत्तिको सूचना\n\nमिति: २०८१/०४/१५\n\nविद्यालयका विद्यार्थीले निवेदन दिनुहोला।",
    "सूचना/खोप.txt": "खोप अभियानको सूचना\n\nमिति: २०८०/०२/१०\n\nविद्यालयका विद्यार्थीलाई खोप लगाइनेछ।",
    "श्रम ऐन, २०७४.txt": (
        "श्रम ऐन, २०७४\nप्रमाणीकरण मिति\n२०७४।५।१९\n\nपरिच्छेद १\nप्रारम्भिक\n\n"
        "दफा १. संक्षिप्त नाम: यस ऐनको नाम श्रम ऐन, २०७४ रहेको छ।\n\n"
        "दफा २. परिभाषा: श्रमिक भन्नाले पारिश्रमिक लिई काम गर्ने व्यक्ति सम्झनु पर्छ।\n\n"
        "दफा ३. रोजगारी: विद्यालयका विद्यार्थीलाई काममा लगाउन पाइने छैन।\n"
    ),
    "बजेट 2080-81.txt": "नगरको बजेट\n\nआ.व. २०८०/८१ मा विद्यालयका लागि पाँच करोड रुपैयाँ छुट्याइएको छ।",
    "notice.txt": "Notice of the school: students of the school apply by July 30, 2024.",
}
NOTES: Mapping[str, str] = {
    "सूचना/_metadata.toml": 'publisher = "सुनकोशी नगरपालिका"\nministry = "शिक्षा, विज्ञान तथा प्रविधि मन्त्रालय"\n',
    "सूचना/खोप.txt.meta.toml": 'ministry = "स्वास्थ्य मन्त्रालय"\nx_ward = 7\n',
    "notice.txt.meta.json": json.dumps({"published": "2081-04-20", "publisher": "Sunkoshi School"}),
}


@pytest.fixture
def quick(make_system: Callable[..., System], tmp_path: Path) -> Callable[..., System]:
    """Return a function that wires a system on the engine that publishes fastest."""

    def make(**settings: object) -> System:
        return make_system(
            QdrantIndex(QdrantClient(":memory:"), tmp_path / "home" / "collections"), **settings
        )

    return make


@pytest.fixture
def system(quick: Callable[..., System]) -> System:
    """Return an ingested system to change."""
    system = quick(CHUNK_SIZE=48)
    drop(system, {**DOCUMENTS, **NOTES})
    ingest(system)
    return system


def found(
    system: System, *filters: str, query: str = "विद्यालयका विद्यार्थी school", mode: Mode = "hybrid"
) -> set[str]:
    options = SearchOptions(k=50, candidates=50, mode=mode, where=parse_filters(filters).conditions)
    result = system.searcher.search(query, collection=COLLECTION, model=MODEL, options=options)
    return {hit.chunk.source for hit in result.hits}


def must_not_run() -> NoReturn:
    raise AssertionError("parsed or embedded again")


def without_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = HashingEncoder.encode

    def queries_alone(self: HashingEncoder, texts: Sequence[str], prompt: Prompt) -> FloatArray:
        return encode(self, texts, prompt) if prompt == "query" else must_not_run()

    monkeypatch.setattr(
        "rag_platform.pipeline.parse_all", lambda jobs, *_, **__: must_not_run() if jobs else []
    )
    monkeypatch.setattr(HashingEncoder, "encode", queries_alone)


def test_notes_are_no_documents(system: System) -> None:
    assert {entry.source: entry.status for entry in system.catalog.entries()} == dict.fromkeys(
        DOCUMENTS, "ok"
    )


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["year=2081"], {"सूचना/छात्रवृत्ति.txt", "notice.txt"}),
        (["year=२०८१"], {"सूचना/छात्रवृत्ति.txt", "notice.txt"}),
        (["year>=2080", "year<2081"], {"सूचना/खोप.txt"}),
        (["published>=2080-04-01"], {"सूचना/छात्रवृत्ति.txt", "notice.txt"}),
        (["published=2081-04"], {"सूचना/छात्रवृत्ति.txt", "notice.txt"}),
        (["published=2024-07-30"], {"सूचना/छात्रवृत्ति.txt"}),
        (["published<2024-01-01"], {"सूचना/खोप.txt", "श्रम ऐन, २०७४.txt"}),
        (["ministry=शिक्षा"], {"सूचना/छात्रवृत्ति.txt"}),
        (["ministry=शिक्षा मन्त्रालय|स्वास्थ्य"], {"सूचना/छात्रवृत्ति.txt", "सूचना/खोप.txt"}),
        (["publisher=सुनकोशी  नगरपालिका", "ministry!=शिक्षा"], {"सूचना/खोप.txt"}),
        (["publisher=sunkoshi school"], {"notice.txt"}),
        (["x_ward=7"], {"सूचना/खोप.txt"}),
        (["x_ward>=8"], set()),
        (["fiscal_year=2080/81"], {"बजेट 2080-81.txt"}),
        (["fiscal_years=२०८०।०८१"], {"बजेट 2080-81.txt"}),
        (["act=श्रम ऐन 2074", "section=३"], {"श्रम ऐन, २०७४.txt"}),
        (["dates=2024-07-30"], {"सूचना/छात्रवृत्ति.txt", "notice.txt"}),
        (["language=en"], {"notice.txt"}),
        (["source=notice.txt|सूचना/खोप.txt"], {"notice.txt", "सूचना/खोप.txt"}),
        (["path=परिच्छेद 1"], {"श्रम ऐन, २०७४.txt"}),
        (["publisher=अर्को"], set()),
    ],
)
def test_filters_hold_exactly_in_every_mode(
    shared: System, filters: list[str], expected: set[str], mode: Mode
) -> None:
    assert found(shared, *filters, mode=mode) == expected


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> System:
    """Return one ingested system for the tests that only search."""
    from rag_platform.settings import Settings

    home = tmp_path_factory.mktemp("home")
    system = System.from_settings(
        Settings.load(None, RAG_HOME=home, EMBEDDING_MODEL="hashing", RAG_WORKERS=1, CHUNK_SIZE=48)
    )
    drop(system, {**DOCUMENTS, **NOTES})
    ingest(system)
    return system


def test_a_section_is_found_by_its_number_alone(shared: System) -> None:
    options = SearchOptions(where=parse_filters(["section=३"]).conditions)
    result = shared.searcher.search("विद्यार्थी", collection=COLLECTION, model=MODEL, options=options)
    assert ["काममा लगाउन" in hit.chunk.text for hit in result.hits] == [True]


def test_a_changed_note_changes_fields_without_parsing_or_encoding(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_parsing(monkeypatch)
    drop(system, {"सूचना/खोप.txt.meta.toml": 'ministry = "गृह मन्त्रालय"\n'})
    reports = ingest(system)
    assert [outcome.source for outcome in reports["chunks"].outcomes if outcome.status == "ok"] == [
        "सूचना/खोप.txt"
    ]
    assert reports["pages"].n_done == 0
    assert found(system, "ministry=गृह") == {"सूचना/खोप.txt"}
    assert found(system, "ministry=स्वास्थ्य") == set()
    assert found(system, "publisher=सुनकोशी नगरपालिका") == {"सूचना/छात्रवृत्ति.txt", "सूचना/खोप.txt"}


def test_folder_defaults_reach_everything_below_and_nothing_else(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_parsing(monkeypatch)
    drop(system, {"_metadata.toml": 'publisher = "केन्द्र"\nx_batch = 3\n'})
    reports = ingest(system)
    assert reports["raw_documents"].n_done == len(DOCUMENTS)
    assert found(system, "x_batch=3") == set(DOCUMENTS)
    assert found(system, "publisher=केन्द्र") == {"श्रम ऐन, २०७४.txt", "बजेट 2080-81.txt"}
    system.inbox.path(COLLECTION, "_metadata.toml").unlink()
    ingest(system)
    assert found(system, "x_batch=3") == set()


def test_one_collections_defaults_are_not_anothers(quick: Callable[..., System]) -> None:
    system = quick()
    system.catalog.create_collection("laws")
    drop(system, {"_metadata.toml": 'publisher = "क"\n', "laws/a.txt": "ऐनको पाठ।", "b.txt": "सूचनाको पाठ।"})
    listing = system.inbox.scan(system.catalog.collections())
    notes = {(file.collection, file.source): len(file.notes) for file in listing.files}
    assert notes == {("laws", "a.txt"): 0, (COLLECTION, "b.txt"): 1}
    assert system.inbox.notes("laws", "a.txt") == []


def test_nothing_is_redone_when_nothing_changed(system: System) -> None:
    assert not pipeline.plan(system, [MODEL])
    before = system.index.current(COLLECTION, MODEL)
    ingest(system)
    assert system.index.current(COLLECTION, MODEL) == before


def test_a_renamed_document_with_its_sidecar_is_not_parsed_again(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_parsing(monkeypatch)
    folder = system.inbox.root
    (folder / "notice.txt").rename(folder / "school.txt")
    (folder / "notice.txt.meta.json").rename(folder / "school.txt.meta.json")
    ingest(system)
    assert found(system, "publisher=Sunkoshi School") == {"school.txt"}


def test_a_broken_note_fails_its_document_alone_and_keeps_what_was_made(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = 'publisher = "क"\n\nyear = "हिजो"\n'
    drop(system, {"सूचना/खोप.txt.meta.toml": note, "नयाँ.md": "# नयाँ\n\nविद्यालयका विद्यार्थी"})
    ingest(system)
    entries = {entry.source: entry for entry in system.catalog.entries()}
    failure = entries["सूचना/खोप.txt"].failure
    assert failure is not None
    assert (failure.stage, failure.code) == ("raw_documents", "invalid_metadata")
    assert failure.message.startswith("सूचना/खोप.txt.meta.toml, line 3: 'year' is 'हिजो'; it must be ")
    assert {source for source, entry in entries.items() if entry.status != "ok"} == {"सूचना/खोप.txt"}
    assert {"सूचना/खोप.txt", "नयाँ.md"} <= found(system), "the published passages stay until it is mended"
    without_parsing(monkeypatch)
    drop(system, {"सूचना/खोप.txt.meta.toml": 'publisher = "ठीक"\n'})
    ingest(system)
    assert found(system, "publisher=ठीक") == {"सूचना/खोप.txt"}


def test_parse_settings_of_a_folder_redo_the_parsing_of_its_files_alone(system: System) -> None:
    drop(system, {"सूचना/_metadata.toml": 'publisher = "क"\n[parse]\nkinds = ["text", "table", "image"]\n'})
    reports = ingest(system)
    parsed = {outcome.source for outcome in reports["pages"].outcomes if outcome.status == "ok"}
    assert parsed == {"सूचना/छात्रवृत्ति.txt", "सूचना/खोप.txt"}
    drop(system, {"सूचना/_metadata.toml": 'publisher = "ख"\n[parse]\nkinds = "image, table, text"\n'})
    assert ingest(system)["pages"].n_done == 0
    assert found(system, "publisher=ख") == {"सूचना/छात्रवृत्ति.txt", "सूचना/खोप.txt"}


def test_kinds_of_one_file_are_what_is_kept_of_it(quick: Callable[..., System]) -> None:
    system = quick()
    table = "विद्यालयको तालिका:\n\n| वडा | विद्यार्थी |\n| --- | --- |\n| १ | ३० |\n\nअन्त्यको अनुच्छेद यहाँ छ।"
    drop(system, {"क.md": table, "ख.md": table, "ख.md.meta.toml": '[parse]\nkinds = ["table"]\n'})
    ingest(system)
    kinds: dict[str, set[str]] = {"क.md": set(), "ख.md": set()}
    for point in system.index.open(COLLECTION, MODEL).points():
        kinds[point.chunk.source].add(point.chunk.kind)
    assert kinds == {"क.md": {"text", "table"}, "ख.md": {"table"}}


def test_a_look_sees_a_changed_note_as_a_changed_document(system: System) -> None:
    def look(now: float, quiet_s: float = 5.0) -> Observed:
        return system.catalog.observe(system.inbox.scan([COLLECTION]), now=now, quiet_s=quiet_s)

    note = system.inbox.path(COLLECTION, "सूचना/_metadata.toml")
    assert (look(note.stat().st_mtime + 60)).n_changed == 0
    note.write_text('publisher = "नयाँ नगरपालिका"\n', encoding="utf-8")
    written = note.stat().st_mtime
    assert look(written + 1).n_changed == 2
    look(written + 2)
    assert system.catalog.claim("x", alive=lambda _: True) == [], "it is still being written"
    look(written + 6)
    claimed = system.catalog.claim("y", alive=lambda _: True)
    assert [entry.source for entry in claimed] == ["सूचना/खोप.txt", "सूचना/छात्रवृत्ति.txt"]


def test_languages_of_one_file_reach_its_reader(quick: Callable[..., System]) -> None:
    system = quick(TESSERACT_LANGUAGES="eng")
    drop(
        system,
        {"क.txt": "पाठ", "ख.txt": "पाठ दुई", "ख.txt.meta.toml": '[parse]\nlanguages = ["nep", "eng"]\n'},
    )
    ingest(system)
    entries = {entry.source: pipeline.parse_options(system, entry) for entry in system.catalog.entries()}
    assert {source: options.languages for source, options in entries.items()} == {
        "क.txt": "eng",
        "ख.txt": "nep+eng",
    }


def test_deleting_a_document_takes_its_sidecars_along(system: System) -> None:
    pipeline.delete(system, COLLECTION, "notice.txt")
    assert not list(system.inbox.root.glob("notice*"))
    ingest(system)
    assert found(system, "publisher=Sunkoshi School") == set()


def test_a_sidecar_without_its_document_is_named(system: System) -> None:
    drop(system, {"notice.meta.toml": 'publisher = "क"\n'})
    strays = system.inbox.scan([COLLECTION]).strays
    assert [path.name for path in strays] == ["notice.meta.toml"]


def test_files_from_outside_bring_what_is_said_of_them(quick: Callable[..., System], tmp_path: Path) -> None:
    system = quick()
    for name, publisher in (("ऐन", "कानून आयोग"), ("सूचना", "नगरपालिका")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "_metadata.toml").write_text(
            f'publisher = "{publisher}"\npublished = 2024-07-30\n', "utf-8"
        )
        (folder / f"{name}.txt").write_text(f"{name} को पाठ", "utf-8")
    (tmp_path / "ऐन" / "ऐन.txt.meta.toml").write_text(
        'title = "ठूलो ऐन"\n[parse]\nkinds = ["text"]\n', "utf-8"
    )
    assert system.inbox.add([tmp_path / "ऐन"], COLLECTION) == ["ऐन.txt"]
    assert system.inbox.add([tmp_path / "सूचना"], COLLECTION) == ["सूचना.txt"]
    ingest(system)
    assert found(system, "publisher=कानून आयोग", "title=ठूलो ऐन", "published=2024-07-30", query="पाठ") == {
        "ऐन.txt"
    }
    assert found(system, "publisher=नगरपालिका", query="पाठ") == {"सूचना.txt"}
    before = system.inbox.scan([COLLECTION])
    system.inbox.add([tmp_path / "ऐन", tmp_path / "ऐन" / "_metadata.toml"], COLLECTION)
    assert system.inbox.scan([COLLECTION]) == before, "the same again touches nothing"


def test_a_broken_sidecar_outside_refuses_its_file_alone(
    quick: Callable[..., System], tmp_path: Path
) -> None:
    system = quick()
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("क.txt", "ख.txt"):
        (folder / name).write_text("पाठ", "utf-8")
    (folder / "ख.txt.meta.toml").write_text("publisher = \n", "utf-8")
    refused: dict[str, Exception] = {}
    assert system.inbox.add([folder], COLLECTION, refused=refused) == ["क.txt"]  # type: ignore[arg-type]
    assert list(refused) == ["ख.txt"]
    assert "ख.txt.meta.toml, line 1" in str(refused["ख.txt"])


def test_what_the_command_line_says_wins_and_can_be_taken_back(system: System) -> None:
    system.inbox.note(COLLECTION, "सूचना/खोप.txt", ["ministry=गृह|परराष्ट्र", "x_ward=9", "parse.languages=nep"])
    ingest(system)
    assert found(system, "ministry=परराष्ट्र", "x_ward=9") == {"सूचना/खोप.txt"}
    (entry,) = [entry for entry in system.catalog.entries() if entry.source == "सूचना/खोप.txt"]
    assert entry.languages == "nep"
    system.inbox.note(COLLECTION, "सूचना/खोप.txt", ["ministry=", "parse.languages="])
    ingest(system)
    assert found(system, "ministry=स्वास्थ्य", "x_ward=9") == {"सूचना/खोप.txt"}
    with pytest.raises(InvalidMetadata, match="--meta: unknown field 'yer'"):
        system.inbox.note(COLLECTION, "सूचना/खोप.txt", ["yer=2081"])
    with pytest.raises(InvalidMetadata, match="'publisher' has no '='"):
        system.inbox.note(COLLECTION, "सूचना/खोप.txt", ["publisher"])
