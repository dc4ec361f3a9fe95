"""The same methods, with results that include the response: `client.ai.with_response.complete(…)`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from ..types import WithResponse
from .transport import AsyncTransport

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def wrapped(
    transport: AsyncTransport,
    resource: Callable[[AsyncTransport], R],
    method: Callable[Concatenate[R, P], Awaitable[T]],
) -> Callable[P, Awaitable[WithResponse[T]]]:
    """A method of a resource that returns its result with the response."""

    @wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> WithResponse[T]:
        recording = transport.recording()
        data = await method(resource(recording), *args, **kwargs)
        return recording.with_response(data)

    return call
