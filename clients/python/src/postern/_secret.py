"""A string that is never shown."""

from __future__ import annotations

from typing import NoReturn


class Secret:
    """An API key. Neither `repr` nor `str` shows it, so tracebacks with local variables do not show it either. It
    cannot be pickled.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("An API key cannot be pickled: make the client in each process.")
