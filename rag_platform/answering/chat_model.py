"""Any language model of LiteLLM, as a generator and in conversations: what is read leaves from here.

Questions and sweeps are answered through this one. What is asked stands in ``prompts`` and ``tools``; who
is asked in ``providers``.
"""

from __future__ import annotations

import codecs
import logging
import time
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

from rag_platform.answering.chat import Message, Said, ToolCall
from rag_platform.answering.prompts import VERSION, alone_messages, is_refusal, messages, refusal
from rag_platform.answering.providers import Connection
from rag_platform.answering.support import cited
from rag_platform.errors import EmptyAnswer, FilteredAnswer, UpstreamError
from rag_platform.remote import TIMEOUT_S, Service, completion, load_litellm
from rag_platform.text.normalize import stored_text
from rag_platform.types import Answer, Passage, Usage

__all__ = ["ChatModel"]

_LOG = logging.getLogger(__name__)
_JOINING = codecs.getincrementaldecoder("utf-16-le")
"""Joins halves of characters, which some servers send in two pieces."""
_ANY_TOOL = {
    "type": "function",
    "function": {"name": "any", "parameters": {"type": "object", "properties": {}}},
}
_DEADLINES = 4
"""Time limits of one call that a whole answer may take."""


class ChatModel:
    """A language model that answers from passages, and holds conversations with tools.

    Args:
        connection: Who is asked.
        temperature: 0 answers the same each time, as far as the provider can.
        max_tokens: Of an answer.
        timeout_s: Seconds that a provider may be silent; a whole answer may take four times as long.
        first_wait_s: Seconds before a busy provider is asked again.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        temperature: float = 0.3,
        max_tokens: int = 1_024,
        timeout_s: float = TIMEOUT_S,
        first_wait_s: float = 0.5,
    ) -> None:
        self.name, self.model = connection.name, connection.model
        self.recipe = (
            f"{self.name}@{connection.address}|{VERSION}|temperature {temperature}|{max_tokens} tokens"
        )
        self._to, self._timeout_s = connection, timeout_s
        self._options: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
        self._service = Service(
            f"the model {self.name} at {connection.address}",
            key=connection.key,
            setting="the provider's setting",
            role="llm",
            provider=connection.provider,
            first_wait_s=first_wait_s,
        )

    @cached_property
    def dropped(self) -> tuple[str, ...]:
        """Parameters that the provider does not know: they are left out, and said so."""
        provider, _, model = self._to.called.partition("/")
        translated = partial(
            load_litellm().get_optional_params, model=model, custom_llm_provider=provider, drop_params=True
        )
        bare, asked = translated(), {**self._options, "tools": [_ANY_TOOL]}
        return tuple(name for name, value in asked.items() if translated(**{name: value}) == bare)

    @property
    def has_tools(self) -> bool:
        """Whether the provider knows tools at all; whether the model does, it says by itself."""
        return "tools" not in self.dropped

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        """Return the model's answer, or a refusal; without passages it is not asked.

        Raises:
            MissingDependency: LiteLLM is not installed.
            UpstreamError: The provider failed; ``EmptyAnswer`` and ``FilteredAnswer`` where it said nothing,
                ``PromptTooLong`` where the passages are more than it reads.
        """
        if not passages:
            return Answer(refusal(question), refused=True)
        return self._answered(messages(question, passages), len(passages))

    def answer_alone(self, question: str) -> Answer:
        """Return what the model says without any passage: what it knows by itself.

        Raises:
            MissingDependency: LiteLLM is not installed.
            UpstreamError: As of ``answer``.
        """
        return self._answered(alone_messages(question), 0)

    def _answered(self, conversation: Sequence[Message], n_passages: int) -> Answer:
        said = next(one for one in self.stream(conversation) if isinstance(one, Said))
        text = said.text.strip()
        citations = tuple(number for number in cited(text) if 1 <= number <= n_passages)
        return Answer(text, refused=is_refusal(text), citations=citations, usage=said.usage)

    def stream(self, messages: Sequence[Message], *, tools: Sequence[Message] = ()) -> Iterator[str | Said]:
        """Yield the pieces of what the model says as they come, then all of it.

        Raises:
            MissingDependency: LiteLLM is not installed.
            UpstreamError: The provider failed, was silent for too long, or broke off.
            PromptTooLong: The model cannot read so much.
            EmptyAnswer: It said nothing.
            FilteredAnswer: Its filter held the answer back.
        """
        began, heard = time.monotonic(), _Heard()
        chunks = self._service.ask(lambda: self._open(messages, tools))
        for chunk in self._service.told(chunks):
            if time.monotonic() - began > _DEADLINES * self._timeout_s:
                raise UpstreamError(f"{self.name} was still answering after {_DEADLINES * self._timeout_s} s")
            if piece := heard.take(chunk):
                yield piece
        yield heard.whole(self.name)

    def _open(self, messages: Sequence[Message], tools: Sequence[Message]) -> Any:  # noqa: ANN401
        if self.dropped:
            _LOG.info("%s does not know %s: left out", self.name, ", ".join(self.dropped))
        options: dict[str, Any] = {n: value for n, value in self._options.items() if n not in self.dropped}
        if tools and self.has_tools:
            options["tools"] = [dict(tool) for tool in tools]
        if self._to.engine:
            self._to.engine.require_room(messages, tools, self._options["max_tokens"])
        if self._to.api_version:
            options["api_version"] = self._to.api_version
        streamed = {"stream": True, "stream_options": {"include_usage": True}}
        return completion(
            self._to.called,
            messages,
            key=self._to.key,
            base_url=self._to.url(),
            timeout_s=self._timeout_s,
            options=options | streamed,
        )


class _Heard:
    """What has come of one answer."""

    def __init__(self) -> None:
        self._text, self._finish, self._usage = "", "", Usage()
        self._halves = _JOINING("ignore")
        self._calls: dict[int, list[str]] = {}

    def take(self, chunk: Any) -> str:  # noqa: ANN401
        """Take the next chunk and return its words."""
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            cost = float(getattr(usage, "cost", None) or 0.0)
            self._usage = Usage(int(usage.prompt_tokens or 0), int(usage.completion_tokens or 0), cost)
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        self._finish = choice.finish_reason or self._finish
        for call in getattr(choice.delta, "tool_calls", None) or ():
            parts = self._calls.setdefault(int(call.index or 0), ["", "", ""])
            function = call.function
            for at, part in enumerate((call.id, function and function.name, function and function.arguments)):
                parts[at] += part or ""
        said = str(choice.delta.content or "")
        piece = self._halves.decode(said.encode("utf-16-le", "surrogatepass"))
        self._text += piece
        return piece

    def whole(self, model: str) -> Said:
        """Return all of it."""
        if self._finish == "content_filter":
            raise FilteredAnswer(f"the provider's filter held back the answer of {model}; ask otherwise")
        calls = tuple(
            ToolCall(key or f"call_{at}", name, arguments)
            for at, (key, name, arguments) in (
                (at, map(stored_text, parts)) for at, parts in sorted(self._calls.items())
            )
        )
        if not self._text.strip() and not calls:
            raise EmptyAnswer(
                f"{model} answered nothing ({self._finish or 'no reason given'}); try again, allow more"
                " tokens, or use another model"
            )
        return Said(self._text, calls, self._usage, cut_off=self._finish == "length")
