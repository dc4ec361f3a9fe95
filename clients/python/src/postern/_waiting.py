"""A client's calls that are in a pause because the gateway asked for it. No I/O.

If the gateway asks several calls to retry at the same moment, they must not all retry at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

EACH_MS = 100
MAX_SPREAD_MS = 10_000


class Waiting:
    """The calls that are currently waiting. Threads may share it."""

    def __init__(self) -> None:
        # One operation on a set is atomic. Reading a counter and then writing it is not.
        self._calls: set[object] = set()

    @contextmanager
    def one_more(self) -> Generator[int, None, None]:
        """Counts a call as waiting and returns how many others are already waiting."""
        call = object()
        self._calls.add(call)
        try:
            yield len(self._calls) - 1
        finally:
            self._calls.discard(call)


def spread_ms(others: int, random: Callable[[], float]) -> float:
    """The milliseconds that a call adds to the requested pause if others are already waiting."""
    return (0.75 + 0.25 * random()) * min(EACH_MS * others, MAX_SPREAD_MS) if others else 0.0
