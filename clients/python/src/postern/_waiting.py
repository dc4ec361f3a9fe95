"""The calls of a client that wait for a pause that the gateway asked for. Pure.

Calls that were told to come back at the same moment must not do so all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

EACH_MS = 100
MAX_SPREAD_MS = 10_000


class Waiting:
    """The calls that wait at this moment. Threads may share it."""

    def __init__(self) -> None:
        # One operation on a set is atomic, a count that is read and written is not.
        self._calls: set[object] = set()

    @contextmanager
    def one_more(self) -> Generator[int, None, None]:
        """Counts a call as waiting, and says how many others wait already."""
        call = object()
        self._calls.add(call)
        try:
            yield len(self._calls) - 1
        finally:
            self._calls.discard(call)


def spread_ms(others: int, random: Callable[[], float]) -> float:
    """What a call adds to the pause that it was asked for, if others wait already: milliseconds."""
    return (0.75 + 0.25 * random()) * min(EACH_MS * others, MAX_SPREAD_MS) if others else 0.0
