"""Who watches a request hears of it and of no other; without a watcher nothing happens."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import openai
import pytest

from rag_platform.errors import UpstreamError
from rag_platform.remote import Service
from rag_platform.watching import Call, current, spent, step, timed, watched_by


class Hearing:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.steps: dict[str, float] = {}
        self.calls: list[Call] = []

    def spent(self, step: str, milliseconds: float) -> None:
        self.steps[step] = self.steps.get(step, 0.0) + milliseconds

    def called(self, call: Call) -> None:
        self.calls.append(call)


def test_each_context_has_its_own() -> None:
    def work(name: str) -> Hearing:
        hearing = Hearing()
        with watched_by(hearing), step(name):
            time.sleep(0.002)
        return hearing

    with ThreadPoolExecutor(4) as pool:
        heard = list(pool.map(work, "abcd"))
    assert [list(one.steps) for one in heard] == [["a"], ["b"], ["c"], ["d"]]
    assert all(one.steps[name] >= 2 for one, name in zip(heard, "abcd", strict=True))
    assert current() is None
    spent("nobody listens", 1.0)


def test_threads_that_inherit_the_context_are_heard() -> None:
    hearing = Hearing()
    with watched_by(hearing), ThreadPoolExecutor(1) as pool:
        pool.submit(contextvars.copy_context().run, spent, "there", 2.0).result()
        pool.submit(spent, "elsewhere", 2.0).result()
    assert hearing.steps == {"there": 2.0}


def test_of_pieces_the_waiting_counts_and_the_reading_does_not() -> None:
    def pieces() -> Iterator[int]:
        for n in range(3):
            time.sleep(0.005)
            yield n

    hearing = Hearing()
    with watched_by(hearing):
        read = []
        for piece in timed("generation", pieces()):
            time.sleep(0.05)
            read.append(piece)
    assert read == [0, 1, 2]
    assert 15 <= hearing.steps["generation"] < 100


def refusing(statuses: list[int]) -> Callable[[], str]:
    """Return what a service does that answers with these, 0: not at all, before it gives an answer."""
    waiting = iter(statuses)

    def send() -> str:
        request = httpx.Request("POST", "http://models.invalid/v1")
        status = next(waiting, None)
        if status == 0:
            raise openai.APIConnectionError(request=request)
        if status is not None:
            raise openai.APIStatusError("no", response=httpx.Response(status, request=request), body=None)
        return "उत्तर"

    return send


def hosted() -> Service:
    return Service("a model", key="गोप्य", setting="X", role="llm", provider="ollama", first_wait_s=0.001)


def test_every_request_to_a_hosted_model_is_told_with_its_code() -> None:
    hearing = Hearing()
    with watched_by(hearing):
        assert hosted().ask(refusing([503, 0, 429])) == "उत्तर"
        with pytest.raises(UpstreamError):
            hosted().ask(refusing([401]))
    assert [call.code for call in hearing.calls] == ["503", "none", "429", "200", "401"]
    assert {(call.role, call.provider) for call in hearing.calls} == {("llm", "ollama")}
    assert all(0 <= call.seconds < 1 for call in hearing.calls)


def test_an_answer_that_breaks_off_is_told() -> None:
    def breaking() -> Iterator[str]:
        yield "आधा"
        raise openai.APIConnectionError(request=httpx.Request("POST", "http://models.invalid/v1"))

    hearing = Hearing()
    with watched_by(hearing), pytest.raises(UpstreamError, match="broke off"):
        list(hosted().told(breaking()))
    assert [call.code for call in hearing.calls] == ["broken"]
