"""Named chat models: what a file may say, and what is told when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_platform.answering.profiles import read_profiles
from rag_platform.errors import InvalidSetting, UnknownName
from rag_platform.settings import Settings
from rag_platform.system import System

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
