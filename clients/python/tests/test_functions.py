# pyright: basic, reportPrivateUsage=none
"""Keys from a function and hooks: behavior that the table cannot show."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from postern import APITimeoutError, AsyncPostern, ConfigurationError, OutgoingRequest, Postern
from postern._calls import CallOptions
from postern._chat import chat

from .matching import shown
from .scripted import COMPLETION, HEALTH, KEY, Case, Scripted

MESSAGES: Any = [{"role": "user", "content": "Hello!"}]
FUNCTIONS = ["api_key", "on_request", "on_response"]


def client_of(case: Case, **options: Any) -> dict[str, Any]:
    """Options of a client for which any log record is an error."""

    def logged(record: Any) -> None:
        raise AssertionError(record)

    return {"api_key": KEY, "base_url": case.url, "logging": {"logger": logged}, **options}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cancellation_ends_a_function(scripted: Scripted, name: str) -> None:
    case = scripted.case({**HEALTH, "end": "hang"})

    async def run() -> None:
        called, ended = asyncio.Event(), asyncio.Event()

        async def hang(*args: object) -> Any:
            called.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with AsyncPostern(**client_of(case, **{name: hang})) as client:
            task = asyncio.create_task(client.health.get())
            await called.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await ended.wait()
        assert len(case.requests()) == (1 if name == "on_response" else 0)

    asyncio.run(run())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_awaited_function_takes_as_long_as_an_attempt(scripted: Scripted, name: str) -> None:
    case = scripted.case(HEALTH)
    error: type[Exception] = ConfigurationError if name == "api_key" else APITimeoutError

    async def run() -> None:
        ended = asyncio.Event()

        async def hang(*args: object) -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
                raise RuntimeError("nobody is told")

        async with AsyncPostern(**client_of(case, timeout_ms=500, **{name: hang})) as client:
            with pytest.raises(error, match=f"{name} (took longer than 500 ms|failed)"):
                await client.health.get()
            await ended.wait()

    asyncio.run(run())
    assert len(case.requests()) == (1 if name == "on_response" else 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_synchronous_client_awaits_nothing(scripted: Scripted, name: str) -> None:
    async def function(*args: object) -> Any:
        return KEY

    case = scripted.case(HEALTH)
    with Postern(**client_of(case, **{name: function})) as client, pytest.raises(ConfigurationError, match=name):
        client.health.get()


def test_functions_that_are_none() -> None:
    for name in ("on_request", "on_response"):
        with pytest.raises(ConfigurationError, match=f"{name} must be a function"):
            Postern(api_key=KEY, **{name: "text"})  # type: ignore
    with pytest.raises(ConfigurationError, match="api_key"):
        Postern(api_key=5)  # type: ignore


def numbered() -> tuple[list[str], Callable[[], str]]:
    """A function that returns a different key each time, and the keys so far."""
    keys: list[str] = []

    def key() -> str:
        made = f"sk_test_number{len(keys):04}"
        keys.append(made)
        return made

    return keys, key


def test_one_hundred_calls_at_once_have_a_key_each(scripted: Scripted) -> None:
    case = scripted.case(*[HEALTH] * 100)
    keys, key = numbered()

    async def later() -> str:
        made = key()
        await asyncio.sleep(0)
        return made

    async def run() -> None:
        async with AsyncPostern(**client_of(case, api_key=later)) as client:
            await asyncio.gather(*(client.health.get() for _ in range(100)))

    asyncio.run(run())
    assert sorted(request["headers"]["x-api-key"] for request in case.requests()) == sorted(keys)
    assert len(set(keys)) == 100


def test_threads_have_the_key_that_they_got(scripted: Scripted) -> None:
    case = scripted.case(*[HEALTH] * 30)

    def key() -> str:
        return f"sk_test_thread_{threading.current_thread().name}"

    def same(request: OutgoingRequest) -> None:
        request.headers["x-thread"] = threading.current_thread().name

    with Postern(**client_of(case, api_key=key, on_request=same)) as client:
        threads = [threading.Thread(target=client.health.get, name=f"t{i}") for i in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    seen = [(got["headers"]["x-api-key"], got["headers"]["x-thread"]) for got in case.requests()]
    assert sorted(seen) == sorted((f"sk_test_thread_t{i}", f"t{i}") for i in range(30))


def test_a_failed_key_leads_to_no_secret(scripted: Scripted) -> None:
    def key(secret: str) -> str:
        raise ValueError(secret)

    failing = functools.partial(key, "vault-token")
    with Postern(**client_of(scripted.case(), api_key=failing, headers={"x-pass": "very-secret"})) as client:
        with pytest.raises(ConfigurationError) as caught:
            client.health.get()
        texts = shown(caught.value) + repr(client) + repr(client._transport.settings) + repr(client._transport)
        call = chat({"messages": [{"role": "user", "content": "a prompt"}]}, CallOptions(headers={"x-pass": "very-secret"}))
        texts += repr(call) + repr(client._transport.prepared(call).prepared)
    assert str(caught.value) == "The function api_key failed (ValueError)."
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert not any(secret in texts for secret in ("vault-token", "very-secret", "a prompt"))


def test_a_request_hook_changes_headers_only(scripted: Scripted) -> None:
    case = scripted.case(COMPLETION, COMPLETION)
    seen: list[OutgoingRequest] = []

    def hook(request: OutgoingRequest) -> None:
        seen.append(request)
        assert KEY not in repr(request) + repr(request.headers)
        with pytest.raises(FrozenInstanceError):
            request.path = "/elsewhere"  # type: ignore
        request.headers["X-Trace"] = str(len(seen))
        del request.headers["x-team"]

    with Postern(**client_of(case, on_request=hook, headers={"x-team": "core", "x-trace": "0"})) as client:
        for _ in range(2):
            client.ai.complete(messages=MESSAGES)
    assert [(got["headers"]["x-trace"], got["headers"].get("x-team")) for got in case.requests()] == [("1", None), ("2", None)]


@pytest.mark.parametrize(
    ("name", "value"),
    [("x-a", 5), ("x-a", "a\nb"), ("x a", "b"), ("", "b"), (5, "b"), ("Host", "evil.example"), ("X-API-Key", "other")],
)
def test_headers_of_a_hook_are_checked(scripted: Scripted, name: Any, value: Any) -> None:
    def hook(request: OutgoingRequest) -> None:
        request.headers[name] = value

    case = scripted.case()
    with Postern(**client_of(case, on_request=hook)) as client, pytest.raises(ConfigurationError):
        client.health.get()
    assert case.requests() == []


def test_an_exhausted_iterator_in_a_hook_is_its_error(scripted: Scripted) -> None:
    """The hook raises StopIteration, which would also end the client's own generators."""
    nothing: Any = iter([])
    case = scripted.case(HEALTH)
    with Postern(**client_of(case, on_response=lambda _: next(nothing))) as client, pytest.raises(StopIteration):
        client.health.get()


def test_the_time_of_a_response_hook_is_not_that_of_the_gateway(scripted: Scripted) -> None:
    case = scripted.case(HEALTH)
    with Postern(**client_of(case, timeout_ms=1000, retries=0, on_response=lambda _: time.sleep(1.2))) as client:
        assert client.health.get().project_id == "proj_1"


def test_the_project_of_a_function_is_asked_for_each_time(scripted: Scripted) -> None:
    usage = {"json": {"budget": {"limit": 1}}}
    case = scripted.case(HEALTH, usage, HEALTH, usage, HEALTH, usage, usage)
    for key in (lambda: KEY, KEY):
        with Postern(**client_of(case, api_key=key)) as client:
            client.usage.get()
            client.usage.get()
    paths = [request["path"].removeprefix("/api/") for request in case.requests()]
    assert paths == ["health", "usage", "health", "usage", "health", "usage", "usage"]
