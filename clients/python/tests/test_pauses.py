# pyright: basic, reportPrivateUsage=none
"""Calls of a client that are in a pause at the same time, because the server asked for it, resume at different times.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
import pytest

from postern import AsyncPostern, Postern

from .scripted import HEALTH, KEY

LIMITED: Any = {
    "status_code": 429,
    "headers": {"retry-after-ms": "1000"},
    "json": {"error": "Rate limit exceeded", "code": "rate_limit_exceeded", "requestId": "req_1"},
}


def answering(*first: dict[str, Any]) -> httpx.MockTransport:
    """A server that sends these responses, then successful ones."""
    answers = list(first)
    good = {"status_code": 200, "json": HEALTH["json"]}
    return httpx.MockTransport(lambda request: httpx.Response(**(answers.pop(0) if answers else good)))


class Pauses:
    """Pauses that end when all expected calls are waiting."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.ms: list[float] = []
        self.all = asyncio.Event()

    async def __call__(self, ms: float) -> None:
        self.ms.append(ms)
        if len(self.ms) == self.expected:
            self.all.set()
        await self.all.wait()


def client_of(pauses: Any, *first: dict[str, Any]) -> AsyncPostern:
    http_client = httpx.AsyncClient(transport=answering(*first))
    client = AsyncPostern(api_key=KEY, http_client=http_client, logging={"level": "off"})
    client._transport._pause = pauses
    client._transport._random = lambda: 0.5
    return client


def test_many_calls_spread_out() -> None:
    async def run() -> None:
        pauses = Pauses(120)
        client = client_of(pauses, *[LIMITED] * 120)
        await asyncio.gather(*(client.health.get() for _ in range(120)))
        assert pauses.ms == [1000 + 0.875 * min(100 * others, 10_000) for others in range(120)]
        await pauses(0)  # all calls have resumed
        client = client_of(pauses, LIMITED)
        await client.health.get()
        assert pauses.ms[-1] == 1000

    asyncio.run(run())


def test_an_aborted_call_leaves() -> None:
    async def run() -> None:
        pauses = Pauses(3)
        client = client_of(pauses, *[LIMITED] * 3)
        first = asyncio.create_task(client.health.get())
        while not pauses.ms:
            await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.gather(client.health.get(), client.health.get())
        assert pauses.ms == [1000, 1000, 1087.5]

    asyncio.run(run())


def test_an_interrupted_call_leaves() -> None:
    """This also holds if the program keeps the call's error, and with it the frames."""

    def pause(ms: float) -> None:
        pauses.append(ms)
        if len(pauses) == 1:
            raise KeyboardInterrupt

    pauses: list[float] = []
    client = Postern(api_key=KEY, http_client=httpx.Client(transport=answering(LIMITED, LIMITED)), logging={"level": "off"})
    client._transport._pause = pause
    with pytest.raises(KeyboardInterrupt) as kept:
        client.health.get()
    client.health.get()
    assert (pauses, kept.type) == ([1000, 1000], KeyboardInterrupt)


def test_the_log_has_the_whole_pause() -> None:
    async def run() -> None:
        pauses, logs = Pauses(2), []
        http_client = httpx.AsyncClient(transport=answering(LIMITED, LIMITED))
        client = AsyncPostern(api_key=KEY, http_client=http_client, logging={"level": "info", "logger": logs.append})
        client._transport._pause, client._transport._random = pauses, lambda: 0.5
        await asyncio.gather(client.health.get(), client.health.get())
        assert [record["pauseMs"] for record in logs] == [1000, 1088]

    asyncio.run(run())


def test_pauses_of_the_client_itself_do_not_count() -> None:
    async def run() -> None:
        pauses = Pauses(3)
        failed = {"status_code": 500, "json": {}}
        client = client_of(pauses, failed, failed, LIMITED)
        await asyncio.gather(*(client.health.get() for _ in range(3)))
        assert pauses.ms == [437.5, 437.5, 1000]

    asyncio.run(run())


def test_threads_spread_out() -> None:
    waiting, go = threading.Event(), threading.Event()
    pauses: list[float] = []

    def pause(ms: float) -> None:
        pauses.append(ms)
        if len(pauses) == 1:
            waiting.set()
            go.wait()
        else:
            go.set()

    client = Postern(api_key=KEY, http_client=httpx.Client(transport=answering(LIMITED, LIMITED)), logging={"level": "off"})
    client._transport._pause, client._transport._random = pause, lambda: 0.5
    thread = threading.Thread(target=client.health.get)
    thread.start()
    waiting.wait()
    client.health.with_response.get()  # counts as a call of the same client
    thread.join()
    assert pauses == [1000, 1087.5]
