"""One question to the judge, to be answered in a schema: asked again when malformed, kept when answered.

Every reply is kept as soon as it is there, so a run that was killed repeats only the call that was in flight.
What is asked stands in ``deepeval_metrics`` and ``own_metrics``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

import regex
from pydantic import BaseModel, ValidationError

from rag_platform.errors import UpstreamError
from rag_platform.evaluation.budget import Budget
from rag_platform.evaluation.judge.providers import JudgeEndpoint
from rag_platform.evaluation.memo import Memo
from rag_platform.remote import Reply, Service, ask_model
from rag_platform.types import Usage, fingerprint

__all__ = ["ATTEMPTS", "Asked", "JudgeModel", "parse_reply"]

ATTEMPTS = 3
"""Times that a malformed reply is asked for anew before the judgement has failed."""
_AGAIN = (
    "That is not usable: {fault}. Answer again with one JSON object that follows this schema, and nothing"
    " else: {schema}"
)
_MOST_SHOWN = 2_000
"""Characters of a malformed reply that its writer is shown: one without end would fill the context."""
_REFUSED_FORMAT = frozenset({400, 415, 422, 501})
"""What servers answer that know no ``response_format``."""
_THOUGHT = regex.compile(r"\A\s*<think>.*?</think>", regex.DOTALL)
_FENCE = regex.compile(r"```(?:json)?\s*(.*?)```", regex.DOTALL)

Schema = TypeVar("Schema", bound=BaseModel)


class JudgeModel:
    """A language model that answers in schemas; safe for several threads.

    Args:
        endpoint: Who is asked.
        memo: Where replies are kept; None: nowhere.
        system: What it is told first; empty: nothing.
        temperature: 0 judges alike each time, as far as the provider can.
        max_tokens: Of a reply.
        timeout_s: Seconds that one call may take.
        first_wait_s: Seconds before a busy provider is asked again.
    """

    def __init__(
        self,
        endpoint: JudgeEndpoint,
        memo: Memo | None = None,
        *,
        system: str = "",
        temperature: float = 0.0,
        max_tokens: int = 4_096,
        timeout_s: float = 120.0,
        first_wait_s: float = 0.5,
    ) -> None:
        self.endpoint, self._memo, self._system = endpoint, memo, system
        self._timeout_s = timeout_s
        self._options: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
        self._sends_schema = True
        self._service = Service(
            f"the judge {endpoint.model}",
            key=endpoint.api_key,
            setting="EVAL_API_KEY",
            role="judge",
            provider=endpoint.model.partition("/")[0],
            first_wait_s=first_wait_s,
        )
        self.recipe = fingerprint(endpoint.name, system, self._options)

    def call(self, messages: list[dict[str, str]], schema: type[BaseModel]) -> Reply:
        """Ask once; a server that refuses a schema in the request is asked without, here and from now on."""
        if self._sends_schema:
            try:
                return self._ask(messages, {"response_format": _format(schema)})
            except UpstreamError as error:
                if error.status not in _REFUSED_FORMAT:
                    raise
            reply = self._ask(messages, {})
            self._sends_schema = False
            return reply
        return self._ask(messages, {})

    def _ask(self, messages: list[dict[str, str]], options: dict[str, Any]) -> Reply:
        return ask_model(
            self._service,
            self.endpoint.model,
            messages,
            key=self.endpoint.api_key,
            base_url=self.endpoint.base_url,
            timeout_s=self._timeout_s,
            options=self._options | options,
        )

    def first(self, prompt: str) -> list[dict[str, str]]:
        """Return the conversation that a prompt begins."""
        said = [{"role": "system", "content": self._system}] if self._system else []
        return [*said, {"role": "user", "content": prompt}]

    def kept(self, key: str) -> tuple[Reply, float] | None:
        """Return a reply of an earlier run, and the seconds that it took."""
        found = self._memo.get(key) if self._memo else None
        if found is None:
            return None
        usage = Usage(found["prompt_tokens"], found["completion_tokens"], found["cost"])
        return Reply(found["text"], "", usage), found["seconds"]

    def keep(self, key: str, reply: Reply, seconds: float) -> None:
        """Keep a reply for later runs."""
        if self._memo:
            self._memo.put(
                key,
                {
                    "text": reply.text,
                    "prompt_tokens": reply.usage.prompt_tokens,
                    "completion_tokens": reply.usage.completion_tokens,
                    "cost": reply.usage.cost,
                    "seconds": seconds,
                },
            )

    def given_up(self, key: str) -> bool:
        """Say whether an earlier run used up its attempts and failed."""
        return bool(self._memo and self._memo.get(key))

    def give_up(self, key: str) -> None:
        """Remember that all attempts failed, so that the next run makes new ones."""
        if self._memo:
            self._memo.put(key, {"given_up": True})


class Asked:
    """All that is asked for one score: counts what it took, kept replies included.

    Args:
        model: Who is asked.
        repeat: Another number asks the same once more, for the variance of the judge.
        budget: What new calls may cost; None: anything.
    """

    def __init__(self, model: JudgeModel, repeat: int = 0, budget: Budget | None = None) -> None:
        self._model, self._repeat, self._budget = model, repeat, budget or Budget()
        self.usage, self.seconds, self.calls = Usage(), 0.0, 0

    def ask(
        self, prompt: str, schema: type[Schema], *, check: Callable[[Schema], None] | None = None
    ) -> Schema:
        """Return the judge's answer in a schema.

        Args:
            prompt: What is asked.
            schema: What an answer looks like.
            check: Raises a ValueError for an answer that is not complete.

        Raises:
            UpstreamError: The provider failed, or gave no usable answer in all attempts.
            BudgetSpent: A call is due and none is allowed any more.
        """
        messages = self._model.first(prompt)
        shape = json.dumps(schema.model_json_schema(), sort_keys=True)
        question = fingerprint(self._model.recipe, messages, shape, self._repeat)
        first = 0
        while self._model.given_up(f"{question}/up to {first}"):
            first += ATTEMPTS
        fault = ""
        for attempt in range(first, first + ATTEMPTS):
            reply = self._reply(f"{question}/{attempt}", messages, schema)
            try:
                found = parse_reply(reply.text, schema)
                if check is not None:
                    check(found)
                return found
            except ValueError as error:
                fault = str(error)
            again = _AGAIN.format(fault=fault, schema=shape)
            said = {"role": "assistant", "content": reply.text[:_MOST_SHOWN] or "-"}
            messages = [*self._model.first(prompt), said, {"role": "user", "content": again}]
        self._model.give_up(f"{question}/up to {first}")
        raise UpstreamError(
            f"the judge {self._model.endpoint.model} gave no usable answer in {ATTEMPTS} attempts: {fault};"
            " use a model that follows a JSON schema, or try again"
        )

    def _reply(self, key: str, messages: list[dict[str, str]], schema: type[BaseModel]) -> Reply:
        kept = self._model.kept(key)
        if kept is None:
            self._budget.require()
            start = time.perf_counter()
            reply = self._model.call(messages, schema)
            seconds = time.perf_counter() - start
            self._model.keep(key, reply, seconds)
            self._budget.take(reply.usage.cost)
            self.calls += 1
        else:
            reply, seconds = kept
        self.usage, self.seconds = self.usage + reply.usage, self.seconds + seconds
        return reply


def parse_reply(text: str, schema: type[Schema]) -> Schema:
    """Return what a reply says in a schema; thoughts before it and a code fence around it are no fault.

    Raises:
        ValueError: It is no JSON object, or not of this schema; says what is wrong.
    """
    body = _THOUGHT.sub("", text)
    fenced = _FENCE.search(body)
    body = fenced[1] if fenced else body
    start, end = body.find("{"), body.rfind("}")
    if start < 0 or end < start:
        raise ValueError("there is no JSON object" if body.strip() else "the reply is empty")
    try:
        found = json.loads(body[start : end + 1])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON ({error})") from error
    try:
        return schema.model_validate(found)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3]]
        raise ValueError(f"it does not follow the schema ({'; '.join(faults)})") from error


def _format(schema: type[BaseModel]) -> dict[str, Any]:
    named = {"name": schema.__name__, "schema": schema.model_json_schema()}
    return {"type": "json_schema", "json_schema": named}
