"""Providers over real HTTP: names, addresses, keys, streams, and every way in which they fail."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest
from model_server import BROKEN, BUSY, Fault, Says, replaying, speaking

from rag_platform.answering.chat import Chat, Said
from rag_platform.answering.chat_model import ChatModel
from rag_platform.answering.prompts import alone_messages, messages
from rag_platform.answering.providers import PROVIDERS, Access, Connection, connect, repaired
from rag_platform.errors import (
    CallerError,
    EmptyAnswer,
    FilteredAnswer,
    InvalidSetting,
    PromptTooLong,
    UnknownName,
    UpstreamError,
)
from rag_platform.protocols import KnowsAlone
from rag_platform.settings import Settings
from rag_platform.system import System
from rag_platform.types import Passage

# LiteLLM keeps clients and an event loop for the life of the process
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

KEY = "sk-secret-4711"
TAX = Passage("सम्पत्ति कर मङ्सिर २० गतेभित्र तिर्नुपर्छ।", source="कर, सूचना [२०८२].pdf", page=3)
NOTHING = Access()


def model(url: str, *, timeout_s: float = 5.0) -> ChatModel:
    to = connect("openai_compatible", own=Access(KEY, url, "gpt-4o-mini"), generic=NOTHING)
    return ChatModel(to, timeout_s=timeout_s, first_wait_s=0.01)


def say(chat: ChatModel) -> tuple[list[str], Said]:
    *pieces, said = chat.stream([{"role": "user", "content": "कर कहिले तिर्ने?"}])
    assert isinstance(said, Said)
    return [str(piece) for piece in pieces], said


def test_a_stream_is_told_piece_by_piece_and_counted() -> None:
    with speaking([Says(("मङ्सिर ", "२० गते", " [1]।"))]) as server:
        pieces, said = say(model(f"{server.url}/chat/completions"))
    assert pieces == ["मङ्सिर ", "२० गते", " [1]।"]
    assert (said.text, said.calls, said.usage.tokens) == ("मङ्सिर २० गते [1]।", (), 110)
    assert server.paths == ["/v1/chat/completions"]
    assert server.keys == [f"Bearer {KEY}"]
    assert (server.bodies[0]["model"], server.bodies[0]["temperature"]) == ("gpt-4o-mini", 0.3)


def test_it_is_a_generator() -> None:
    with speaking([Says(("मङ्सिर २० गते [1]।",)), Says(("दिइएका स्रोतमा यस प्रश्नको जवाफ भेटिएन।",))]) as server:
        chat = model(server.url)
        assert isinstance(chat, Chat)
        answer = chat.answer("कर कहिले तिर्ने?", [TAX])
        assert (answer.text, answer.citations, answer.refused) == ("मङ्सिर २० गते [1]।", (1,), False)
        assert chat.answer("राजधानी कहाँ छ?", [TAX]).refused
        assert chat.answer("राजधानी कहाँ छ?", []).refused
    assert len(server.bodies) == 2


def test_it_is_asked_with_numbered_passages_or_for_what_it_knows_itself() -> None:
    with speaking([Says(("मङ्सिर २० गते [1] [7]।",)), Says(("मङ्सिरमा।",))]) as server:
        chat = model(server.url)
        assert chat.answer("कर कहिले तिर्ने?", [TAX]).citations == (1,)
        assert isinstance(chat, KnowsAlone)
        alone = chat.answer_alone("कर कहिले तिर्ने?")
    assert server.messages(0) == messages("कर कहिले तिर्ने?", [TAX])
    assert server.messages(0)[1]["content"].startswith("स्रोत:\n\n[1] कर, सूचना [२०८२].pdf, 3\nसम्पत्ति कर")
    assert server.messages(1) == alone_messages("कर कहिले तिर्ने?")
    assert (alone.text, alone.citations, alone.usage.tokens) == ("मङ्सिरमा।", (), 110)


def test_what_a_call_costs_is_counted_where_the_price_is_known() -> None:
    prices = {"gpt-4o-mini": 100 * 0.15e-6 + 10 * 0.6e-6, "office": 0.0}
    with speaking([Says(("ठीक छ।",))] * 2) as server:
        for name, price in prices.items():
            chat = ChatModel(Connection("openai", name, server.url, KEY))
            assert say(chat)[1].usage.cost == pytest.approx(price)


def test_a_prompt_that_is_too_long_has_a_type_of_its_own() -> None:
    told = "request (24030 tokens) exceeds the available context size (2048 tokens), try increasing it"
    raw = json.dumps({"error": {"code": 400, "message": told, "type": "exceed_context_size_error"}})
    with speaking([Fault(400, raw=raw.encode())]) as server:
        with pytest.raises(PromptTooLong, match="fewer passages") as error:
            model(server.url).answer("कर कहिले तिर्ने?", [TAX])
        assert len(server.bodies) == 1
    assert (error.value.status, error.value.code, error.value.retryable) == (400, "prompt_too_long", False)


def test_ollama_speaks_its_own_way() -> None:
    def line(**more: object) -> bytes:
        message = {"role": "assistant", "content": more.pop("content", "")}
        return json.dumps({"model": "gemma4", "created_at": "x", "message": message, **more}).encode() + b"\n"

    raw = line(content="मङ्सिर ", done=False) + line(content="२० [1]।", done=False)
    raw += line(done=True, done_reason="stop", prompt_eval_count=10, eval_count=5)
    with replaying({"/api/chat": ("application/x-ndjson", raw)}) as server:
        own = Access("", f"{server.url}/v1", "gemma4")
        pieces, said = say(ChatModel(connect("ollama", own=own, generic=NOTHING), temperature=0))
    assert (pieces, said.usage.tokens) == (["मङ्सिर ", "२० [1]।"], 15)
    assert server.bodies[0]["options"] == {"temperature": 0, "num_predict": 1024}


def test_anthropic_speaks_its_own_way() -> None:
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "c"}
    told = [
        {"type": "message_start", "message": message | {"usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "मङ्सिर २० [1]।"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    raw = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in told).encode()
    with replaying({"/v1/messages": ("text/event-stream", raw)}) as server:
        to = connect("anthropic", own=Access(model="claude-opus-4-6"), generic=Access(KEY, server.url))
        _, said = say(ChatModel(to))
    assert (said.text, said.usage.tokens) == ("मङ्सिर २० [1]।", 17)
    assert server.keys == [KEY]


def test_tool_calls_come_in_parts() -> None:
    turn = Says(calls=(("retrieve_documents", '{"query": "कर"}'), ("other", "{}")), finish="tool_calls")
    with speaking([turn]) as server:
        _, said = say(model(server.url))
    assert [(one.id, one.name, one.arguments) for one in said.calls] == [
        ("id_0", "retrieve_documents", '{"query": "कर"}'),
        ("id_1", "other", "{}"),
    ]


def test_halves_of_characters_are_joined_or_dropped() -> None:
    turn = Says(("कर \ud83d", "\ude00 तिर्नुहोस्", " \ud800।"), calls=(("search", '{"query": "कर \ud800"}'),))
    with speaking([turn]) as server:
        pieces, said = say(model(server.url))
    assert (said.text, "".join(pieces)) == ("कर 😀 तिर्नुहोस् ।", "कर 😀 तिर्नुहोस् ।")
    assert said.calls[0].arguments == '{"query": "कर "}'


def test_a_busy_provider_is_asked_again() -> None:
    with speaking([BUSY, BROKEN, Says(("ठीक छ।",))]) as server:
        assert say(model(server.url))[1].text == "ठीक छ।"
    assert len(server.bodies) == 3


@pytest.mark.parametrize("status", [429, 500])
def test_one_that_stays_busy_fails_by_type(status: int) -> None:
    with (
        speaking([Fault(status, (("retry-after", "0"),))] * 5) as server,
        pytest.raises(UpstreamError) as error,
    ):
        say(model(server.url))
    assert error.value.status == status
    assert KEY not in str(error.value)
    assert error.value.__cause__ is None


def test_a_refused_key_is_not_asked_again_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    raw = f'{{"error": {{"message": "wrong key {KEY}"}}}}'.encode()
    with (
        caplog.at_level(logging.DEBUG),
        speaking([Fault(401, raw=raw)]) as server,
        pytest.raises(UpstreamError, match="check the key") as error,
    ):
        say(model(server.url))
    assert KEY not in f"{error.value!r} {error.value} {caplog.text}"
    assert len(server.bodies) == 1


@pytest.mark.parametrize("cut", ["broken", "closed"])
def test_a_stream_that_is_cut_is_no_answer(cut: str) -> None:
    says = Says(("मङ्सिर २० गते [1]। त्यसपछि",), cut=cut)  # type: ignore[arg-type]
    with speaking([says]) as server, pytest.raises(UpstreamError, match="broke off"):
        say(model(server.url))


def test_a_stream_that_falls_silent_is_given_up() -> None:
    with (
        speaking([Says(("क", "ख"), pause_s=0.4)]) as server,
        pytest.raises(UpstreamError, match=r"broke off|no answer"),
    ):
        say(model(server.url, timeout_s=0.2))


def test_a_stream_that_drips_for_ever_is_given_up() -> None:
    says = Says(("क",) * 40, pause_s=0.03)
    with speaking([says]) as server, pytest.raises(UpstreamError, match="still answering"):
        say(model(server.url, timeout_s=0.1))


@pytest.mark.parametrize(
    ("says", "error"), [(Says((" ",)), EmptyAnswer), (Says(finish="content_filter"), FilteredAnswer)]
)
def test_nothing_said_is_an_error_with_a_code(says: Says, error: type[UpstreamError]) -> None:
    with speaking([says]) as server, pytest.raises(error) as raised:
        say(model(server.url))
    assert raised.value.code in ("empty_answer", "filtered_answer")


def test_an_answer_that_is_cut_at_its_limit_says_so() -> None:
    with speaking([Says(("मङ्सिर २०",), finish="length")]) as server:
        assert say(model(server.url))[1].cut_off


def test_what_a_provider_does_not_know_is_left_out_and_named() -> None:
    chat = ChatModel(Connection("openai", "o3-mini", "http://127.0.0.1:9/v1", KEY))
    assert "temperature" in chat.dropped
    assert chat.has_tools


@pytest.mark.parametrize(
    ("given", "root", "expected"),
    [
        ("https://api.groq.com/openai/v1/chat/completions", "", "https://api.groq.com/openai/v1"),
        ("https://api.mistral.ai/v1/", "", "https://api.mistral.ai/v1"),
        (' "https://openrouter.ai/api/v1/completions" ', "", "https://openrouter.ai/api/v1"),
        ("localhost:8000/v1", "", "http://localhost:8000/v1"),
        ("api.deepseek.com/v1/models", "", "https://api.deepseek.com/v1"),
        ("http://localhost:11434/v1", "/v1", "http://localhost:11434"),
        ("http://localhost:11434/api/chat", "/v1", "http://localhost:11434"),
        ("", "", ""),
    ],
)
def test_a_pasted_address_is_repaired(given: str, root: str, expected: str) -> None:
    assert repaired(given, root=root) == expected


def test_an_address_that_is_none_is_refused() -> None:
    for given in ("ftp://x", "http://[", "http://host:द्वार", "https://"):
        with pytest.raises(InvalidSetting, match=re.escape(given)):
            repaired(given)


def test_a_key_goes_to_its_own_server_alone() -> None:
    own = Access("own-key", "", "gpt-4o-mini")
    elsewhere = connect("openai", own=own, generic=Access("", "http://10.0.0.7/v1"))
    assert (elsewhere.base_url, elsewhere.key) == ("http://10.0.0.7/v1", "")
    assert connect("openai", own=own, generic=Access("generic", "http://10.0.0.7/v1")).key == "generic"
    assert connect("openai", own=own, generic=Access("generic")).key == "own-key"
    assert "own-key" not in repr(connect("openai", own=own, generic=NOTHING))


@pytest.mark.parametrize(
    ("provider", "match"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("azure", "RAG_AZURE_ENDPOINT"),
        ("gemini", "GOOGLE_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("hf_cloud", "HF_TOKEN"),
        ("hf", "LLM_BASE_URL"),
        ("groq", "LLM_API_KEY"),
    ],
)
def test_what_is_missing_is_named(provider: str, match: str) -> None:
    with pytest.raises(InvalidSetting, match=match):
        connect(provider, own=Access(model="m"), generic=NOTHING)


def test_an_unknown_provider_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="ollama"):
        connect("olama", own=NOTHING, generic=NOTHING)


@pytest.mark.parametrize(
    ("provider", "settings", "name", "address"),
    [
        ("ollama", {}, "ollama_chat/gemma4", "localhost:11434"),
        ("vllm", {}, "hosted_vllm/google/gemma-4-E4B-it", "localhost:8000/v1"),
        ("openai", {"OPENAI_API_KEY": KEY}, "openai/gpt-4o-mini", "own address"),
        ("gemini", {"GOOGLE_API_KEY": KEY}, "gemini/gemini-2.5-flash", "own address"),
        ("anthropic", {"ANTHROPIC_API_KEY": KEY}, "anthropic/claude-opus-4-6", "own address"),
        ("hf_cloud", {"HF_TOKEN": KEY}, "openai/Qwen/Qwen3.6-35B-A3B", "router.huggingface.co/v1"),
        (
            "hf",
            {"LLM_BASE_URL": "http://localhost:8080/v1"},
            "openai/Qwen/Qwen3.6-35B-A3B",
            "localhost:8080/v1",
        ),
        ("groq", {"LLM_API_KEY": KEY}, "openai/llama-3.3-70b-versatile", "api.groq.com/openai/v1"),
        (
            "azure",
            {
                "RAG_AZURE_API_KEY": KEY,
                "RAG_AZURE_ENDPOINT": "https://x.openai.azure.com/",
                "RAG_AZURE_DEPLOYMENT": "nep",
            },
            "azure/nep",
            "x.openai.azure.com",
        ),
    ],
)
def test_settings_become_a_model(
    tmp_path: Path, provider: str, settings: dict[str, str], name: str, address: str
) -> None:
    system = System.from_settings(Settings.load(None, RAG_HOME=tmp_path, LLM_PROVIDER=provider, **settings))
    chat = system.chat_model()
    assert chat.name == name
    assert chat.recipe.startswith(f"{name}@{address}|")
    assert KEY not in chat.recipe


def test_every_provider_can_be_reached_by_its_name(tmp_path: Path) -> None:
    system = System.from_settings(
        Settings.load(None, RAG_HOME=tmp_path, LLM_API_KEY=KEY, LLM_BASE_URL="http://127.0.0.1:9/v1")
    )
    names = [system.chat_model(provider, "modell").name for provider in PROVIDERS if provider != "local"]
    assert all(name.endswith("/modell") for name in names)


def test_a_request_names_only_what_is_allowed(tmp_path: Path) -> None:
    system = System.from_settings(
        Settings.load(None, RAG_HOME=tmp_path, LLM_PROVIDER="ollama", RAG_LLM_MODELS="qwen3:8b, gemma4:31b")
    )
    assert system.generator().name == "ollama_chat/gemma4"
    assert system.generator("gemma4:31b", temperature=0).name == "ollama_chat/gemma4:31b"
    assert "temperature 0|" in system.generator("gemma4:31b", temperature=0).recipe
    assert [system.generator(name).name for name in ("extractive", "prompt")] == ["extractive", "prompt"]
    with pytest.raises(UnknownName, match="gemma4:31b"):
        system.generator("gemma4:310b")
    with pytest.raises(CallerError, match="0 to 2"):
        system.generator(temperature=3)


def test_without_a_provider_the_documents_answer(tmp_path: Path) -> None:
    system = System.from_settings(Settings.load(None, RAG_HOME=tmp_path))
    assert system.generator().name == "extractive"
    with pytest.raises(UnknownName, match="RAG_LLM_MODELS"):
        system.generator("gpt-4o-mini")
