# Made from _async/with_response.py by tools/unasync.py. Change that file.
"""The same methods, with results that include the response: `client.ai.with_response.complete(…)`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from ..types import WithResponse
from .transport import Transport

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def wrapped(
    transport: Transport,
    resource: Callable[[Transport], R],
    method: Callable[Concatenate[R, P], T],
) -> Callable[P, WithResponse[T]]:
    """A method of a resource that returns its result with the response."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> WithResponse[T]:
        recording = transport.recording()
        data = method(resource(recording), *args, **kwargs)
        return recording.with_response(data)

    return call
