"""Decodes server-sent events, as in the HTML standard, section 9.2. Bytes in, strings out. No I/O."""

from __future__ import annotations

from collections.abc import Iterator

MAX_EVENT_BYTES = 16 * 1024 * 1024


class EventTooLarge(Exception):
    """An event is larger than 16 MiB."""


class Decoder:
    """Takes the chunks of a body and yields the data of each event. Names, IDs and comments are skipped."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._scanned = 0
        self._after_cr = False
        self._started = False
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The data of the events that end in this chunk."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        elif chunk:
            self._after_cr = False
        self._rest += chunk
        for line in self._lines():
            data = self._line(line)
            if data is not None:
                yield data
        if self._size + len(self._rest) > MAX_EVENT_BYTES:
            raise EventTooLarge

    def _lines(self) -> Iterator[bytes]:
        """Yields the complete lines. A line ends with LF, CR or CR LF, and a CR LF may be split between chunks."""
        start = 0
        while True:
            end = self._line_end(max(start, self._scanned))
            if end < 0:
                break
            line = bytes(self._rest[start:end])
            start = end + 1
            if self._rest[end] == 13:
                if start == len(self._rest):
                    self._after_cr = True
                elif self._rest[start] == 10:
                    start += 1
            self._scanned = start
            yield line
        del self._rest[:start]
        self._scanned = len(self._rest)

    def _line_end(self, start: int) -> int:
        line_feed = self._rest.find(b"\n", start)
        carriage_return = self._rest.find(b"\r", start, line_feed if line_feed >= 0 else len(self._rest))
        return carriage_return if carriage_return >= 0 else line_feed

    def _line(self, line: bytes) -> str | None:
        """The data of the event, if this line ends one."""
        if not self._started:
            self._started = True
            line = line[3:] if line.startswith(b"\xef\xbb\xbf") else line
        if not line:
            return self._event()
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value[1:] if value.startswith(b" ") else value
            self._data.append(value)
            self._size += len(value) + 1
            if self._size > MAX_EVENT_BYTES:
                raise EventTooLarge
        return None

    def _event(self) -> str | None:
        if not self._data:
            return None
        data = b"\n".join(self._data).decode("utf-8", "replace")
        self._data, self._size = [], 0
        return data
