"""Makes the HTTP request of a call: URL, headers, body, and the options that are in force."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from ._calls import Call
from ._errors import ConfigurationError
from ._settings import Governor, Settings, check_retries, check_timeout

_OWN_HEADERS = ("authorization", "x-api-key")
# Headers of the connection. A second length or framing would let one request hide another (RFC 9110, section 7.6.1).
_TRANSPORT_HEADERS = frozenset(
    "connection content-length expect host keep-alive te trailer transfer-encoding upgrade".split()
)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")


@dataclass(frozen=True)
class Prepared:
    """A request that is ready to be sent, but for the key."""

    method: str
    url: str
    path: str
    """Without the base URL's and without the query, as it is logged."""
    headers: Mapping[str, str]
    content: bytes | None
    timeout_ms: int
    retries: int
    is_repeatable: bool
    is_stream: bool
    governor: Governor


def prepare(call: Call[Any], settings: Settings, user_agent: str) -> Prepared:
    """Checks the options of a call and makes its request. An idempotency key is made here, once for all attempts."""
    options = call.options
    governor = settings.governor.merged(options.governor) if call.is_governed else settings.governor
    content = None if call.body is None else _content(call.body)
    headers = {
        "accept": "text/event-stream" if call.is_stream else "application/json",
        "user-agent": user_agent,
        **({} if content is None else {"content-type": "application/json"}),
        **call.headers,
    }
    tightened = governor.header() if call.is_governed else None
    if tightened is not None:
        headers["x-postern-govern"] = tightened
    key = _idempotency_key(options.idempotency, settings.idempotency) if call.is_ai else None
    if key is not None:
        headers["idempotency-key"] = key
    headers.update(_extra(options.headers))
    query = f"?{urlencode(call.query, quote_via=quote)}" if call.query else ""
    return Prepared(
        method=call.method,
        url=f"{settings.base_url}{call.path}{query}",
        path=call.path,
        headers=headers,
        content=content,
        timeout_ms=settings.timeout_ms if options.timeout_ms is None else check_timeout(options.timeout_ms),
        retries=settings.retries if options.retries is None else check_retries(options.retries),
        is_repeatable=call.is_repeatable,
        is_stream=call.is_stream,
        governor=governor,
    )


def _content(body: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        # The cause is left out: its text may have parts of the prompt.
        raise ConfigurationError("The parameters cannot be written as JSON.") from None


def _idempotency_key(of_call: object, of_client: bool) -> str | None:
    wanted = of_client if of_call is None else of_call
    if isinstance(wanted, bool):
        return f"postern-{uuid.uuid4()}" if wanted else None
    if not isinstance(wanted, str) or not re.fullmatch(r"[ -~]{1,255}", wanted):
        raise ConfigurationError("idempotency must be True, False, or a text of 1 to 255 ASCII characters.")
    return wanted


def _extra(headers: Mapping[str, str] | None) -> Mapping[str, str]:
    extra: dict[str, str] = {}
    for name, value in (headers or {}).items():
        if not _NAME.fullmatch(name):
            raise ConfigurationError("headers has a name that no header can have.")
        if name.lower() in _OWN_HEADERS:
            raise ConfigurationError(f"headers must not set {name.lower()}: the client sends its own key.")
        if name.lower() in _TRANSPORT_HEADERS:
            raise ConfigurationError(f"headers must not set {name.lower()}, which the transport sets.")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(f"The value of the header {name.lower()} must be a text in one line.")
        extra[name.lower()] = value
    return extra
