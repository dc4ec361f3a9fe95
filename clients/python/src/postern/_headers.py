"""Checks the headers and query parameters that a program sets. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote

from ._errors import ConfigurationError

_OWN_HEADERS = ("authorization", "x-api-key")
# Headers of the connection itself. A second length or framing would let one request hide another (RFC 9110, section
# 7.6.1).
_TRANSPORT_HEADERS = frozenset(
    "connection content-length expect host keep-alive te trailer transfer-encoding upgrade".split()
)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")


def checked_headers(source: str, headers: object) -> Mapping[str, str]:
    """Headers with lowercase names; if two names differ only in case, the last one counts.

    Args:
        source: The option or hook that set them, as named in errors.
    """
    checked: dict[str, str] = {}
    for name, value in _items(source, headers):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigurationError(f"{source} has a name that no header can have.")
        name = name.lower()
        if name in _OWN_HEADERS:
            raise ConfigurationError(f"{source} must not set {name}: the client sends its own key.")
        if name in _TRANSPORT_HEADERS:
            raise ConfigurationError(f"{source} must not set {name}, which the transport sets.")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise ConfigurationError(f"The value of the header {name} must be a text in one line.")
        checked[name] = value
    return checked


def checked_query(query: object) -> Mapping[str, str]:
    """Query parameters, as strings keyed by name."""
    checked: dict[str, str] = {}
    for name, value in _items("query", query):
        if not isinstance(name, str) or not name:
            raise ConfigurationError("query has a name that is no text, or empty.")
        if not isinstance(value, str):
            raise ConfigurationError(f"The value of the query parameter {name!r} must be a text.")
        checked[name] = value
    try:
        quote("".join([*checked, *checked.values()]))
    except UnicodeEncodeError:  # half of a character
        checked.clear()
    if query and not checked:
        raise ConfigurationError("query must have texts of whole characters.")
    return checked


def _items(source: str, given: object) -> list[tuple[object, object]]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{source} must be a dict.")
    return list(cast(Mapping[Any, Any], given).items())
