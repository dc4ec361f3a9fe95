"""A text that is shown nowhere."""

from __future__ import annotations


class Secret:
    """An API key. Neither `repr` nor `str` shows it, and so no traceback with local variables does."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"
