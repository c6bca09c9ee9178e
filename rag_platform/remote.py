"""Calls to hosted models: asked again while a service is busy, errors typed, keys never shown, watched.

One way for endpoints of embeddings, rerankers and language models. What is asked is the caller's.
"""

from __future__ import annotations

import logging
import random
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from rag_platform.errors import MissingDependency, PromptTooLong, UpstreamError
from rag_platform.privacy import keep_private
from rag_platform.types import Usage
from rag_platform.watching import Call, Role, called

__all__ = [
    "INSTALL_REMOTE",
    "TIMEOUT_S",
    "Price",
    "Reply",
    "Service",
    "ask_model",
    "completion",
    "load_litellm",
    "price_of",
]

INSTALL_REMOTE = "pip install 'rag-platform[remote]'"
TIMEOUT_S = 60.0
"""Seconds that one request may take."""

_ATTEMPTS = 5
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_AGAIN = frozenset({408, 409, 429})
"""Answers beside 5xx after which the same request may succeed."""

_Answer = TypeVar("_Answer")


def load_litellm() -> Any:  # noqa: ANN401
    """Return the module LiteLLM, told to send nothing of its own and to log nothing: it logs requests.

    Raises:
        MissingDependency: It is not installed.
    """
    keep_private()
    # its own types make pydantic warn at the first call
    warnings.filterwarnings("ignore", message=".*using the `ReadOnly` qualifier", category=UserWarning)
    warnings.filterwarnings(
        "ignore", message=".* attribute on the instance is deprecated", module="litellm|pydantic"
    )
    try:
        import litellm
    except ImportError as error:
        raise MissingDependency(f"hosted models need litellm ({error}); {INSTALL_REMOTE}") from error
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.include_cost_in_streaming_usage = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


class Price(NamedTuple):
    """US dollars for a token that a model reads, and for one that it writes."""

    read: float
    written: float


_FREE = ("local/", "ollama", "hosted_vllm/")
"""Models on one's own machines, by their names in answers and recipes."""


def price_of(model: str) -> Price | None:
    """Return the price of a model by LiteLLM's list, None where it is not known.

    Args:
        model: LiteLLM's name.

    Raises:
        MissingDependency: LiteLLM is not installed.
    """
    if model.startswith(_FREE):
        return Price(0.0, 0.0)
    prices = load_litellm().model_cost
    found = prices.get(model) or prices.get(model.partition("/")[2])
    if found is None:
        return None
    return Price(*(float(found.get(f"{side}_cost_per_token") or 0.0) for side in ("input", "output")))


@dataclass(frozen=True, slots=True)
class Reply:
    """What a language model wrote, why it stopped (``stop``, ``length`` ...), and what the call took."""

    text: str
    finish: str
    usage: Usage


def ask_model(
    service: Service,
    model: str,
    messages: Sequence[Mapping[str, str]],
    *,
    key: str = "",
    base_url: str = "",
    timeout_s: float = TIMEOUT_S,
    options: Mapping[str, Any] | None = None,
) -> Reply:
    """Ask a language model of LiteLLM once, and again while its provider is busy.

    Args:
        service: Who asks again, and how errors are told.
        model: LiteLLM's name.
        messages: The conversation.
        key: Key of the provider; empty for a model that needs none.
        base_url: Its address; empty: the provider's own.
        timeout_s: Seconds that one call may take.
        options: Temperature and the like; what the provider does not know is left out.

    Raises:
        MissingDependency: LiteLLM is not installed.
        UpstreamError: The provider is out of reach, refuses, or is busy for too long.
    """
    answer = service.ask(
        lambda: completion(
            model, messages, key=key, base_url=base_url, timeout_s=timeout_s, options=options or {}
        )
    )
    choice, usage = answer.choices[0] if answer.choices else None, getattr(answer, "usage", None)
    spent = Usage(
        int(getattr(usage, "prompt_tokens", 0) or 0),
        int(getattr(usage, "completion_tokens", 0) or 0),
        float((getattr(answer, "_hidden_params", None) or {}).get("response_cost") or 0.0),
    )
    text = str((choice.message.content if choice else "") or "")
    return Reply(text, str((choice.finish_reason if choice else "") or ""), spent)


def completion(
    model: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    key: str,
    base_url: str,
    timeout_s: float,
    options: Mapping[str, Any],
) -> Any:  # noqa: ANN401
    """Return what LiteLLM's ``completion`` does, once: the one call through which language models are asked.

    Raises:
        MissingDependency: LiteLLM is not installed.
        openai.OpenAIError: As the provider failed; a ``Service`` gives it a type of ours.
    """
    return load_litellm().completion(
        model=model,
        messages=[dict(message) for message in messages],
        api_key=key or "none",  # without one LiteLLM would take that of another service
        api_base=base_url or None,
        timeout=timeout_s,
        max_retries=0,
        drop_params=True,
        **options,
    )


class Service:
    """A hosted model behind a key.

    Args:
        name: What is asked, for messages.
        key: Its key, blotted out of every message.
        setting: The setting that holds the key.
        role: What the model does, and ``provider`` whose it is, for whoever watches.
        first_wait_s: Seconds before the second attempt; doubled for each further one.
    """

    def __init__(
        self,
        name: str,
        *,
        key: str,
        setting: str,
        role: Role,
        provider: str,
        first_wait_s: float = _FIRST_WAIT_S,
    ) -> None:
        self._name, self._key, self._setting, self._first_wait_s = name, key, setting, first_wait_s
        self._role, self._provider = role, provider

    def ask(self, send: Callable[[], _Answer]) -> _Answer:
        """Return what ``send`` returns, sending up to five times.

        Raises:
            UpstreamError: The service is out of reach, refuses the request, or is busy for too long;
                ``PromptTooLong`` where a language model cannot read so much.
        """
        from openai import OpenAIError  # of LiteLLM's errors, too, this is the root

        for attempt in range(1, _ATTEMPTS + 1):
            began = time.perf_counter()
            try:
                answer = send()
                self._tell(began, "200")
                return answer
            except OpenAIError as error:
                self._tell(began, _code(error))
                if attempt == _ATTEMPTS or not _may_pass(error):
                    # not "from error": a traceback of the service's own error would show the key
                    status = getattr(error, "status_code", None)
                    kind = PromptTooLong if _is_too_long(error) else UpstreamError
                    raise kind(self._explained(error, attempt), status=status) from None
                time.sleep(self._wait_s(error, attempt))
        raise AssertionError("unreachable: the last attempt returns or raises")

    def told(self, answer: Iterable[_Answer]) -> Iterator[_Answer]:
        """Yield the parts of an answer as they come; what was said cannot be asked for again.

        Raises:
            UpstreamError: The service broke off.
        """
        from openai import OpenAIError

        began = time.perf_counter()
        try:
            yield from answer
        except OpenAIError as error:
            self._tell(began, "broken")
            status = getattr(error, "status_code", None)
            reason = self._blotted(error)
            kind = PromptTooLong if _is_too_long(error) else UpstreamError
            raise kind(f"{self._name} broke off: {reason}; ask again", status=status) from None

    def _tell(self, began: float, code: str) -> None:
        called(Call(self._role, self._provider, time.perf_counter() - began, code))

    def _wait_s(self, error: Exception, attempt: int) -> float:
        """Return what the service asks for, else a doubling wait with some chance in it."""
        asked = getattr(getattr(error, "response", None), "headers", {}).get("retry-after", "")
        doubled = self._first_wait_s * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)
        return min(float(asked) if asked.isdigit() else doubled, _LONGEST_WAIT_S)

    def _explained(self, error: Exception, attempt: int) -> str:
        status = getattr(error, "status_code", None)
        reason = self._blotted(error)
        remedy = "check that it runs and its base URL"
        if _is_too_long(error):
            remedy = "ask with fewer passages or a shorter history, or use a model that reads more"
        elif status in (401, 403):
            remedy = f"check the key in {self._setting}"
        elif status == 429:
            remedy = "its rate limit is used up: try later or send less"
        elif status is not None and 400 <= status < 500:
            remedy = "check the model's name and what it allows"
        answered = f"answered {status}" if status else "gave no answer"
        return f"{self._name} {answered} (attempt {attempt} of {_ATTEMPTS}): {reason}; {remedy}"

    def _blotted(self, error: Exception) -> str:
        """Return what an error says, without the key."""
        reason = " ".join(str(error).split())
        return (reason.replace(self._key, "***") if self._key else reason)[:300]


def _is_too_long(error: Exception) -> bool:
    """Say whether it is LiteLLM's error of a full context; its name tells, for it need not be installed."""
    return type(error).__name__ == "ContextWindowExceededError"


def _code(error: Exception) -> str:
    return str(getattr(error, "status_code", None) or "none")


def _may_pass(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    return status is None or status in _AGAIN or status >= 500
