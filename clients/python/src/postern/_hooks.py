"""The program's functions that take part in a call: the API key function and the hooks. No I/O."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Union

KeyFunction = Callable[[], str]
"""Returns an API key. It is called before each attempt, possibly by several calls at the same time."""
AsyncKeyFunction = Callable[[], Union[str, Awaitable[str]]]
"""A `KeyFunction` of the asynchronous client, which may be a coroutine function."""


@dataclass(frozen=True)
class OutgoingRequest:
    """A request before it is sent, for `on_request`."""

    method: str
    path: str
    """The path of the endpoint, without the base URL's path and without the query."""
    attempt: int
    """The number of the attempt, starting at 1."""
    headers: dict[str, str] = field(repr=False)
    """The headers, with lowercase names and without the API key. Changes apply only to this attempt."""


@dataclass(frozen=True)
class IncomingResponse:
    """A response whose headers have arrived, for `on_response`."""

    method: str
    path: str
    """The path of the endpoint, without the base URL's path and without the query."""
    attempt: int
    """The number of the attempt, starting at 1."""
    status: int
    """The HTTP status."""
    headers: Mapping[str, str] = field(repr=False)
    """The headers, with lowercase names."""
    request_id: str | None
    """The request ID, as in the gateway's log; None if the response has none."""
    ms: float
    """Milliseconds from the request to the response's headers."""


RequestHook = Callable[[OutgoingRequest], None]
"""Called before each attempt. An error that it raises ends the call."""
AsyncRequestHook = Callable[[OutgoingRequest], Union[None, Awaitable[None]]]
"""A `RequestHook` of the asynchronous client, which may be a coroutine function."""
ResponseHook = Callable[[IncomingResponse], None]
"""Called when the headers of a response have arrived. An error that it raises ends the call."""
AsyncResponseHook = Callable[[IncomingResponse], Union[None, Awaitable[None]]]
"""A `ResponseHook` of the asynchronous client, which may be a coroutine function."""
