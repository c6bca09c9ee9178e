"""Named models: what a file may say, and what is told when it is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from local_server import Body, LocalServer, serving
from support import drop, ingest

from rag_platform import ingestion
from rag_platform.errors import InvalidSetting, UnknownName
from rag_platform.evaluation.sweep import grid
from rag_platform.listing import models
from rag_platform.profiles import read_profiles
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.types import DEFAULT_COLLECTION

WRITTEN = """
[chat.fast]
provider = "groq"
key = "GROQ_API_KEY"
temperature = 0

[chat.here]
provider = "hf"
base_url = "http://localhost:8080/v1/chat/completions"
model = "नेपाली-मोडेल"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_profiles_become_connections(tmp_path: Path) -> None:
    found = read_profiles(written(tmp_path, WRITTEN), {"GROQ_API_KEY": "secret"}).chat
    fast, here = found["fast"].connection, found["here"].connection
    assert (fast.model, fast.key, found["fast"].temperature) == ("llama-3.3-70b-versatile", "secret", 0.0)
    assert (here.model, here.base_url, found["here"].temperature) == (
        "नेपाली-मोडेल",
        "http://localhost:8080/v1",
        None,
    )
    assert "secret" not in repr(found)


def test_a_profile_answers_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "secret")
    settings = {"RAG_HOME": tmp_path, "RAG_MODEL_PROFILES": written(tmp_path, WRITTEN)}
    system = System.from_settings(Settings.load(None, **settings))
    assert "temperature 0.0|" in system.generator("fast").recipe
    assert system.generator("fast", temperature=1.5).recipe.count("temperature 1.5|") == 1
    assert "temperature 0.3|" in system.generator("here").recipe
    with pytest.raises(UnknownName, match="fast"):
        system.generator("fasst")
    default = System.from_settings(Settings.load(None, **settings, LLM_PROVIDER="here"))
    assert default.generator().name == "openai/नेपाली-मोडेल"


def test_whoever_answers_by_a_name_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "secret")
    settings = {"RAG_HOME": tmp_path, "RAG_MODEL_PROFILES": written(tmp_path, WRITTEN)}
    plain = System.from_settings(Settings.load(None, **settings))
    listed = {one.name: one.active for one in models(plain).generators}
    assert listed == {"extractive": True, "prompt": False, "fast": False, "here": False}
    chosen = System.from_settings(
        Settings.load(None, **settings, LLM_PROVIDER="here", RAG_LLM_MODELS="gemma")
    )
    found = {one.name: one.active for one in models(chosen).generators}
    assert found == {**listed, "extractive": False, "नेपाली-मोडेल": True, "gemma": False, "here": True}
    assert all(chosen.generator(name) for name in found)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[chat.fast", "no TOML"),
        ('[chat.fast]\nmodel = "x"', "chat.fast.provider"),
        ('[chat.fast]\nprovider = "groq"\ncolour = "red"', "chat.fast.colour"),
        ('[chat.fast]\nprovider = "groq"\ntemperature = 3', "chat.fast.temperature"),
        ('[chat.fast]\nprovider = "groqq"', r"\[chat.fast\].*'groq'"),
        ('[chat.fast]\nprovider = "groq"', "needs a key"),
        ('[chat.fast]\nprovider = "groq"\nkey = "NO_SUCH_KEY"', "NO_SUCH_KEY"),
        ('[chat.prompt]\nprovider = "ollama"\nmodel = "m"', "generator's own name"),
        ('[chat.file]\nprovider = "local"\nmodel = "none.gguf"', r"\[chat.file\].*none.gguf cannot be read"),
        ('[embedding.office]\nbase_url = "http://x/v1"', "embedding.office.model"),
        ('[embedding.office]\nmodel = "bge-m3"', r"\[embedding.office\].*openai/MODEL or litellm"),
        ('[embedding.office]\nmodel = "openai/m"\ndim = 0', "embedding.office.dim"),
        ('[embedding.office]\nmodel = "openai/m"\nkey = "NO_SUCH_KEY"', r"\[embedding.office\].*NO_SUCH_KEY"),
        ('[embedding.office]\nmodel = "openai/m"\nbase_url = "ftp://x"', r"\[embedding.office\].*ftp"),
        ('[embedding.office]\nmodel = "openai/jinaai/jina-embeddings-v3"', "come with its weights"),
        ('[embedding.bge-m3]\nmodel = "openai/m"', "of the catalogue"),
        ('[embedding."a/b"]\nmodel = "openai/m"', "letters, digits"),
    ],
)
def test_a_slip_shows_at_the_start(tmp_path: Path, text: str, match: str) -> None:
    with pytest.raises(InvalidSetting, match=match):
        System.from_settings(
            Settings.load(None, RAG_HOME=tmp_path, RAG_MODEL_PROFILES=written(tmp_path, text))
        )


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"none\.toml"):
        read_profiles(tmp_path / "none.toml", {})


EMBEDDING = """
[embedding.office]
model = "openai/कार्यालय"
base_url = "{url}/v1/embeddings"
key = "OFFICE_KEY"
dim = 8
query = "खोज: "
passage = "पाठ: "
"""
LIBRARY = "पुस्तकालय बिहान ९ बजे खुल्छ। सदस्यले तीन वटा पुस्तक लैजान पाउँछ।"


def vectors(path: str, body: Body) -> Body:
    """Answer with counts of letters, so that equal texts have equal vectors."""
    rows = [[float(1 + text.count(letter)) for letter in "कखगतनपबस"] for text in body["input"]]
    found = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    return {"object": "list", "model": "m", "data": found, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[LocalServer, Path]]:
    monkeypatch.setenv("OFFICE_KEY", "secret-4711")
    with serving(vectors) as server:
        yield server, written(tmp_path, EMBEDDING.format(url=server.url))


def settings_of(tmp_path: Path, profiles: Path) -> Settings:
    given = {"RAG_HOME": tmp_path / "home", "RAG_MODEL_PROFILES": profiles, "RAG_SANITY_GATE": "record"}
    return Settings.load(None, **given, EMBEDDING_MODEL="office", RAG_WORKERS=1)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_named_embedding_model_is_embedded_published_and_searched_with(
    tmp_path: Path, office: tuple[LocalServer, Path]
) -> None:
    server, profiles = office
    system = System.from_settings(settings_of(tmp_path, profiles))
    drop(system, {"पुस्तकालय.txt": LIBRARY})
    ingest(system)
    found = system.searcher.search(
        "पुस्तकालय कति बजे खुल्छ?",
        collection=DEFAULT_COLLECTION,
        model=system.embedding().name,
        options=system.search_options,
    )
    assert found.hits[0].chunk.text == LIBRARY
    assert {manifest.model for manifest in system.index.published()} == {"office"}
    sent = [text for body in server.bodies() for text in body["input"]]
    assert f"पाठ: {LIBRARY}" in sent
    assert sent[-1] == "खोज: पुस्तकालय कति बजे खुल्छ?"
    assert {(path, key) for path, _, key in server.requests} == {("/v1/embeddings", "Bearer secret-4711")}
    assert {(body["model"], body.get("dimensions")) for body in server.bodies()} == {("कार्यालय", 8)}
    system.close()


def test_its_identity_is_what_decides_the_vectors(tmp_path: Path, office: tuple[LocalServer, Path]) -> None:
    def recipe(old: str = "", new: str = "") -> str:
        profiles = written(tmp_path, text.replace(old, new))
        return System.from_settings(settings_of(tmp_path, profiles)).bare_encoder("office").recipe

    text = office[1].read_text(encoding="utf-8")
    first = recipe()
    assert first == recipe('"OFFICE_KEY"', '"HOME"')
    assert "secret" not in first
    changes = [
        ("खोज: ", "q: "),
        ("पाठ: ", ""),
        ("dim = 8", "dim = 4"),
        ("कार्यालय", "m"),
        ("127.0.0.1", "localhost"),
    ]
    assert len({first, *(recipe(*change) for change in changes)}) == len(changes) + 1


def test_a_named_embedding_model_stands_in_every_list(
    tmp_path: Path, office: tuple[LocalServer, Path]
) -> None:
    system = System.from_settings(settings_of(tmp_path, office[1]))
    assert [one.name for one in models(system).embedding if one.active] == ["office"]
    assert (
        grid(["office", "hashing"], ["none"], [""], system.profiles.encoders)[0].embedding_model == "office"
    )
    with pytest.raises(UnknownName, match="Did you mean 'office'"):
        system.encoder("ofice")


def test_what_the_catalogue_knows_of_a_model_need_not_be_said(tmp_path: Path) -> None:
    text = (
        '[embedding.here]\nmodel = "openai/intfloat/multilingual-e5-large"\nbase_url = "localhost:8000/v1"\n'
        '[embedding.jina]\nmodel = "openai/jinaai/jina-embeddings-v3"\nquery = ""\npassage = ""\ndim = 256\n'
    )
    found = read_profiles(written(tmp_path, text), {}).embedding
    spec = found["here"].spec
    assert (spec.name, spec.dim, spec.max_tokens, spec.query.text) == ("here", 1024, 512, "query: ")
    assert (found["here"].base_url, found["here"].dim) == ("http://localhost:8000/v1", 0)
    assert (found["jina"].spec.query.text, found["jina"].dim) == ("", 256)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_model_whose_name_is_gone_stops_nothing(tmp_path: Path, office: tuple[LocalServer, Path]) -> None:
    system = System.from_settings(settings_of(tmp_path, office[1]))
    drop(system, {"पुस्तकालय.txt": LIBRARY})
    ingest(system)
    system.close()
    other = System.from_settings(Settings.load(None, RAG_HOME=tmp_path / "home", EMBEDDING_MODEL="hashing"))
    assert other.published_models() == []
    (done,) = ingestion.ingest(other, [(DEFAULT_COLLECTION, "पुस्तकालय.txt")])
    assert (done.chunks_indexed, other.published_models()) == (1, ["hashing"])
    other.close()
