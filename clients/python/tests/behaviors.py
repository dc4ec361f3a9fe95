# pyright: basic, reportPrivateUsage=none
"""Runs the cases of testdata/clients with one of the two clients."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
from collections.abc import Awaitable, Mapping
from typing import Any
from unittest import mock

from postern import APIAbortedError, AsyncPostern, IncomingResponse, OutgoingRequest, Postern, PosternError

from postern._sync.ai import AI

from .matching import error_wire, mismatch, shown, snake, wire
from .scripted import KEY, ROOT, Case, Scripted

CLIENT_OPTIONS = {"apiKey": "api_key", "baseURL": "base_url", "timeout": "timeout_ms"}
READS = {"text": "text", "usage": "usage", "final": "final", "data": "data", "eventsThenData": "data"}
"""The stream methods that `collect` represents."""
ITERATED = ("violations.list", "models.list", "compliance.export")


def cases() -> list[dict[str, Any]]:
    """All cases for this library."""
    files = sorted((ROOT / "testdata/clients").glob("*.json"))
    every = [case for file in files for case in json.loads(file.read_text())]
    return [case for case in every if "python" not in case.get("not", [])]


def needs_cancellation(case: Mapping[str, Any]) -> bool:
    """Whether a case cancels a call. The synchronous client cannot cancel a call, only close a stream."""
    return any(
        "abort" in call and not (isinstance(call["abort"], int) and call["method"] == "ai.chat")
        for call in case["calls"]
    )


def city(value: Any) -> Any:
    """The validator `city` of the table."""
    if not isinstance(value, dict) or not isinstance(value.get("city"), str):
        raise ValueError("city must be a string")
    return {"city": value["city"]}


class City:
    """The validator and its schema, like a pydantic model."""

    @classmethod
    def model_validate(cls, obj: Any) -> Any:
        return city(obj)

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def filled(value: Any, url: str) -> Any:
    """Replaces {url} in all strings."""
    if isinstance(value, str):
        return value.replace("{url}", url)
    if isinstance(value, list):
        return [filled(item, url) for item in value]
    if isinstance(value, dict):
        return {name: filled(item, url) for name, item in value.items()}
    return value


def snaked(options: Mapping[str, Any]) -> dict[str, Any]:
    return {snake(name): value for name, value in options.items()}


def key_function(described: Mapping[str, Any]) -> Any:
    """The table's function that returns keys or fails."""
    keys = list(described["function"])

    def key() -> str:
        if "fails" in described:
            raise RuntimeError(described["fails"])
        return keys.pop(0) if len(keys) > 1 else keys[0]

    return key


def hooks(described: Mapping[str, Any], seen: list[Any]) -> dict[str, Any]:
    """The table's hooks, which record what they receive."""

    def on_request(request: OutgoingRequest) -> None:
        seen.append({"hook": "request", **wire(request)})
        request.headers.update(described.get("set", {}))
        if "failRequest" in described:
            raise RuntimeError(described["failRequest"])

    def on_response(response: IncomingResponse) -> None:
        seen.append({"hook": "response", **wire(response)})
        if "failResponse" in described:
            raise RuntimeError(described["failResponse"])

    return {"on_request": on_request, "on_response": on_response}


def awaited(function: Any) -> Any:
    """Turns a function into a coroutine function that first yields to the event loop."""

    async def call(*args: Any) -> Any:
        await asyncio.sleep(0)
        return function(*args)

    return call


def constructor_options(case: Mapping[str, Any], url: str, logs: list[Any], seen: list[Any]) -> dict[str, Any]:
    given = {"apiKey": KEY, "baseURL": url, **case.get("client", {})}
    described = given.pop("hooks", None)
    if isinstance(given["apiKey"], dict):
        given["apiKey"] = key_function(given["apiKey"])
    options = {CLIENT_OPTIONS.get(name, snake(name)): value for name, value in given.items() if value is not None}
    if isinstance(options.get("governor"), dict):
        options["governor"] = snaked(options["governor"])
    logging = options.get("logging", {})
    options["logging"] = {**snaked(logging), "logger": logs.append} if isinstance(logging, dict) else logging
    return {**options, **({} if described is None else hooks(described, seen))}


def arguments(call: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments of a call."""
    if call["method"] in ("get", "post"):
        return list(call["args"]), options_of(call)
    positional = [arg for arg in call["args"] if not isinstance(arg, dict)]
    params = next((arg for arg in call["args"] if isinstance(arg, dict)), {})
    keywords: dict[str, Any] = {}
    known = {"from": "from_"}
    for name, value in params.items():
        keywords[known.get(name, snake(name))] = City if name == "schema" else value
    return positional, unknown_as_extra(call["method"], {**keywords, **options_of(call)})


def options_of(call: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call as keyword arguments."""
    keywords: dict[str, Any] = {}
    for name, value in call.get("options", {}).items():
        value = snaked(value) if name == "governor" and isinstance(value, dict) else value
        keywords[{"timeout": "timeout_ms"}.get(name, name)] = value
    return keywords


def unknown_as_extra(method: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """Moves fields that are not arguments to extra_body."""
    if not method.startswith("ai."):
        return keywords
    names = inspect.signature(getattr(AI, snake(method.removeprefix("ai.")))).parameters
    extra = {name: keywords.pop(name) for name in list(keywords) if name not in names}
    return {**keywords, "extra_body": extra} if extra else keywords


def call_reads_nothing(outcome: Outcome) -> bool:
    return outcome.call.get("read") == 0


class Outcome:
    """The outcome of one call."""

    def __init__(self, call: Mapping[str, Any]) -> None:
        self.call = call
        self.collect = call.get("collect")
        self.items: list[Any] | None = [] if self.kind == "items" else None
        self.value: Any = None
        self.error: BaseException | None = None

    @property
    def kind(self) -> str:
        """How the result is read: `stream`, `items` or `value`."""
        if self.collect in (*READS, "page", "response"):
            return "value"
        if self.call["method"] == "ai.chat":
            return "stream"
        return "items" if self.call["method"] in ITERATED else "value"

    def take(self, item: Any) -> bool:
        """Takes an event or item. Returns whether to stop reading."""
        assert self.items is not None
        self.items.append(item.line if self.collect == "lines" else item)
        return len(self.items) == self.call.get("read")

    def must_close(self) -> bool:
        return self.items is not None and len(self.items) == self.call.get("abort")

    def as_wire(self) -> dict[str, Any]:
        shown: dict[str, Any] = {} if self.error is None else {"error": error_wire(self.error)}
        if self.items is not None:
            shown["events" if self.kind == "stream" else "items"] = wire(self.items)
        elif self.error is None:
            shown["value"] = wire(self.value)
        return shown


def method_of(client: Any, outcome: Outcome) -> Any:
    resource, _, name = outcome.call["method"].rpartition(".")
    target = getattr(client, resource) if resource else client
    return getattr(target.with_response if outcome.collect == "response" else target, snake(name))


def run_sync_call(client: Postern, outcome: Outcome) -> None:
    positional, keywords = arguments(outcome.call)
    result = method_of(client, outcome)(*positional, **keywords)
    if outcome.kind == "value":
        if outcome.collect == "eventsThenData":
            assert list(result)
        method = READS.get(outcome.collect or "")
        outcome.value = getattr(result, method)() if method else result
        return
    outcome.items = []
    for item in () if call_reads_nothing(outcome) else result:
        if outcome.take(item):
            break
        if outcome.must_close():
            result.close()


async def cancel_this_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def run_async_call(client: AsyncPostern, outcome: Outcome) -> None:
    positional, keywords = arguments(outcome.call)
    pending = method_of(client, outcome)(*positional, **keywords)
    if outcome.kind == "value":
        result = await pending
        if outcome.collect == "eventsThenData":
            assert [event async for event in result]
        method = READS.get(outcome.collect or "")
        outcome.value = await getattr(result, method)() if method else result
        return
    outcome.items = []
    if call_reads_nothing(outcome):
        return
    result = await pending if isinstance(pending, Awaitable) else pending
    async for item in result:
        if outcome.take(item):
            break
        if outcome.must_close() and outcome.kind == "stream":
            await result.close()
        elif outcome.must_close():
            await cancel_this_task()


class Run:
    """One case with one client."""

    def __init__(self, case: dict[str, Any], scripted: Scripted) -> None:
        self.server: Case = scripted.case(*case["server"])
        self.case = filled(case, self.server.url)
        self.logs: list[dict[str, Any]] = []
        self.pauses: list[float] = []
        self.seen: list[dict[str, Any]] = []
        """The arguments that the hooks received."""
        self.outcomes: list[Outcome] = []
        self.construct_error: PosternError | None = None

    def run(self, is_async: bool) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("POSTERN_")}
        with mock.patch.dict(os.environ, {**kept, **self._variables()}, clear=True):
            try:
                options = constructor_options(self.case, self.server.url, self.logs, self.seen)
                if is_async:
                    functions = ("api_key", "on_request", "on_response")
                    options.update({name: awaited(options[name]) for name in functions if callable(options.get(name))})
                    asyncio.run(self._run_async(AsyncPostern(**options)))
                else:
                    self._run_sync(Postern(**options))
            except PosternError as error:
                self.construct_error = error
        self.check()

    def _run_sync(self, client: Postern) -> None:
        client._transport._pause = self.pauses.append
        with client:
            for call in self.case["calls"]:
                outcome = Outcome(call)
                self.outcomes.append(outcome)
                try:
                    run_sync_call(client, outcome)
                except (PosternError, RuntimeError) as error:
                    outcome.error = error

    async def _run_async(self, client: AsyncPostern) -> None:
        async with client:
            for call in self.case["calls"]:
                outcome = Outcome(call)
                self.outcomes.append(outcome)
                task = asyncio.create_task(run_async_call(client, outcome))
                self._pause_in(client, task, call.get("abort"))
                if call.get("abort") == "before":
                    task.cancel()
                if call.get("abort") == "request":
                    await asyncio.to_thread(self.server.wait_for, 1)
                    task.cancel()
                try:
                    await task
                except (PosternError, RuntimeError) as error:
                    outcome.error = error
                except asyncio.CancelledError:
                    # The table uses its TypeScript name.
                    outcome.error = APIAbortedError("cancelled")

    def _pause_in(self, client: AsyncPostern, task: asyncio.Task[None], abort: Any) -> None:
        async def pause(ms: float) -> None:
            self.pauses.append(ms)
            if abort == "pause":
                task.cancel()
            await asyncio.sleep(0)

        client._transport._pause = pause

    def check(self) -> None:
        expect = self.case["expect"]
        construct = None if self.construct_error is None else {"error": error_wire(self.construct_error)}
        assert mismatch(expect.get("construct"), construct, "construct") is None, construct
        results = [outcome.as_wire() for outcome in self.outcomes]
        assert len(results) == len(expect["results"]), results
        for i, (want, got) in enumerate(zip(expect["results"], results, strict=True)):
            assert ("error" in want) == ("error" in got), got
            assert mismatch(want, got, f"results[{i}]") is None, mismatch(want, got, f"results[{i}]")
        self._check_requests(expect)
        pauses = expect.get("pauses", [])
        assert len(pauses) == len(self.pauses), self.pauses
        assert all(least <= got <= most for (least, most), got in zip(pauses, self.pauses, strict=True)), self.pauses
        for name, got in (("logs", self.logs), ("hooks", self.seen)):
            assert name not in expect or mismatch(expect[name], got, name) is None, got
        self._check_absent(expect)

    def _check_requests(self, expect: Mapping[str, Any]) -> None:
        for i, want in enumerate(expect["requests"]):
            if want.get("closed"):
                self.server.wait_closed(i)
        requests = self.server.requests()
        assert len(requests) == len(expect["requests"]), requests
        for i, (want, got) in enumerate(zip(expect["requests"], requests, strict=True)):
            assert "query" not in want or want["query"] == got["query"], got
            assert "body" not in want or want["body"] == got["body"], got
            seen = {**want, "query": {}, "body": None, **got}
            assert mismatch(want, seen, f"requests[{i}]") is None, mismatch(want, seen, f"requests[{i}]")
            self._check_identity(got["headers"])
        for name in expect.get("sameHeader", []):
            assert len({request["headers"].get(name) for request in requests}) == 1, requests
        for name in expect.get("differentHeader", []):
            assert len({request["headers"].get(name) for request in requests}) == len(requests), requests

    def _check_identity(self, headers: Mapping[str, str]) -> None:
        assert headers["x-api-key"] in self._keys()
        assert "authorization" not in headers
        assert re.match(r"^postern-python/\d+\.\d+\.\d+ \(.+\)$", headers["user-agent"])

    def _variables(self) -> dict[str, str]:
        return self.case.get("env", {})

    def _keys(self) -> list[str]:
        """The key, or the keys that a function returned. For those, the case lists the key of each request."""
        given: Any = self.case.get("client", {}).get("apiKey", KEY)
        keys = given["function"] if isinstance(given, dict) else [given or self._variables().get("POSTERN_API_KEY", KEY)]
        return [key.strip() for key in keys]

    def _check_absent(self, expect: Mapping[str, Any]) -> None:
        errors = [outcome.error for outcome in self.outcomes] + [self.construct_error]
        texts = [json.dumps(self.logs, default=str, ensure_ascii=False)]
        texts += [shown(error) for error in errors if error is not None]
        urls = [request["path"] + json.dumps(request["query"]) for request in self.server.requests()]
        of_key = [part for key in self._keys() for part in (key, re.sub(r"^[sp]k_(test|live)_", "", key)) if part]
        for text in texts:
            assert not any(secret in text for secret in [*of_key, *expect.get("absent", [])]), text
        assert not any(secret in url for url in urls for secret in of_key), urls
