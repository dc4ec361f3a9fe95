"""Calls the program's key function and hooks. In the asynchronous client, they may be coroutine functions.

An awaited function may take as long as one attempt, so that it cannot hold up a call forever. A function that is not
awaited cannot be interrupted.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, cast

from ._errors import APITimeoutError, ConfigurationError


def called(name: str, function: Callable[..., object], timeout_ms: int, *args: object) -> object:
    """The result of a function.

    Raises:
        ConfigurationError: It is a coroutine function.
    """
    value = function(*args)
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise ConfigurationError(f"{name} must not be a coroutine function: AsyncPostern awaits one.")
    return value


async def called_async(name: str, function: Callable[..., object], timeout_ms: int, *args: object) -> object:
    """The result of a function, or the final result of a coroutine function.

    Raises:
        APITimeoutError: It took longer than timeout_ms.
    """
    value = function(*args)
    return await _within(name, timeout_ms, value) if inspect.isawaitable(value) else value


async def _within(name: str, timeout_ms: int, value: Awaitable[Any]) -> object:
    """The result, unless it takes too long. In Python 3.11, asyncio.wait_for may lose a cancellation."""
    task = cast("asyncio.Future[object]", asyncio.ensure_future(value))
    try:
        await asyncio.wait([task], timeout=timeout_ms / 1000)
        if task.done():
            return task.result()
    finally:
        if task.cancel():
            task.add_done_callback(_forget)
    raise APITimeoutError(f"{name} took longer than {timeout_ms} ms.")


def _forget(task: asyncio.Future[object]) -> None:
    """Consumes the error of a function after its call has ended, so that asyncio does not print the error."""
    if not task.cancelled():
        task.exception()
