"""What is kept in memory: bounded, the latest used, made once however many ask."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_platform.caching import Cache, Counts
from rag_platform.errors import UpstreamError


def letters(most: int = 3, most_bytes: int = 1_000) -> Cache[str, str]:
    return Cache(most, most_bytes=most_bytes, size=lambda key, value: len(key) + len(value))


def test_what_was_made_is_found() -> None:
    cache = letters()
    assert [cache.get("कर", lambda: "तिर्ने") for _ in range(3)] == ["तिर्ने"] * 3
    assert cache.counts == Counts(hits=2, joined=0, misses=1, entries=1, n_bytes=len("कर" + "तिर्ने"))


def test_the_one_that_was_not_used_for_longest_goes() -> None:
    cache = letters(most=2)
    made: list[str] = []

    def get(key: str) -> None:
        cache.get(key, lambda: made.append(key) or key)  # type: ignore[func-returns-value]

    for key in "कखकगकख":
        get(key)
    assert made == ["क", "ख", "ग", "ख"]
    assert cache.counts.entries == 2


def test_bytes_are_bounded_as_well() -> None:
    cache = letters(most=100, most_bytes=10)
    for key in "कखग":
        cache.get(key, lambda: "चार!")
    assert cache.counts == Counts(hits=0, joined=0, misses=3, entries=2, n_bytes=10)
    assert cache.get("लामो", lambda: "x" * 50) == "x" * 50
    assert cache.counts.entries == 2


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12)), max_size=60))
def test_it_never_grows_beyond_its_bounds(asked: list[tuple[int, int]]) -> None:
    cache: Cache[int, str] = Cache(4, most_bytes=20, size=lambda key, value: len(value))
    for key, length in asked:
        cache.get(key, lambda length=length: "x" * length)  # type: ignore[misc]
        counts = cache.counts
        assert counts.entries <= 4
        assert 0 <= counts.n_bytes <= 20
    assert cache.counts.hits + cache.counts.misses == len(asked)


def test_none_means_that_nothing_is_kept() -> None:
    cache = letters(most=0)
    made = [cache.get("क", lambda: str(time.perf_counter_ns())) for _ in range(3)]
    assert len(set(made)) == 3
    assert cache.counts == Counts(0, 0, 0, 0, 0)


def test_many_who_ask_at_once_have_it_made_once() -> None:
    cache, made, gate = letters(), [], threading.Barrier(16)

    def make() -> str:
        made.append(threading.get_ident())
        time.sleep(0.05)
        return "उत्तर"

    def ask() -> str:
        gate.wait()
        return cache.get("प्रश्न", make)

    with ThreadPoolExecutor(16) as pool:
        answers = [one.result() for one in [pool.submit(ask) for _ in range(16)]]
    counts = cache.counts
    assert answers == ["उत्तर"] * 16
    assert len(made) == 1
    assert (counts.misses, counts.hits + counts.joined) == (1, 15)


def test_an_error_is_told_to_all_who_wait_and_is_not_kept() -> None:
    cache, gate, tries = letters(), threading.Barrier(8), []

    def make() -> str:
        tries.append(1)
        time.sleep(0.05)
        raise UpstreamError("the model answered 503")

    def ask() -> str:
        gate.wait()
        try:
            return cache.get("प्रश्न", make)
        except UpstreamError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        answers = [one.result() for one in [pool.submit(ask) for _ in range(8)]]
    assert answers == ["the model answered 503"] * 8
    assert len(tries) == 1
    assert cache.get("प्रश्न", lambda: "उत्तर") == "उत्तर"
    with pytest.raises(UpstreamError):
        cache.get("अर्को", make)


def test_others_do_not_wait_for_what_is_being_made() -> None:
    cache, hold, begun = letters(), threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        assert hold.wait(10)
        return "ढिलो"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(cache.get, "ढिलो", slow)
        assert begun.wait(10)
        assert cache.get("छिटो", lambda: "छिटो") == "छिटो"
        hold.set()
        assert waiting.result() == "ढिलो"
