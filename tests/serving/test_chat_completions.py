"""Chat completions as chat front ends use them: the official OpenAI client against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from http_service import served, wire
from model_server import ModelServer, Says, call, speaking
from support import TEXTS, drop, ingest

from rag_platform.answering.citations import Citation
from rag_platform.answering.reply import Reply
from rag_platform.errors import UnknownName
from serving.app import create_app
from serving.chat_models import named
from serving.footnotes import footnotes, without_footnotes

TAX = "सम्पत्ति कर कहिलेसम्म तिर्ने?"
SOURCES = "\n\n---\n\n- [1] कर सूचना.txt, पृष्ठ १"
PATH = "/v1/chat/completions"


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, ModelServer]]:
    """A service whose answers come from a language model, unless a request says otherwise."""
    with speaking([]) as server:
        system = wire(
            tmp_path_factory.mktemp("chat"),
            LLM_PROVIDER="openai",
            OPENAI_BASE_URL=server.url,
            OPENAI_API_KEY="sk-secret-7",
            RAG_LLM_MODELS="gpt-4o",
        )
        drop(system, TEXTS)
        system.catalog.create_collection("laws")
        (system.inbox.root / "laws").mkdir(exist_ok=True)
        (system.inbox.root / "laws" / "ऐन.txt").write_text("मौलिक हक सबै नागरिकलाई समान हुन्छ।", "utf-8")
        ingest(system)
        with served(create_app(system=system)) as client:
            yield client, server


@pytest.fixture
def server(spoken: tuple[httpx.Client, ModelServer]) -> ModelServer:
    spoken[1].script.clear()
    spoken[1].bodies.clear()
    return spoken[1]


@pytest.fixture
def plain(spoken: tuple[httpx.Client, ModelServer]) -> httpx.Client:
    return spoken[0]


@pytest.fixture
def client(plain: httpx.Client) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{plain.base_url}/v1", api_key="none", max_retries=0) as client:
        yield client


def said(*texts: str) -> Any:
    """Return a conversation of user and assistant in turn."""
    roles = ("user", "assistant")
    return [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]


def test_an_answer_has_its_sources_below_it(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="rag:extractive", messages=said(TAX), temperature=0.7)
    (choice,) = answer.choices
    assert choice.finish_reason == "stop"
    assert choice.message.role == "assistant"
    text = str(choice.message.content)
    assert "असार मसान्तभित्र" in text
    assert text.endswith(SOURCES)
    assert (answer.object, answer.model) == ("chat.completion", "rag:extractive")
    assert answer.usage is not None
    assert answer.usage.total_tokens == 0
    extra = answer.model_extra or {}
    citation = extra["citations"][0]
    assert TEXTS["कर सूचना.txt"][citation["start"] : citation["end"]] == citation["quote"]
    assert extra["rag"]["generations"] == {"nepali_docs": 1}


def test_a_stream_is_read_word_by_word_with_usage(client: openai.OpenAI, server: ModelServer) -> None:
    server.script += [call("सम्पत्ति कर"), Says(("सम्पत्ति कर ", "असार मसान्तभित्र ", "तिर्नुपर्छ [1]।"))]
    chunks = list(
        client.chat.completions.create(
            model="rag", messages=said(TAX), stream=True, stream_options={"include_usage": True}
        )
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == f"सम्पत्ति कर असार मसान्तभित्र तिर्नुपर्छ [1]।{SOURCES}"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert (chunks[-2].model_extra or {})["citations"][0]["page"] == 1
    assert (chunks[-1].choices, chunks[-1].usage and chunks[-1].usage.completion_tokens) == ([], 20)
    assert len({chunk.id for chunk in chunks}) == 1


def test_the_wire_is_what_clients_of_other_kinds_expect(plain: httpx.Client) -> None:
    body = {"model": "rag:extractive", "messages": said(TAX), "stream": True}
    answer = plain.post(PATH, json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = answer.text.strip().split("\n\n")
    assert lines[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert chunks[-1]["choices"][0]["delta"] == {}
    assert "citations" not in chunks[0]
    assert all(chunk["usage"] is None for chunk in chunks)


def test_a_follow_up_is_understood_and_the_front_ends_footnotes_are_not_read(
    client: openai.OpenAI, server: ModelServer
) -> None:
    first = f"असार मसान्तभित्र [1]।{SOURCES}"
    messages = [
        {"role": "system", "content": "You are a helpful assistant."},
        *said(TAX, first),
        {
            "role": "user",
            "content": [{"type": "text", "text": "त्यसको जरिवाना"}, {"type": "text", "text": "कति हो?"}],
        },
    ]
    answer = client.chat.completions.create(model="rag/nepali_docs:extractive", messages=messages)  # type: ignore[arg-type]
    searched = (answer.model_extra or {})["rag"]["standalone"]
    assert "सम्पत्ति कर" in searched
    assert "त्यसको जरिवाना\nकति हो?" in searched
    server.script += [call("सम्पत्ति करको जरिवाना"), Says(("दश प्रतिशत [1]।",))]
    client.chat.completions.create(
        model="rag",
        messages=messages,
        extra_body={"filters": ["source=कर सूचना.txt"]},  # type: ignore[arg-type]
    )
    heard = json.dumps(server.bodies, ensure_ascii=False)
    assert "असार मसान्तभित्र [1]।" in heard
    assert "- [1] कर सूचना.txt" not in heard
    assert "helpful assistant" not in heard


def test_several_questions_in_a_row_and_a_long_history_are_taken(client: openai.OpenAI) -> None:
    long = said(*["क" * 5_000] * 30)
    messages = [*long, *said(TAX), *said("त्यसको जरिवाना कति हो?")]
    answer = client.chat.completions.create(model="rag:extractive", messages=messages)
    assert "सम्पत्ति कर" in (answer.model_extra or {})["rag"]["standalone"]


def test_what_the_documents_do_not_say_is_refused_without_sources(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="rag/laws:extractive", messages=said("xyzzy plugh?"), user="someone", seed=7, stop=["।"]
    )
    assert "---" not in str(answer.choices[0].message.content)
    assert (answer.model_extra or {})["rag"]["refused"] is True


def test_models_are_listed_and_named_for_openai_clients_and_as_before(
    client: openai.OpenAI, plain: httpx.Client
) -> None:
    listed = [model.id for model in client.models.list()]
    assert listed == [
        "rag", "rag/laws", "rag/nepali_docs", "rag:extractive", "rag:prompt", "rag:gpt-4o",
    ]  # fmt: skip
    assert client.models.retrieve("rag/laws").object == "model"
    with pytest.raises(openai.NotFoundError, match=r"unknown model 'rag/lawz'.*'rag/laws'"):
        client.models.retrieve("rag/lawz")
    body = plain.get("/v1/models").json()
    assert [one["name"] for one in body["embedding"] if one["active"]] == ["hashing"]


@pytest.mark.parametrize(
    ("changed", "status", "code", "said_"),
    [
        ({"model": "gpt-4o"}, 404, "unknown_name", "rag/COLLECTION"),
        ({"model": "rag/lawz:extractive"}, 404, "unknown_name", "laws"),
        ({"model": "rag:gpt-5"}, 404, "unknown_name", "RAG_LLM_MODELS"),
        ({"n": 2}, 400, "bad_request", "n is 2"),
        ({"tools": [{"type": "function"}]}, 400, "bad_request", "tools of the caller"),
        ({"functions": [{"name": "f"}]}, 400, "bad_request", "tools of the caller"),
        ({"response_format": {"type": "json_object"}}, 400, "bad_request", "json_object"),
        ({"messages": []}, 422, "invalid_request", "body.messages"),
        ({"messages": said("क", "ख")}, 400, "bad_request", "end the messages with a question"),
        ({"messages": [{"role": "system", "content": "x"}]}, 400, "bad_request", "end the messages"),
        ({"messages": said(" ")}, 422, "invalid_request", "blank"),
        ({"messages": said("क" * 4_001)}, 422, "invalid_request", "4000"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
         400, "bad_request", "'image_url' cannot be read"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, 400, "bad_request", "only text"),
        ({"temperature": 3}, 422, "invalid_request", "body.temperature"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_had_is_refused_in_openais_form(
    plain: httpx.Client, changed: dict[str, Any], status: int, code: str, said_: str, stream: bool
) -> None:
    answer = plain.post(
        PATH, json={"model": "rag:extractive", "messages": said(TAX), "stream": stream, **changed}
    )
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (status, code, "invalid_request_error")
    assert said_ in error["message"]
    assert error["request_id"] == answer.headers["x-request-id"]


def test_tools_that_are_not_to_be_used_stop_nothing(client: openai.OpenAI) -> None:
    tool: Any = {"type": "function", "function": {"name": "clock", "parameters": {}}}
    answer = client.chat.completions.create(
        model="rag:extractive", messages=said(TAX), tools=[tool], tool_choice="none"
    )
    assert "असार" in str(answer.choices[0].message.content)


def test_a_stream_that_breaks_raises_in_the_client(client: openai.OpenAI, server: ModelServer) -> None:
    broken = Says(("सम्पत्ति कर असार मसान्तभित्र तिर्नुपर्छ [1]। ", "अर्को "), cut="broken")
    server.script += [call("सम्पत्ति कर"), broken]
    events = client.chat.completions.create(model="rag", messages=said(TAX), stream=True, extra_body={"k": 2})
    with pytest.raises(openai.APIError, match="broke off") as raised:
        list(events)
    assert raised.value.code == "upstream_error"


@pytest.mark.parametrize("name", ["", "rag/", "rag:", "rag/x:", "ragged", "rag/:x", "RAG"])
def test_a_name_of_another_form_is_none(name: str) -> None:
    with pytest.raises(UnknownName, match="rag/COLLECTION"):
        named(name)


def test_footnotes_name_each_source_once_with_its_pages_and_no_markup() -> None:
    def cited(marker: int, source: str, page: int) -> Citation:
        return Citation(marker, "d", "c", source, page, 0, 1, "q", True)

    citations = (
        cited(2, "![x](http://example.org/).pdf", 12),
        cited(1, "Act.pdf", 7),
        cited(1, "Act.pdf", 3),
        cited(1, "Act.pdf", 7),
    )
    reply = Reply("How much is the fee?", "", "", citations, (), False, "extractive", {}, "m", "g")
    written = footnotes(reply)
    assert written == (
        "\n\n---\n\n- [1] Act.pdf, pages 3, 7\n- [2] \\!\\[x\\](http://example.org/).pdf, page 12"
    )
    assert without_footnotes(f"Ten rupees [1].{written}") == "Ten rupees [1]."
    kept = "क\n\n---\n\n- [1] छ\n\nयो पनि उत्तर हो।"
    assert without_footnotes(kept) == kept
