"""Any language model of LiteLLM as a generator. Passages leave the machine unless the model runs on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rag_platform.answering.prompts import VERSION, alone_messages, is_refusal, messages, refusal
from rag_platform.answering.support import cited
from rag_platform.errors import UpstreamError
from rag_platform.privacy import host_and_path
from rag_platform.remote import TIMEOUT_S, Service, ask_model
from rag_platform.types import Answer, Passage

__all__ = ["LiteLLMGenerator"]


class LiteLLMGenerator:
    """A model that is asked to answer from numbered passages and to cite them.

    Args:
        name: LiteLLM's name, ``provider/model``.
        api_key: Its key; empty for a model that needs none.
        base_url: Its address; empty: the provider's own.
        temperature: 0 answers the same each time, as far as the provider can.
        max_tokens: Of an answer.
        timeout_s: Seconds that one call may take.
        first_wait_s: Seconds before a busy provider is asked again.
    """

    def __init__(
        self,
        name: str,
        *,
        api_key: str = "",
        base_url: str = "",
        temperature: float = 0.0,
        max_tokens: int = 1_024,
        timeout_s: float = TIMEOUT_S,
        first_wait_s: float = 0.5,
    ) -> None:
        self.name = name
        address = host_and_path(base_url) or "own address"
        self.recipe = f"{name}@{address}|{VERSION}|temperature {temperature}|{max_tokens} tokens"
        self._key, self._base_url, self._timeout_s = api_key, base_url, timeout_s
        self._options = {"temperature": temperature, "max_tokens": max_tokens}
        self._service = Service(
            f"the generator {name}", key=api_key, setting="the provider's setting", first_wait_s=first_wait_s
        )

    def answer(self, question: str, passages: Sequence[Passage]) -> Answer:
        """Return the model's answer, or a refusal; without passages it is not asked.

        Raises:
            MissingDependency: LiteLLM is not installed.
            UpstreamError: The provider failed, or answered nothing.
        """
        if not passages:
            return Answer(refusal(question), refused=True)
        return self._answered(messages(question, passages), len(passages))

    def answer_alone(self, question: str) -> Answer:
        """Return what the model says without any passage: what it knows by itself.

        Raises:
            MissingDependency: LiteLLM is not installed.
            UpstreamError: The provider failed, or answered nothing.
        """
        return self._answered(alone_messages(question), 0)

    def _answered(self, conversation: Sequence[Mapping[str, str]], n_passages: int) -> Answer:
        reply = ask_model(
            self._service,
            self.name,
            conversation,
            key=self._key,
            base_url=self._base_url,
            timeout_s=self._timeout_s,
            options=self._options,
        )
        text = reply.text.strip()
        if not text:
            raise UpstreamError(
                f"the generator {self.name} answered nothing ({reply.finish or 'no reason given'});"
                " try again, allow more tokens, or use another model"
            )
        citations = tuple(number for number in cited(text) if 1 <= number <= n_passages)
        return Answer(text, refused=is_refusal(text), citations=citations, usage=reply.usage)
