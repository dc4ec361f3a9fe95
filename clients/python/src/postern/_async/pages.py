"""Paginated lists."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from .._calls import Call, PageData
from .._errors import InvalidResponseError
from .._exchange import failed_record
from ..types import ExportLine, Raw
from .transport import AsyncTransport

T = TypeVar("T")


class AsyncPage(Generic[T]):
    """A page of a list. Iterating over it yields the items of this page and of all following pages."""

    items: Sequence[T]
    """The items of this page. A page may be empty even if there is a next one."""
    next: str | None
    """The cursor of the next page; None on the last page."""
    raw: Raw
    """The JSON object as it arrived. For an export, it is the page's header line."""

    def __init__(self, transport: AsyncTransport, call: Call[PageData[T]], data: PageData[T]) -> None:
        self.items = data.items
        self.next = data.next
        self.raw = data.raw
        self._transport = transport
        self._call = call
        self._data = data

    async def next_page(self) -> AsyncPage[T] | None:
        """Gets the next page. Returns None on the last page."""
        data = self._data
        fault = data.fault
        if data.next_query is not None and data.next_query == self._call.query:
            fault = InvalidResponseError("The page has itself as its next page.", status=200, request_id=None)
        if fault is not None:
            prepared = self._transport.prepared(self._call).prepared
            self._transport.log.write(failed_record(prepared, fault, 1))
            raise fault
        if data.next_query is None:
            return None
        return await first_page(self._transport, replace(self._call, query=data.next_query))

    async def pages(self) -> AsyncIterator[AsyncPage[T]]:
        """Yields this page and all following pages."""
        page: AsyncPage[T] | None = self
        while page is not None:
            yield page
            page = await page.next_page()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item

    def __repr__(self) -> str:
        return f"AsyncPage(items={list(self.items)!r}, next={self.next!r})"


async def first_page(transport: AsyncTransport, call: Call[PageData[T]]) -> AsyncPage[T]:
    """Gets the page that a call returns."""
    return AsyncPage(transport, call, await transport.call(call))


class AsyncExport:
    """The lines of a compliance export. Nothing is sent until you iterate over it."""

    def __init__(self, transport: AsyncTransport, call: Call[PageData[ExportLine]]) -> None:
        self._transport = transport
        self._call = call

    async def pages(self) -> AsyncIterator[AsyncPage[ExportLine]]:
        """Yields the pages. The first line of each is a header."""
        page = await first_page(self._transport, self._call)
        async for following in page.pages():
            yield following

    async def __aiter__(self) -> AsyncIterator[ExportLine]:
        async for page in self.pages():
            for line in page.items:
                yield line
