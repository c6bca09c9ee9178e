from pathlib import Path

import pytest

from rag_platform.errors import InvalidSetting
from rag_platform.settings import Settings, example
from rag_platform.settings_file import FOREIGN_NAMES

REFERENCE = {
    "QDRANT_URL": "",
    "QDRANT_API_KEY": "",
    "COLLECTION_NAME": "nepali_docs",
    "EMBEDDING_MODEL": "intfloat/multilingual-e5-small",
    "RERANKER_MODEL": "",
    "LLM_PROVIDER": "",
    "OLLAMA_BASE_URL": "http://localhost:11434",
    "OLLAMA_MODEL": "gemma4",
    "VLLM_BASE_URL": "http://localhost:8000/v1",
    "VLLM_MODEL": "google/gemma-4-E4B-it",
    "OPENAI_API_KEY": "",
    "OPENAI_BASE_URL": "",
    "OPENAI_MODEL": "gpt-4o-mini",
    "GOOGLE_API_KEY": "",
    "GEMINI_MODEL": "gemini-2.5-flash",
    "HF_TOKEN": "",
    "HF_BASE_URL": "https://router.huggingface.co/v1",
    "HF_MODEL_NAME": "Qwen/Qwen3.6-35B-A3B",
    "ANTHROPIC_API_KEY": "",
    "ANTHROPIC_MODEL": "claude-opus-4-6",
    "LLM_API_KEY": "",
    "LLM_BASE_URL": "",
    "TESSERACT_LANGUAGES": "",
    "CHUNK_SIZE": 256,
    "OVERLAP_RATIO": 0.15,
    "TOP_K_RETRIEVAL": 20,
    "TOP_K_RERANK": 5,
    "DENSE_WEIGHT": 0.7,
    "SPARSE_WEIGHT": 0.3,
    "LLM_TEMPERATURE": 0.3,
    "USE_TOOLS": True,
    "EVAL_PROVIDER": "",
    "EVAL_MODEL": "",
    "EVAL_API_KEY": "",
    "EVAL_BASE_URL": "",
}
OURS = {
    "RAG_HOME": Path(".rag"),
    "RAG_PROFILE": "default",
    "RAG_OCR": "auto",
    "RAG_EMBEDDERS": (),
    "RAG_HOST": "127.0.0.1",
    "RAG_PORT": 8080,
}


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in Settings.names():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(settings: Settings) -> dict[str, object]:
    return {
        str(field.validation_alias): getattr(settings, attribute)
        for attribute, field in Settings.model_fields.items()
    }


def test_every_name_and_default_of_the_reference_system() -> None:
    found = values(Settings.load())
    assert {name: found[name] for name in REFERENCE} == REFERENCE
    assert {name: found[name] for name in OURS} == OURS


def test_what_is_not_of_the_reference_system_begins_with_rag() -> None:
    assert all(name.startswith("RAG_") for name in Settings.names() if name not in REFERENCE)


def test_profile_full_restores_the_reference_models_and_ocr_language(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("RAG_PROFILE=full\n")
    settings = Settings.load()
    assert settings.embedding_model == "intfloat/multilingual-e5-large"
    assert settings.reranker_model == "BAAI/bge-reranker-v2-m3"
    assert settings.tesseract_languages == "nep"
    assert settings.active_embedders == ("intfloat/multilingual-e5-large",)


def test_a_value_of_its_own_beats_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_PROFILE", "full")
    monkeypatch.setenv("EMBEDDING_MODEL", "BAAI/bge-m3")
    settings = Settings.load()
    assert (settings.embedding_model, settings.tesseract_languages) == ("BAAI/bge-m3", "nep")


def test_flags_beat_environment_beats_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CHUNK_SIZE=100\nTOP_K_RERANK=7\nCOLLECTION_NAME=ऐन\n", encoding="utf-8")
    monkeypatch.setenv("CHUNK_SIZE", "200")
    assert Settings.load().chunk_size == 200
    assert Settings.load(CHUNK_SIZE=300).chunk_size == 300
    assert Settings.load(CHUNK_SIZE=None).chunk_size == 200
    assert Settings.load().top_k_rerank == 7
    assert Settings.load().collection_name == "ऐन"
    assert Settings.load(env_file=None).top_k_rerank == 5


def test_an_empty_value_means_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUNK_SIZE", "")
    assert Settings.load().chunk_size == 256


def test_embedders_are_a_comma_separated_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EMBEDDERS", "hashing, BAAI/bge-m3,")
    assert Settings.load().active_embedders == ("hashing", "BAAI/bge-m3")
    monkeypatch.delenv("RAG_EMBEDDERS")
    assert Settings.load(EMBEDDING_MODEL="hashing").active_embedders == ("hashing",)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("CHUNKSIZE", "CHUNK_SIZE"),
        ("EMBEDDINGS_MODEL", "EMBEDDING_MODEL"),
        ("chunk_size", "CHUNK_SIZE"),
        ("TOP_K_RETREIVAL", "TOP_K_RETRIEVAL"),
        ("RAG_HOEM", "RAG_HOME"),
        ("RAG_WHATEVER_THIS_IS", "RAG_"),
    ],
)
@pytest.mark.parametrize("where", ["file", "environment", "flag"])
def test_a_misspelt_key_names_the_right_one(
    wrong: str, right: str, where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    flags = {}
    if where == "file":
        (tmp_path / ".env").write_text(f"{wrong}=1\n")
    elif where == "environment":
        monkeypatch.setenv(wrong, "1")
    else:
        flags = {wrong: 1}
    with pytest.raises(InvalidSetting, match=f"unknown setting '{wrong}'.*did you mean '{right}"):
        Settings.load(**flags)


@pytest.mark.parametrize(
    "name",
    [
        *sorted(FOREIGN_NAMES),
        "DAGSTER_HOME",
        "HF_HOME",
        "HF_TOKEN_PATH",
        "HF_HUB_OFFLINE",
        "MY_OPENAI_API_KEY",
        "OLLAMA_HOST",
        "OPENAI_API_BASE",
        "OPENAI_API_KEY_2",
        "OPENAI_ORG_ID",
        "TESSDATA_PREFIX",
        "GEMINI_API_KEY",
        "DATABASE_URL",
    ],
)
def test_keys_of_other_programs_are_ignored(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text(f"{name}=1\n")
    monkeypatch.setenv(name, "2")
    assert values(Settings.load()) == values(Settings.load(env_file=None))


@pytest.mark.parametrize(
    ("name", "value"),
    [("CHUNK_SIZE", "many"), ("CHUNK_SIZE", "0"), ("OVERLAP_RATIO", "1"), ("RAG_OCR", "sometimes")],
)
def test_a_bad_value_is_named(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSetting, match=f"{name}='{value}'"):
        Settings.load()


def test_a_settings_file_named_on_purpose_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"production\.env does not exist"):
        Settings.load(env_file=tmp_path / "production.env")


def test_keys_are_not_shown_by_repr() -> None:
    settings = Settings.load(QDRANT_API_KEY="q-secret", HF_TOKEN="h-secret", EVAL_API_KEY="e-secret")
    assert "secret" not in repr(settings)
    assert settings.qdrant_api_key == "q-secret"


def test_the_committed_example_is_generated_from_settings() -> None:
    committed = Path(__file__).parents[1] / ".env.example"
    assert committed.read_text(encoding="utf-8") == example(), (
        "python -m rag_platform.settings > .env.example"
    )


def test_the_example_uncommented_gives_the_defaults(tmp_path: Path) -> None:
    lines = [line.removeprefix("#") for line in example().splitlines() if not line.startswith(("# ", "##"))]
    (tmp_path / ".env").write_text("\n".join(lines), encoding="utf-8")
    assert len([line for line in lines if line]) == len(Settings.names())
    assert values(Settings.load()) == values(Settings.load(env_file=None))


def test_passwords_are_a_list_that_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_PDF_PASSWORDS", r"गोप्य, a\,b")
    settings = Settings.load()

    assert settings.pdf_passwords == ("गोप्य", "a,b")
    assert "गोप्य" not in repr(settings)
    assert settings.environment()["RAG_PDF_PASSWORDS"] == r"गोप्य,a\,b"
