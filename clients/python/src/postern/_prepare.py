"""Creates the HTTP request of a call: URL, headers, body, and the effective options."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from ._calls import Call
from ._errors import ConfigurationError
from ._headers import checked_headers, checked_query
from ._hooks import IncomingResponse, OutgoingRequest
from ._settings import Governor, Settings, check_retries, check_timeout


@dataclass(frozen=True)
class Prepared:
    """A request that is ready to be sent, except for the key."""

    method: str
    url: str = field(repr=False)
    path: str
    """Without the base URL's path and without the query, as it is logged."""
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)
    timeout_ms: int
    retries: int
    is_repeatable: bool
    is_stream: bool
    governor: Governor

    def outgoing(self, attempt: int) -> OutgoingRequest:
        """The request, for a hook."""
        return OutgoingRequest(self.method, self.path, attempt, dict(self.headers))

    def incoming(self, attempt: int, status: int, headers: Mapping[str, str], ms: float) -> IncomingResponse:
        """The response, for a hook."""
        request_id = headers.get("x-request-id")
        return IncomingResponse(self.method, self.path, attempt, status, dict(headers), request_id, ms)


def prepare(call: Call[Any], settings: Settings, user_agent: str) -> Prepared:
    """Checks the options of a call and creates its request. The idempotency key is generated here, once for all
    attempts.
    """
    options = call.options
    governor = settings.governor.merged(options.governor) if call.is_governed else settings.governor
    content = None if call.body is None else _content(call.body)
    headers = {
        **settings.headers,
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
    headers.update(checked_headers("headers", options.headers))
    query = {**settings.query, **call.query, **checked_query(options.query)}
    search = f"?{urlencode(query, quote_via=quote)}" if query else ""
    return Prepared(
        method=call.method,
        url=f"{settings.base_url}{call.path}{search}",
        path=call.path,
        headers=headers,
        content=content,
        timeout_ms=settings.timeout_ms if options.timeout_ms is None else check_timeout(options.timeout_ms),
        retries=settings.retries if options.retries is None else check_retries(options.retries),
        is_repeatable=call.is_repeatable,
        is_stream=call.is_stream,
        governor=governor,
    )


def _content(body: object) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        # The cause is left out because its message may contain parts of the prompt.
        raise ConfigurationError("The parameters cannot be written as JSON.") from None


def _idempotency_key(of_call: object, of_client: bool) -> str | None:
    wanted = of_client if of_call is None else of_call
    if isinstance(wanted, bool):
        return f"postern-{uuid.uuid4()}" if wanted else None
    if not isinstance(wanted, str) or not re.fullmatch(r"[ -~]{1,255}", wanted):
        raise ConfigurationError("idempotency must be True, False, or a text of 1 to 255 ASCII characters.")
    return wanted
