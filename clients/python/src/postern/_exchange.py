"""One call as a generator. It yields the steps to carry out, receives their outcomes, and returns the reply or raises
an error.

It decides on attempts, pauses, errors and log records, and does no I/O. `_async/transport.py` carries out the steps
that it yields. So does `_sync/transport.py`, which is generated from that file.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, Union, cast

from . import _texts
from ._calls import NOT_GIVEN, Call, Reply, parse_json
from ._decode import Mismatch, decode
from ._errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    BlockedByPolicyError,
    ExceededBudget,
    InvalidResponseError,
    PosternError,
    error_class,
)
from ._logs import Record
from ._meta import parse_attempts
from ._prepare import Prepared
from ._retry import asked_pause_ms, may_retry_status, pause_ms
from ._secret import Secret
from ._settings import Settings
from ._waiting import Waiting, spread_ms
from .types import Finding, Meta, Problem

T = TypeVar("T")

MAX_BODY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Begin:
    """Get the key for an attempt and call the request hook. The outcome is the key."""

    attempt: int


@dataclass(frozen=True)
class Send:
    """Send the request. The outcome is Head or Failed."""


@dataclass(frozen=True)
class Arrived:
    """Call the response hook. The outcome is None."""

    attempt: int
    head: Head


@dataclass(frozen=True)
class Read:
    """Read the body of the response and close it. The outcome is its bytes, TooLarge or Failed."""


@dataclass(frozen=True)
class Pause:
    """Wait for a number of milliseconds. The outcome is None, and so is that of a Record."""

    ms: float


@dataclass(frozen=True)
class Head:
    """The status and headers of a response, with lowercase names."""

    status: int
    headers: Mapping[str, str]
    took_ms: float
    now_ms: float
    """The time since 1970."""


@dataclass(frozen=True)
class TooLarge:
    """The body is larger than MAX_BODY_BYTES."""


@dataclass(frozen=True)
class Failed:
    """The connection failed, or the attempt took too long."""

    kind: Literal["connection", "timeout"]
    cause: Exception
    is_shown: bool = True
    """Whether the cause's message may be shown."""


Step = Union[Begin, Send, Arrived, Read, Pause, Record]
Outcome = Union[Secret, Head, Failed, TooLarge, bytes, None]
Exchange = Generator[Step, Outcome, T]


@dataclass(frozen=True)
class Answered(Generic[T]):
    """A call that succeeded."""

    value: T
    reply: Reply


@dataclass(frozen=True)
class _Failure:
    """An attempt that failed, and whether another one may follow."""

    error: PosternError
    may_retry: bool
    asked_ms: float | None = None
    kind: str | None = None


def exchange(
    call: Call[T], prepared: Prepared, settings: Settings, random: Callable[[], float], waiting: Waiting
) -> Exchange[Answered[T]]:
    """Sends a call until it succeeds or its attempts are used up."""
    attempt = 0
    while True:
        attempt += 1
        result = yield from _attempt(call, prepared, settings, attempt)
        if not isinstance(result, _Failure):
            return result
        pause = None
        if result.may_retry and attempt <= prepared.retries:
            pause = pause_ms(attempt - 1, result.asked_ms, random())
        if pause is None:
            yield failed_record(prepared, result.error, attempt)
            raise result.error
        if result.asked_ms is None:
            yield _retry_record(prepared, result, attempt, pause)
            yield Pause(pause)
            continue
        with waiting.one_more() as others:
            pause += spread_ms(others, random)
            yield _retry_record(prepared, result, attempt, pause)
            yield Pause(pause)


def _attempt(call: Call[T], prepared: Prepared, settings: Settings, attempt: int) -> Exchange[Answered[T] | _Failure]:
    at = {"method": prepared.method, "path": prepared.path}
    key = yield Begin(attempt)
    assert isinstance(key, Secret)
    yield Record("debug", "request", {**at, "attempt": attempt})
    if settings.logging.content and prepared.content is not None:
        yield Record("debug", "request_body", {"body": parse_json(prepared.content)})
    head = yield Send()
    if isinstance(head, Failed):
        return _connection_failure(prepared, settings, head)
    assert isinstance(head, Head)
    known = {"status": head.status, "requestId": head.headers.get("x-request-id")}
    yield Record("debug", "response", {**at, **known, "ms": round(head.took_ms)})
    yield Arrived(attempt, head)
    is_success = 200 <= head.status < 300
    reply = Reply(head.status, head.headers, None, attempt)
    if not (is_success and prepared.is_stream and reply.media_type == "text/event-stream"):
        body = yield Read()
        if isinstance(body, Failed):
            return _connection_failure(prepared, settings, body)
        if isinstance(body, TooLarge):
            return _Failure(reply.invalid("The response is larger than 64 MiB."), may_retry=False)
        assert isinstance(body, bytes)
        if settings.logging.content:
            yield Record("debug", "response_body", {"body": _shown(body)})
        if not is_success:
            return _status_failure(prepared, settings, head, body, key)
        reply = Reply(head.status, head.headers, body, attempt)
    for record in _warnings(reply.meta):
        yield record
    try:
        return Answered(call.read(reply), reply)
    except InvalidResponseError as error:
        if _texts.is_page(head.headers):
            error = reply.invalid(_texts.of_page(prepared, settings))
        return _Failure(error, may_retry=False)


def _connection_failure(prepared: Prepared, settings: Settings, failed: Failed) -> _Failure:
    if failed.kind == "timeout":
        error: PosternError = APITimeoutError(_texts.of_timeout(prepared, settings))
    else:
        error = APIConnectionError(_texts.of_connection(prepared, settings, failed.cause, failed.is_shown))
    error.__cause__ = failed.cause
    return _Failure(error, may_retry=prepared.is_repeatable, kind=failed.kind)


def _status_failure(prepared: Prepared, settings: Settings, head: Head, body: bytes, key: Secret) -> _Failure:
    error = api_error(prepared, settings, head, body, key)
    may_retry = may_retry_status(head.status, head.headers, prepared.is_repeatable)
    return _Failure(error, may_retry, asked_pause_ms(head.headers, head.now_ms))


def api_error(prepared: Prepared, settings: Settings, head: Head, body: bytes, key: Secret) -> APIError:
    """The error for a response. If the body is not an error from the gateway, there is no code."""
    value, status, headers = parse_json(body), head.status, head.headers
    members = _flat(cast(dict[str, Any], value)) if isinstance(value, dict) else {}
    text = _text(members.get("error"))
    if not text:
        members = {}
    code = _text(members.get("code"))
    request_id = _text(members.get("requestId")) or headers.get("x-request-id")
    details, findings = listed(Problem, members.get("details")), listed(Finding, members.get("findings"))
    if text:
        is_forbidden = status == 403 and code == "insufficient_permissions"
        hint = _texts.key_hint(prepared.path, key.reveal()) if is_forbidden else ""
        message = _texts.of_gateway(text, details, findings, hint, (status, code, request_id))
    else:
        message = _texts.of_other_server(prepared, settings, status, headers)
    is_blocked = status == 422 and code == "blocked_by_policy" and prepared.governor.enabled
    return (BlockedByPolicyError if is_blocked else error_class(status))(
        message,
        text=text or f"HTTP {status}",
        status=status,
        code=code,
        request_id=request_id,
        details=details,
        findings=findings,
        attempts=parse_attempts(headers.get("x-postern-attempts")),
        resets_at=_text(members.get("resetsAt")),
        budget=next(iter(listed(ExceededBudget, [members.get("budget")])), None),
        headers=headers,
    )


def _flat(body: dict[str, Any]) -> dict[str, Any]:
    """The fields of an error under /v1, in the format of OpenAI or Anthropic. Only the gateway adds a request_id next
    to it.
    """
    nested, request_id = body.get("error"), body.get("request_id")
    if not isinstance(nested, dict) or not isinstance(request_id, str) or not request_id:
        return body
    error = cast(dict[str, Any], nested)
    text, param = error.get("message"), error.get("param")
    details = [{"field": param, "message": text}] if isinstance(param, str) and param else []
    kept = {name: error.get(name) for name in ("code", "findings", "resetsAt", "budget")}
    return {"error": text, "requestId": request_id, "details": details, **kept}


def listed(cls: type[T], value: object) -> tuple[T, ...]:
    """The objects of a list. If the list is malformed, there are none, because one error must not hide another."""
    items = cast(list[object], value) if isinstance(value, list) else []
    try:
        return tuple(decode(cls, item) for item in items)
    except Mismatch:
        return ()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _shown(body: bytes) -> object:
    value = parse_json(body)
    return body.decode("utf-8", "replace") if value is NOT_GIVEN else value


# Log records


def failed_record(prepared: Prepared, error: PosternError, attempts: int, status: int | None = None) -> Record:
    """The log record of a call that finally failed. A request that the gateway refuses is the caller's problem, so
    its level is `info`.
    """
    code = getattr(error, "code", None)
    if isinstance(error, APIConnectionError):
        code = "timeout" if isinstance(error, APITimeoutError) else "connection"
    if isinstance(error, InvalidResponseError):
        code = "invalid_response"
    fields = {
        "method": prepared.method,
        "path": prepared.path,
        "status": getattr(error, "status", status),
        "code": code,
        "requestId": getattr(error, "request_id", None),
        "attempts": attempts,
    }
    is_refused = isinstance(error, APIError) and 400 <= error.status < 500
    return Record("info" if is_refused else "error", "request_failed", fields)


def _retry_record(prepared: Prepared, failure: _Failure, attempt: int, pause: float) -> Record:
    fields: dict[str, object] = {"method": prepared.method, "path": prepared.path, "attempt": attempt}
    if failure.kind is None:
        fields["status"] = getattr(failure.error, "status", None)
    else:
        fields["error"] = failure.kind
    return Record("info", "retry", {**fields, "pauseMs": round(pause)})


def _warnings(meta: Meta) -> list[Record]:
    records: list[Record] = []
    if meta.deprecation is not None:
        at = {"sunset": meta.deprecation.sunset, "successor": meta.deprecation.successor}
        records.append(Record("warn", "deprecated_model", {"model": meta.model, **at}, is_once=True))
    if meta.registry_warning is not None:
        fields = {"model": meta.model, "state": meta.registry_warning}
        records.append(Record("warn", "registry_warning", fields, is_once=True))
    if meta.dropped_params:
        records.append(Record("warn", "dropped_params", {"params": list(meta.dropped_params)}, is_once=True))
    return records
