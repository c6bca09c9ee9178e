"""``RagClient`` and ``AsyncRagClient``: they send what ``calls`` asks, and wait as ``persistence`` says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, closing
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from rag_platform.answering.reply import Event
from rag_platform.client import calls
from rag_platform.client.address import checked_key, repaired
from rag_platform.client.persistence import Call, Ended
from rag_platform.client.reading import Events
from rag_platform.client.requests import Answer, Attempt, Steps
from rag_platform.errors import CallerError, Unreachable
from rag_platform.privacy import keep_private
from rag_platform.talk import AsyncConversation, Conversation, Names

__all__ = ["AsyncRagClient", "RagClient"]

_URL = "http://127.0.0.1:8080"
_CONNECT_S = 10.0
_LIMIT_S = 150.0
"""More than a service takes for a request (``RAG_DEADLINE_S``), which says so itself."""
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

P = ParamSpec("P")
R = TypeVar("R")


class _Client:
    """Where a service is, and how it is told things: what both clients know."""

    def __init__(self, url: str, key: str, timeout_s: float) -> None:
        keep_private()  # so that what is for this machine is sent through no proxy
        self.url, self._timeout_s, self._key = repaired(url), timeout_s, checked_key(key)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._settings: dict[str, Any] = {"base_url": self.url, "headers": headers, "follow_redirects": False}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _call(self, steps: Steps[R], http: httpx.Client | httpx.AsyncClient) -> Call[R]:
        if http.is_closed:
            raise CallerError("this client is closed; make another")
        return Call(steps, self.url, self._timeout_s)

    def _request(
        self, http: httpx.Client | httpx.AsyncClient, attempt: Attempt, opened: ExitStack
    ) -> httpx.Request:
        """Return the request of an attempt; its files are opened, and closed with ``opened``."""
        asked, left_s = attempt.request, attempt.left_s
        files = [("files", (name, opened.enter_context(path.open("rb")))) for name, path in asked.files]
        return http.build_request(
            asked.method,
            asked.path,
            params=dict(asked.params) or None,
            json=asked.json,
            data=dict(asked.form) or None,
            files=files or None,
            timeout=httpx.Timeout(left_s, connect=min(left_s, _CONNECT_S)),
        )

    def _answer(self, response: httpx.Response, body: bytes) -> Answer:
        """Return an answer; in an error, which may repeat what was sent, the key is blotted out."""
        if self._key and not response.is_success:
            body = body.replace(self._key.encode(), b"***")
        return Answer(response.status_code, response.headers, body)

    def _unreachable(self, error: Exception) -> Unreachable:
        """Return a failure of the network as what it means."""
        sent = not isinstance(error, _NOT_SENT)
        if isinstance(error, httpx.TimeoutException | TimeoutError) and sent:
            told = f"{self.url} gave no answer in {self._timeout_s:g} s; ask again, or raise timeout_s"
        else:
            reason = " ".join(str(error).split()) or type(error).__name__
            remedy = "ask again" if sent else "check the address, and that 'rag serve' runs there"
            told = f"{self.url} {'broke off' if sent else 'is out of reach'} ({reason}); {remedy}"
        return Unreachable(told, sent=sent)


def _sent(make: Callable[P, Steps[R]]) -> Callable[Concatenate[RagClient, P], R]:
    """Return a method that makes a call."""

    @wraps(make)
    def method(self: RagClient, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._run(make(*args, **kwargs))

    return method


def _sent_async(make: Callable[P, Steps[R]]) -> Callable[Concatenate[AsyncRagClient, P], Awaitable[R]]:
    """Return a method that makes a call, for asyncio."""

    @wraps(make)
    async def method(self: AsyncRagClient, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._run(make(*args, **kwargs))

    return method


def _streamed(
    make: Callable[P, Steps[httpx.Response]],
) -> Callable[Concatenate[RagClient, P], Iterator[Event]]:
    """Return a method that yields the events of an answer."""

    @wraps(make)
    def method(self: RagClient, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Event]:
        events = Events(self.url)
        with closing(self._run(make(*args, **kwargs))) as response:
            try:
                for piece in response.iter_bytes():
                    yield from events.read(piece)
            except httpx.RequestError as error:
                raise self._unreachable(error) from None
        events.end()

    return method


def _streamed_async(
    make: Callable[P, Steps[httpx.Response]],
) -> Callable[Concatenate[AsyncRagClient, P], AsyncIterator[Event]]:
    """Return a method that yields the events of an answer, for asyncio."""

    @wraps(make)
    async def method(self: AsyncRagClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Event]:
        events = Events(self.url)
        response = await self._run(make(*args, **kwargs))
        try:
            async for piece in response.aiter_bytes():
                for event in events.read(piece):
                    yield event
        except httpx.RequestError as error:
            raise self._unreachable(error) from None
        finally:
            await response.aclose()
        events.end()

    return method


class RagClient(_Client):
    """A platform that a service serves, with the methods, values and errors of ``RagPlatform``.

    Safe to share between threads, usable as a context manager. What only a process beside the documents can
    do (``info``, ``evaluate``) is not there. What is refused for now, and what is only read, is asked again,
    after the time that the service names.

    Args:
        url: Of the service, as ``https://rag.example.org``.
        key: One of ``rag keys add``; empty: the service asks for none. It is sent to this address alone.
        timeout_s: Seconds for one request, with its repetitions.
    """

    def __init__(self, url: str = _URL, *, key: str = "", timeout_s: float = _LIMIT_S) -> None:
        super().__init__(url, key, timeout_s)
        self._http = httpx.Client(**self._settings)

    ingest = _sent(calls.ingest)
    ingest_folder = _sent(calls.ingest_folder)
    add_text = _sent(calls.add_text)
    documents = _sent(calls.documents)
    document = _sent(calls.document)
    delete = _sent(calls.delete)
    search = _sent(calls.search)
    search_batch = _sent(calls.search_batch)
    explain = _sent(calls.explain)
    ask = _sent(calls.ask)
    stream = _streamed(calls.stream)
    collections = _sent(calls.collections)
    models = _sent(calls.models)
    leaderboard = _sent(calls.leaderboard)

    def chat(self, *, collection: Names = None, generator: str | None = None) -> Conversation:
        """Begin a conversation, in which follow-ups are understood; this side keeps what was said."""
        return Conversation(self, collection, generator)

    def close(self) -> None:
        """Let go of the connections; a second time is no error."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, steps: Steps[R]) -> R:
        call = self._call(steps, self._http)
        move = call.next()
        while not isinstance(move, Ended):
            if isinstance(move, float):
                time.sleep(move)
                move = call.next()
            else:
                move = call.next(self._tried(move))
        return move.value

    def _tried(self, attempt: Attempt) -> Answer | Unreachable:
        ends = time.monotonic() + attempt.left_s
        with ExitStack() as opened:
            request = self._request(self._http, attempt, opened)
            try:
                response = self._http.send(request, stream=True)
                if attempt.request.events and response.is_success:
                    return Answer(response.status_code, response.headers, b"", response)
                with closing(response):
                    body = b""
                    for piece in response.iter_bytes():
                        body += piece
                        if time.monotonic() > ends and not attempt.request.files:
                            raise httpx.ReadTimeout("")
            except httpx.RequestError as error:
                return self._unreachable(error)
        return self._answer(response, body)


class AsyncRagClient(_Client):
    """``RagClient`` for asyncio: the same methods, awaited; usable as an asynchronous context manager.

    Args:
        url: Of the service, as ``https://rag.example.org``.
        key: One of ``rag keys add``; empty: the service asks for none. It is sent to this address alone.
        timeout_s: Seconds for one request, with its repetitions.
    """

    def __init__(self, url: str = _URL, *, key: str = "", timeout_s: float = _LIMIT_S) -> None:
        super().__init__(url, key, timeout_s)
        self._http = httpx.AsyncClient(**self._settings)

    ingest = _sent_async(calls.ingest)
    ingest_folder = _sent_async(calls.ingest_folder)
    add_text = _sent_async(calls.add_text)
    documents = _sent_async(calls.documents)
    document = _sent_async(calls.document)
    delete = _sent_async(calls.delete)
    search = _sent_async(calls.search)
    search_batch = _sent_async(calls.search_batch)
    explain = _sent_async(calls.explain)
    ask = _sent_async(calls.ask)
    stream = _streamed_async(calls.stream)
    collections = _sent_async(calls.collections)
    models = _sent_async(calls.models)
    leaderboard = _sent_async(calls.leaderboard)

    def chat(self, *, collection: Names = None, generator: str | None = None) -> AsyncConversation:
        """Begin a conversation, in which follow-ups are understood; this side keeps what was said."""
        return AsyncConversation(self, collection, generator)

    async def close(self) -> None:
        """Let go of the connections; a second time is no error."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, steps: Steps[R]) -> R:
        call = self._call(steps, self._http)
        move = await asyncio.to_thread(call.next)  # what reads folders and large answers is off the loop
        while not isinstance(move, Ended):
            if isinstance(move, float):
                await asyncio.sleep(move)
                move = call.next()
            else:
                move = await asyncio.to_thread(call.next, await self._tried(move))
        return move.value

    async def _tried(self, attempt: Attempt) -> Answer | Unreachable:
        with ExitStack() as opened:
            request = self._request(self._http, attempt, opened)
            try:
                async with asyncio.timeout(None if attempt.request.files else attempt.left_s):
                    response = await self._http.send(request, stream=True)
                    if attempt.request.events and response.is_success:
                        return Answer(response.status_code, response.headers, b"", response)
                    try:
                        body = await response.aread()
                    finally:
                        await response.aclose()
            except (httpx.RequestError, TimeoutError) as error:
                return self._unreachable(error)
        return self._answer(response, body)
