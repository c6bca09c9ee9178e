"""Every provider over real HTTP, each in its own protocol, and what a configuration lacks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_platform.errors import InvalidSetting, UnknownName
from rag_platform.evaluation.judge import PROVIDERS, JudgeCase, judge_endpoint, load_judge

RATING = '{"rating": 5, "reason": "ठीक"}'
OPENAI = ("/v1/chat/completions", "gemma")
ASKED: dict[str, tuple[str, str]] = {
    "openai": ("/v1/chat/completions", "gpt-4o-mini"),
    "openai_compatible": OPENAI,
    "vllm": OPENAI,
    "huggingface": OPENAI,
    "ollama": ("/api/chat", "gemma"),
    "anthropic": ("/v1/messages", "claude-opus-4-6"),
    "gemini": ("/models/gemini-2.5-flash:generateContent", "gemini-2.5-flash"),
}
"""Path and model."""


def reply(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Answer as the provider of this path does."""
    from judge_server import chat

    if path == "/api/chat":
        message = {"role": "assistant", "content": RATING}
        counts = {"prompt_eval_count": 100, "eval_count": 10}
        created = "2026-01-01T00:00:00Z"
        return {"model": "m", "created_at": created, "message": message, "done": True, **counts}
    if path == "/v1/messages":
        content: dict[str, Any] = {"type": "text", "text": RATING}
        if body.get("tools"):
            name = body["tools"][0]["name"]
            content = {"type": "tool_use", "id": "t", "name": name, "input": json.loads(RATING)}
        usage = {"input_tokens": 100, "output_tokens": 10}
        base = {"id": "1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
        return {**base, "content": [content], "usage": usage}
    if path.endswith(":generateContent"):
        content = {"role": "model", "parts": [{"text": RATING}]}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
        return {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage}
    return chat(RATING)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_judges_and_is_counted(provider: str) -> None:
    pytest.importorskip("deepeval", reason="deepeval is not installed (extra judge)")
    litellm = pytest.importorskip("litellm", reason="litellm is not installed (extra judge)")
    from local_server import serving

    path, model = ASKED[provider]
    case = JudgeCase("कति बजे?", "पुस्तकालय बिहान नौ बजे खुल्छ।", ("पुस्तकालय।",))
    with serving(reply) as local:
        base_url = local.url + ("/v1" if path.startswith("/v1/chat") else "")
        endpoint = judge_endpoint(provider, model, api_key="secret-5d", base_url=base_url)
        assert endpoint is not None
        found = load_judge(endpoint, None, timeout_s=5.0, first_wait_s=0.01).score(case, "Natural Nepali")
    assert (found.status, found.value, found.tokens, found.calls) == ("ok", 1.0, 110, 1), found.reason
    price = litellm.model_cost.get(model, {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0})
    expected = 100 * price["input_cost_per_token"] + 10 * price["output_cost_per_token"]
    assert found.cost == pytest.approx(expected)
    assert (expected > 0) == (provider in ("openai", "anthropic", "gemini"))
    assert [asked for asked, _, _ in local.requests] == [path]
    assert "secret-5d" not in repr(endpoint)


@pytest.mark.parametrize(
    ("provider", "model", "options", "lacks"),
    [
        ("openai", "", {"api_key": "k"}, "EVAL_MODEL"),
        ("anthropic", "m", {}, "EVAL_API_KEY"),
        ("vllm", "m", {}, "EVAL_BASE_URL"),
        ("openai_compatible", "m", {"api_key": "k"}, "EVAL_BASE_URL"),
        ("", "m", {}, "EVAL_PROVIDER"),
    ],
)
def test_what_is_missing_is_named(provider: str, model: str, options: dict[str, str], lacks: str) -> None:
    with pytest.raises(InvalidSetting, match=lacks):
        judge_endpoint(provider, model, **options)


def test_no_provider_is_no_judge_and_an_unknown_one_an_error() -> None:
    assert judge_endpoint("", "") is None
    with pytest.raises(UnknownName, match="openai_compatible"):
        judge_endpoint("openai-compatible", "m")
    local = judge_endpoint("ollama", "gemma4")
    assert local is not None
    assert (local.model, local.base_url) == ("ollama_chat/gemma4", "http://localhost:11434")
