"""The return values of asynchronous methods whose results can also be iterated over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .types import ChatEvent

if TYPE_CHECKING:
    from ._async.pages import AsyncPage
    from ._async.stream import AsyncChatStream

T = TypeVar("T")
S = TypeVar("S", bound="AsyncChatStream")


class PendingPage(Generic[T]):
    """`await` it for the first page, or use `async for` over it for the items of all pages."""

    def __init__(self, first: Coroutine[Any, Any, AsyncPage[T]]) -> None:
        self._first = first

    def __await__(self) -> Generator[Any, Any, AsyncPage[T]]:
        return self._first.__await__()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for item in await self:
            yield item


class PendingChat(Generic[S]):
    """`await` it for the stream, or use it with `async with` or `async for`."""

    def __init__(self, opening: Coroutine[Any, Any, S]) -> None:
        self._opening = opening
        self._stream: S | None = None

    def __await__(self) -> Generator[Any, Any, S]:
        return self._opening.__await__()

    async def __aenter__(self) -> S:
        self._stream = stream = await self
        return stream

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._stream is not None:
            await self._stream.close()

    async def __aiter__(self) -> AsyncIterator[ChatEvent]:
        async with self as stream:
            async for event in stream:
                yield event
