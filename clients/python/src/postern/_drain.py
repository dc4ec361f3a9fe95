"""Reads the rest of the body after a stream's last event, so that its connection can be reused.

A server that does not end its response must not hold up the program, so this takes at most a quarter of a second.
httpcore looks up its timeout when it starts to read a body, so a read must be ended in another way.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any, cast

import httpx

DRAIN_S = 0.25


def drain(response: httpx.Response, chunks: Iterator[bytes]) -> None:
    """Reads to the end of the body. If that takes too long, the connection is shut down."""
    stream = cast(Any, response).extensions.get("network_stream")
    connection = None if stream is None else stream.get_extra_info("socket")
    if not isinstance(connection, socket.socket):
        return
    timer = threading.Timer(DRAIN_S, _shut_down, [connection])
    timer.daemon = True
    timer.start()
    try:
        for _ in chunks:
            pass
    except (httpx.HTTPError, httpx.StreamError, OSError):
        pass
    finally:
        timer.cancel()


def _shut_down(connection: socket.socket) -> None:
    with suppress(OSError):
        # An SSL socket's own method would also drop its state, which the reading thread uses.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


async def drain_async(response: httpx.Response, chunks: AsyncIterator[bytes]) -> None:
    """Reads to the end of the body. If that takes too long, the read is canceled, which closes the connection."""
    with suppress(httpx.HTTPError, httpx.StreamError, OSError, asyncio.TimeoutError):
        await asyncio.wait_for(_read(chunks), DRAIN_S)


async def _read(chunks: AsyncIterator[bytes]) -> None:
    async for _ in chunks:
        pass
