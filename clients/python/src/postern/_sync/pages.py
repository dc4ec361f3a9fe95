# Made from _async/pages.py by tools/unasync.py. Change that file.
"""Paginated lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from .._calls import Call, PageData
from .._errors import InvalidResponseError
from .._exchange import failed_record
from ..types import ExportLine, Raw
from .transport import Transport

T = TypeVar("T")


class Page(Generic[T]):
    """A page of a list. Iterating over it yields the items of this page and of all following pages."""

    items: Sequence[T]
    """The items of this page. A page may be empty even if there is a next one."""
    next: str | None
    """The cursor of the next page; None on the last page."""
    raw: Raw
    """The JSON object as it arrived. For an export, it is the page's header line."""

    def __init__(self, transport: Transport, call: Call[PageData[T]], data: PageData[T]) -> None:
        self.items = data.items
        self.next = data.next
        self.raw = data.raw
        self._transport = transport
        self._call = call
        self._data = data

    def next_page(self) -> Page[T] | None:
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
        return first_page(self._transport, replace(self._call, query=data.next_query))

    def pages(self) -> Iterator[Page[T]]:
        """Yields this page and all following pages."""
        page: Page[T] | None = self
        while page is not None:
            yield page
            page = page.next_page()

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            for item in page.items:
                yield item

    def __repr__(self) -> str:
        return f"Page(items={list(self.items)!r}, next={self.next!r})"


def first_page(transport: Transport, call: Call[PageData[T]]) -> Page[T]:
    """Gets the page that a call returns."""
    return Page(transport, call, transport.call(call))


class Export:
    """The lines of a compliance export. Nothing is sent until you iterate over it."""

    def __init__(self, transport: Transport, call: Call[PageData[ExportLine]]) -> None:
        self._transport = transport
        self._call = call

    def pages(self) -> Iterator[Page[ExportLine]]:
        """Yields the pages. The first line of each is a header."""
        page = first_page(self._transport, self._call)
        for following in page.pages():
            yield following

    def __iter__(self) -> Iterator[ExportLine]:
        for page in self.pages():
            for line in page.items:
                yield line
