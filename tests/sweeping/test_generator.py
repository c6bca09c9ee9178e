"""Who answers in a sweep, by its name: with whose key, where, and how it is told from others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rag_platform.errors import InvalidSetting, UnknownName
from rag_platform.sweeping.wiring import load_sweep_generator
from rag_platform.system import System

MakeSystem = Callable[..., System]
PROFILES = '[chat.office]\nprovider = "hf"\nbase_url = "http://10.0.0.7/v1"\nmodel = "m"\ntemperature = 1.5\n'


def test_names_without_a_model(make_system: MakeSystem) -> None:
    system = make_system()
    assert load_sweep_generator(system, "none") is None
    found = [load_sweep_generator(system, name) for name in ("extractive", "prompt")]
    assert [one.name for one in found if one] == ["extractive", "prompt"]
    with pytest.raises(UnknownName, match="extractive"):
        load_sweep_generator(system, "extractiv")


@pytest.mark.parametrize(
    ("name", "settings", "recipe"),
    [
        ("openai/gpt-4o-mini", {"OPENAI_API_KEY": "k"}, "openai/gpt-4o-mini@own address"),
        ("openai/office", {"LLM_BASE_URL": "http://10.0.0.7/v1"}, "openai/office@10.0.0.7/v1"),
        ("ollama/gemma4", {}, "ollama_chat/gemma4@localhost:11434"),
        ("hosted_vllm/m", {}, "hosted_vllm/m@localhost:8000/v1"),
        ("groq", {"LLM_API_KEY": "k"}, "openai/llama-3.3-70b-versatile@api.groq.com/openai/v1"),
        ("cohere_chat/command-r", {"LLM_API_KEY": "k"}, "cohere_chat/command-r@own address"),
        ("office", {}, "openai/m@10.0.0.7/v1"),
    ],
)
def test_a_model_answers_at_temperature_zero_and_its_recipe_stays(
    make_system: MakeSystem, tmp_path: Path, name: str, settings: dict[str, str], recipe: str
) -> None:
    profiles = tmp_path / "models.toml"
    profiles.write_text(PROFILES, encoding="utf-8")
    found = load_sweep_generator(make_system(RAG_MODEL_PROFILES=profiles, **settings), name)
    assert found is not None
    assert found.recipe == f"{recipe}|prompts-2|temperature 0.0|1024 tokens"


def test_a_key_that_is_missing_is_told_before_anything_is_measured(make_system: MakeSystem) -> None:
    with pytest.raises(InvalidSetting, match="OPENAI_API_KEY"):
        load_sweep_generator(make_system(), "openai/gpt-4o-mini")
