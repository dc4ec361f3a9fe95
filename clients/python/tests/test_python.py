# pyright: basic, reportPrivateUsage=none
"""Behavior specific to Python."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import re
import socket
import threading
import traceback
from typing import Any

import httpx
import pytest

import postern
from postern import (
    APIAbortedError,
    APIConnectionError,
    APITimeoutError,
    AsyncPostern,
    BadRequestError,
    ConfigurationError,
    OutputValidationError,
    Postern,
    PosternError,
    StreamError,
)

from .scripted import COMPLETION, DONE, HEALTH, KEY, Scripted

MESSAGES: Any = [{"role": "user", "content": "Hello!"}]
HANGING = {"sse": [{"type": "delta", "text": "Hi"}], "end": "hang"}


def surface(cls: type, depth: int = 3) -> dict[str, Any]:
    """The public members of a class and of the classes of its attributes, with parameters and their annotations."""
    shown: dict[str, Any] = {}
    for name, member in sorted(vars(cls).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if inspect.isfunction(member):
            shown[name] = [(p.name, p.kind, p.default, plain(p.annotation)) for p in parameters(member)]
        elif isinstance(member, property) and member.fget is not None:
            shown[name] = plain(inspect.signature(member.fget).return_annotation)
    for name, annotation in getattr(cls, "__annotations__", {}).items():
        shown[name] = plain(annotation)
        found = attribute_class(cls, annotation)
        if depth and found is not None:
            shown[f"{name}.*"] = surface(found, depth - 1)
    return shown


def parameters(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def attribute_class(cls: type, annotation: str) -> Any:
    return vars(cls)["__init__"].__globals__.get(annotation)


def plain(annotation: Any) -> str:
    return re.sub(r"\bAsync([A-Z])", r"\1", str(annotation))


def test_surfaces_are_equal() -> None:
    sync, asynchronous = surface(Postern), surface(AsyncPostern)
    assert sync == asynchronous
    methods = {f"{api}.{name}" for api in ("ai", "models", "violations") for name in sync[f"{api}.*"]}
    assert {"ai.complete", "ai.chat", "models.transition", "violations.update"} <= methods
    assert surface(postern.ChatStream) == surface(postern.AsyncChatStream)
    assert surface(postern.Page) == surface(postern.AsyncPage)


def test_everything_public_has_a_doc_comment() -> None:
    for cls in (Postern, AsyncPostern, postern.ChatStream, postern.Page):
        for name, member in inspect.getmembers(cls):
            if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                assert inspect.getdoc(member), f"{cls.__name__}.{name}"
    with Postern(api_key=KEY) as client:
        for api in (client.ai, client.usage, client.health, client.governor, client.models, client.compliance):
            for name, member in inspect.getmembers(type(api)):
                assert name.startswith("_") or inspect.getdoc(member), f"{type(api).__name__}.{name}"
            assert inspect.getdoc(type(api))
    for value in map(vars(postern).get, postern.__all__):
        assert inspect.getdoc(value) or not (inspect.isclass(value) or inspect.isfunction(value)), value


def test_methods_with_response_are_the_same(scripted: Scripted) -> None:
    with Postern(api_key=KEY, base_url=scripted.case().url) as client:
        for api in (client.ai, client.usage, client.health, client.governor, client.violations, client.models):
            names = {name for name in vars(type(api)) if not name.startswith("_")} - {"with_response"}
            assert names == set(vars(api.with_response))


def test_cancellation_closes_the_connection(scripted: Scripted) -> None:
    case = scripted.case(HANGING)

    async def run() -> None:
        arrived = asyncio.Event()

        async def read() -> None:
            async with AsyncPostern(api_key=KEY, base_url=case.url) as client:
                async with client.ai.chat(messages=MESSAGES) as stream:
                    async for _ in stream:
                        arrived.set()

        task = asyncio.create_task(read())
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(case.wait_closed)

    asyncio.run(run())


def test_cancellation_before_the_headers_leaves_the_client_usable(scripted: Scripted) -> None:
    case = scripted.case({"fault": "hang"}, HEALTH)

    async def run() -> None:
        async with AsyncPostern(api_key=KEY, base_url=case.url) as client:
            task = asyncio.create_task(client.health.get())
            await asyncio.to_thread(case.wait_for, 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(case.wait_closed)
            assert (await client.health.get()).project_id == "proj_1"

    asyncio.run(run())


def test_leaving_the_block_closes_the_connection(scripted: Scripted) -> None:
    case = scripted.case(HANGING)
    with Postern(api_key=KEY, base_url=case.url) as client:
        with client.ai.chat(messages=MESSAGES) as stream:
            for event in stream:
                assert event.type == "delta" and event.text == "Hi"
                break
        case.wait_closed()
        with pytest.raises(APIAbortedError):
            stream.final()


def test_leaving_the_block_without_reading(scripted: Scripted) -> None:
    case = scripted.case(HANGING, HANGING)
    with Postern(api_key=KEY, base_url=case.url) as client:
        with client.ai.chat(messages=MESSAGES):
            pass
        case.wait_closed(0)

    async def run() -> None:
        async with AsyncPostern(api_key=KEY, base_url=case.url) as client:
            async with client.ai.chat(messages=MESSAGES):
                pass
            await asyncio.to_thread(case.wait_closed, 1)

    asyncio.run(run())


def test_leaving_a_loop_without_a_block_closes_the_connection(scripted: Scripted) -> None:
    case = scripted.case(HANGING, HANGING)
    with Postern(api_key=KEY, base_url=case.url) as client:
        stream = client.ai.chat(messages=MESSAGES)
        for _ in stream:
            break
        case.wait_closed(0)

    async def run() -> None:
        async with AsyncPostern(api_key=KEY, base_url=case.url) as client:
            stream = await client.ai.chat(messages=MESSAGES)
            async for _ in stream:
                break
            await asyncio.to_thread(case.wait_closed, 1)

    asyncio.run(run())


def test_an_interrupt_closes_the_connection(scripted: Scripted) -> None:
    def interrupt(record: Any) -> None:
        if record["msg"] == "response":
            raise KeyboardInterrupt

    case = scripted.case(HANGING)
    with Postern(api_key=KEY, base_url=case.url, logging={"level": "debug", "logger": interrupt}) as client:
        with pytest.raises(KeyboardInterrupt):
            client.ai.chat(messages=MESSAGES)
        case.wait_closed()


def test_leaving_an_asynchronous_loop_closes_the_connection(scripted: Scripted) -> None:
    case = scripted.case(HANGING)

    async def run() -> None:
        async with AsyncPostern(api_key=KEY, base_url=case.url) as client:
            async for _ in client.ai.chat(messages=MESSAGES):
                break
            gc.collect()
            await asyncio.to_thread(case.wait_closed)

    asyncio.run(run())


def test_an_answer_that_was_read_stays_available(scripted: Scripted) -> None:
    case = scripted.case({"sse": [{"type": "delta", "text": "Hi"}, DONE]})
    with Postern(api_key=KEY, base_url=case.url) as client:
        with client.ai.chat(messages=MESSAGES) as stream:
            for event in stream:
                if event.type == "done":
                    break
        assert stream.text() == "Hi"
        assert stream.usage().total_tokens == 8


def test_a_failed_stream_fails_again_and_is_logged_once(scripted: Scripted) -> None:
    case = scripted.case({"sse": [{"type": "delta", "text": "Hi"}], "end": "close"})
    logs: list[Any] = []
    with Postern(api_key=KEY, base_url=case.url, logging={"logger": logs.append}) as client:
        stream = client.ai.chat(messages=MESSAGES)
        for _ in range(2):
            with pytest.raises(StreamError, match="before the answer was whole"):
                stream.text()
    assert [record["code"] for record in logs] == ["incomplete_stream"]


def test_a_closed_client_says_so(scripted: Scripted) -> None:
    client = Postern(api_key=KEY, base_url=scripted.case().url)
    client.close()
    with pytest.raises(ConfigurationError, match="closed"):
        client.health.get()

    async def run() -> None:
        asynchronous = AsyncPostern(api_key=KEY)
        await asynchronous.close()
        with pytest.raises(ConfigurationError, match="closed"):
            await asynchronous.ai.chat(messages=MESSAGES)

    asyncio.run(run())


def test_own_http_client_stays_open(scripted: Scripted) -> None:
    case = scripted.case(HEALTH)
    with httpx.Client(headers={"x-proxy": "1"}) as http:
        with Postern(api_key=KEY, base_url=case.url, http_client=http) as client:
            client.health.get()
        assert not http.is_closed
    assert case.requests()[0]["headers"]["x-proxy"] == "1"
    with pytest.raises(ConfigurationError, match="httpx.Client"):
        Postern(api_key=KEY, http_client=httpx.AsyncClient())  # type: ignore


def test_own_http_client_follows_no_redirect(scripted: Scripted) -> None:
    case = scripted.case({"status": 307, "headers": {"location": "/elsewhere"}, "text": ""})
    with httpx.Client(follow_redirects=True) as http, Postern(api_key=KEY, base_url=case.url, http_client=http) as client:
        with pytest.raises(postern.APIError, match="HTTP 307"):
            client.health.get()


def test_netrc_is_not_used(scripted: Scripted, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login jane password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    case = scripted.case(HEALTH)
    with Postern(api_key=KEY, base_url=case.url) as client:
        client.health.get()
    assert "authorization" not in case.requests()[0]["headers"]


def test_one_client_in_50_threads(scripted: Scripted) -> None:
    case = scripted.case(*[COMPLETION] * 50)
    texts: list[str] = []
    with Postern(api_key=KEY, base_url=case.url) as client:

        def complete() -> None:
            texts.append(client.ai.complete(messages=MESSAGES).text)

        threads = [threading.Thread(target=complete) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert texts == ["Hi there"] * 50


def test_with_response_in_threads_has_its_own_response(scripted: Scripted) -> None:
    case = scripted.case(*[{**HEALTH, "headers": {"x-postern-model": f"m{i}"}} for i in range(20)])
    seen: list[Any] = []
    with Postern(api_key=KEY, base_url=case.url) as client:
        threads = [threading.Thread(target=lambda: seen.append(client.health.with_response.get())) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client._transport._last is None, "threads would share it"
    assert {result.meta.model for result in seen} == {f"m{i}" for i in range(20)}


def test_nothing_shows_the_key(scripted: Scripted) -> None:
    secret = KEY.removeprefix("sk_test_")
    case = scripted.case({"fault": "reset"})
    client = Postern(api_key=KEY, base_url=case.url, retries=0)
    for value in (client, client._transport, client._transport.settings, client.ai, vars(client._transport.settings)):
        assert secret not in repr(value)
    with pytest.raises(APIConnectionError) as caught:
        client.health.get()
    # Includes local variables, as error trackers do.
    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    own = [line for line in shown.splitlines() if "httpx" not in line and "httpcore" not in line]
    assert "api_error" not in shown and secret not in "\n".join(own[:1])
    assert secret not in str(caught.value) + repr(caught.value) + repr(caught.value.to_dict())
    client.close()


def test_errors_can_be_logged_as_json(scripted: Scripted) -> None:
    body = {"error": "Invalid request", "code": "invalid_request", "requestId": "req_9"}
    case = scripted.case({"status": 400, "json": {**body, "details": [{"field": "messages", "message": "is required"}]}})
    with Postern(api_key=KEY, base_url=case.url) as client, pytest.raises(BadRequestError) as caught:
        client.ai.complete(messages=[])
    assert caught.value.to_dict() == {
        "name": "BadRequestError",
        "message": "Invalid request: messages: is required (400, invalid_request, req_9)",
        "status": 400,
        "code": "invalid_request",
        "request_id": "req_9",
        "details": [{"field": "messages", "message": "is required"}],
        "findings": [],
        **dict.fromkeys(("attempts", "budget", "resets_at")),
    }
    assert (str(caught.value), caught.value.text) == (caught.value.message, "Invalid request")


def refused(**options: Any) -> ConfigurationError:
    """The error from creating a client with wrong options."""
    with pytest.raises(ConfigurationError) as caught:
        Postern(**{"api_key": KEY, **options})
    return caught.value


def test_errors_of_options_name_the_option_or_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    v1 = " must be the gateway's address without /v1 (that is for OpenAI's SDKs)"
    assert str(refused(base_url="http://127.0.0.1/v1/")) == "base_url" + v1
    assert str(refused(environment="staging")) == "environment must be production or development."
    assert str(refused(logging={"level": "loud"})) == "logging['level'] must be debug, info, warn, error or off."
    for variable, value, text in (
        ("POSTERN_BASE_URL", "http://127.0.0.1/v1", "POSTERN_BASE_URL" + v1),
        ("POSTERN_ENVIRONMENT", "staging", "POSTERN_ENVIRONMENT must be production or development."),
        ("POSTERN_LOG_LEVEL", "loud", "POSTERN_LOG_LEVEL must be debug, info, warn, error or off."),
        ("POSTERN_API_KEY", "a\nb", "POSTERN_API_KEY has a control character or one that is not ASCII."),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            assert str(refused(**({"api_key": None} if variable == "POSTERN_API_KEY" else {}))) == text


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def test_connection_errors_have_the_address_and_the_reason() -> None:
    address = f"http://127.0.0.1:{free_port()}"
    options: Any = {"api_key": KEY, "base_url": f"{address}/secret", "retries": 0, "logging": {"level": "off"}}
    wanted = rf"GET /api/usage: connection to {address} failed \(\[Errno \d+\] .*[Cc]onnect.*\)"
    with Postern(**options) as client, pytest.raises(APIConnectionError) as caught:
        client.usage.get(project_id="secret")
    assert re.fullmatch(wanted, str(caught.value)), caught.value
    assert isinstance(caught.value.__cause__, httpx.ConnectError)

    async def run() -> None:
        async with AsyncPostern(**options) as client:
            with pytest.raises(APIConnectionError) as caught:
                await client.usage.get(project_id="secret")
            assert re.fullmatch(wanted, str(caught.value)), caught.value

    asyncio.run(run())


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (httpx.RemoteProtocolError("Server disconnected"), "Server disconnected"),
        (httpx.ReadError(""), "ReadError"),
        (httpx.LocalProtocolError("Illegal header value b' hidden'"), "LocalProtocolError"),
        (httpx.ConnectError("first line\nsecond line"), "first line"),
    ],
)
def test_reasons_of_connection_errors(error: Exception, reason: str) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    own = httpx.Client(transport=httpx.MockTransport(fail))
    client = Postern(api_key=KEY, base_url="http://127.0.0.1:1", retries=0, http_client=own, logging={"level": "off"})
    with own, pytest.raises(APIConnectionError) as caught:
        client.health.get()
    assert str(caught.value) == f"GET /api/health: connection to http://127.0.0.1:1 failed ({reason})"


def test_timeouts_have_the_address(scripted: Scripted) -> None:
    case = scripted.case({"fault": "hang"})
    with Postern(api_key=KEY, base_url=case.url, timeout_ms=50, retries=0, logging={"level": "off"}) as client:
        with pytest.raises(APITimeoutError) as caught:
            client.health.get()
    origin = case.url.partition("/c/")[0]
    assert str(caught.value) == f"GET /api/health: no response from {origin} within 50 ms"


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ValueError("city must be a string"), ": city must be a string"),
        (ValueError("wrong type\n\nOn instance: the whole answer"), ": wrong type"),
        (ValueError("x" * 500), ": " + "x" * 200 + "…"),
        (ValueError(), ": ValueError"),
    ],
)
def test_errors_of_schemas_have_the_first_issue(scripted: Scripted, raised: Exception, text: str) -> None:
    def schema(value: Any) -> Any:
        raise raised

    case = scripted.case({"json": {**COMPLETION["json"], "text": "{}"}})
    with Postern(api_key=KEY, base_url=case.url) as client, pytest.raises(OutputValidationError) as caught:
        client.ai.complete(messages=MESSAGES, schema=schema)
    assert str(caught.value) == "The model's answer does not match the schema" + text


def test_standard_logger(scripted: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    case = scripted.case({**HEALTH, "headers": {"x-postern-dropped-params": "temperature, top_p"}})
    logger = logging.getLogger("postern.test")
    with caplog.at_level(logging.INFO, "postern.test"):
        with Postern(api_key=KEY, base_url=case.url, logging={"logger": logger}) as client:
            client.health.get()
    (record,) = caplog.records
    assert (record.levelname, record.getMessage()) == ("WARNING", "dropped_params params=temperature,top_p")
    assert vars(record)["postern"]["params"] == ["temperature", "top_p"]


def test_lines_on_standard_error(scripted: Scripted, capsys: pytest.CaptureFixture[str]) -> None:
    answer = {**HEALTH, "headers": {"x-postern-dropped-params": "temperature"}}
    case = scripted.case(answer, answer)
    for pretty in (True, False):
        with Postern(api_key=KEY, base_url=case.url, logging={"pretty": pretty}) as client:
            client.health.get()
    pretty_line, json_line = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} WARN dropped_params params=temperature", pretty_line)
    assert re.fullmatch(
        r'{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","level":"warn","msg":"dropped_params","params":\["temperature"\]}',
        json_line,
    )


def test_a_failing_logger_fails_no_call(scripted: Scripted) -> None:
    def fail(record: Any) -> None:
        raise RuntimeError("disk full")

    case = scripted.case(HEALTH)
    with Postern(api_key=KEY, base_url=case.url, logging={"level": "debug", "logger": fail}) as client:
        assert client.health.get().status == "ok"


def test_issues_of_pydantic_are_kept(scripted: Scripted) -> None:
    class Invalid(ValueError):
        def errors(self) -> list[Any]:
            missing = {"msg": "Field required", "type": "missing"}
            return [{"loc": ("address", 0), **missing}, {"loc": ("name",), **missing}]

    def schema(value: Any) -> Any:
        raise Invalid

    text = {**COMPLETION["json"], "text": "{}"}
    case = scripted.case({"json": text})
    with Postern(api_key=KEY, base_url=case.url) as client, pytest.raises(OutputValidationError) as caught:
        client.ai.complete(messages=MESSAGES, schema=schema)
    assert str(caught.value).endswith(" does not match the schema: address.0: Field required (and 1 more)")
    issue = caught.value.issues[0]
    assert (issue.message, issue.path) == ("Field required", ("address", 0))
    assert isinstance(caught.value.__cause__, Invalid)
    assert caught.value.completion.usage.cost_cents == 0.00034


def test_results_are_frozen_and_keep_unknown_members(scripted: Scripted) -> None:
    case = scripted.case({"json": {**COMPLETION["json"], "mood": "good"}})
    with Postern(api_key=KEY, base_url=case.url) as client:
        completion = client.ai.complete(messages=MESSAGES)
    assert completion.raw["mood"] == "good"
    with pytest.raises(AttributeError):
        completion.text = "x"  # type: ignore
    assert "mood" not in repr(completion)


def test_a_list_can_be_awaited_or_iterated(scripted: Scripted) -> None:
    pages = [
        {"json": {"violations": [{"id": "vio_1"}], "next": "vio_1"}},
        {"json": {"violations": [{"id": "vio_2"}], "next": None}},
    ]
    case = scripted.case(*pages, *pages)

    async def run() -> None:
        async with AsyncPostern(api_key=KEY, base_url=case.url) as client:
            assert [found.id async for found in client.violations.list()] == ["vio_1", "vio_2"]
            page = await client.violations.list()
            following = await page.next_page()
            assert following is not None and following.items[0].id == "vio_2"
            assert await following.next_page() is None

    asyncio.run(run())


def test_options_are_not_positional() -> None:
    with pytest.raises(TypeError):
        Postern(KEY)  # type: ignore


def test_unknown_options_are_named() -> None:
    with pytest.raises(ConfigurationError, match="'strict'.*strict_mode"):
        Postern(api_key=KEY, governor={"strict": True})  # type: ignore
    with pytest.raises(ConfigurationError, match=r"logging\['level'\]"):
        Postern(api_key=KEY, logging={"level": "loud"})  # type: ignore


def test_a_response_that_does_not_end_holds_nothing_up(scripted: Scripted) -> None:
    case = scripted.case(*[{"sse": [DONE, "data: [DONE]\n\n"], "end": "hang"}] * 2)
    with Postern(api_key=KEY, base_url=case.url, timeout_ms=60_000) as client:
        assert client.ai.chat(messages=MESSAGES).text() == ""
        case.wait_closed(0)

    async def run() -> None:
        async with AsyncPostern(api_key=KEY, base_url=case.url, timeout_ms=60_000) as client:
            assert await (await client.ai.chat(messages=MESSAGES)).text() == ""
            await asyncio.to_thread(case.wait_closed, 1)

    asyncio.run(run())
