# pyright: basic, reportPrivateUsage=none
"""Compares values as described in testdata/clients/README.md, and shows results with their JSON names."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from postern import AsyncPage, ConfigurationError, Page, PosternError
from postern._decode import camel
from postern.types import ExportLine

FIELDS = (
    "status code request_id details findings attempts resets_at budget headers retry_after_ms issues text completion message".split()
)


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name)


def mismatch(want: Any, got: Any, at: str = "") -> str | None:
    """The first difference; None if got matches."""
    if isinstance(want, dict):
        if set(want) == {"match"}:
            found = isinstance(got, str) and re.search(want["match"], got)
            return None if found else f"{at}: {got!r} does not match {want['match']}"
        if not isinstance(got, Mapping):
            return f"{at}: want an object, got {got!r}"
        return _first(mismatch(value, got.get(name), f"{at}.{name}") for name, value in want.items())
    if isinstance(want, list):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return f"{at}: want {want!r}, got {got!r}"
        return _first(mismatch(value, got[i], f"{at}[{i}]") for i, value in enumerate(want))
    if type(want) is bool or type(got) is bool:
        return None if want is got else f"{at}: want {want!r}, got {got!r}"
    return None if want == got else f"{at}: want {want!r}, got {got!r}"


def _first(mismatches: Any) -> str | None:
    return next((found for found in mismatches if found is not None), None)


def wire(value: Any) -> Any:
    """A result as JSON, with the API's field names. Unknown fields come from `raw`."""
    if isinstance(value, ExportLine):
        return value.data
    if isinstance(value, (Page, AsyncPage)):
        return {**value.raw, "items": wire(value.items), "next": value.next}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
        raw = fields.pop("raw", {})
        return {**raw, **{_wire_name(value, name): wire(member) for name, member in fields.items()}}
    if isinstance(value, Mapping):
        return {name: wire(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [wire(member) for member in value]
    return value


def _wire_name(value: Any, name: str) -> str:
    field = next(item for item in dataclasses.fields(value) if item.name == name)
    given = field.metadata.get("wire")
    return camel(name) if given in (None, "", "project_id", "owned_by") else given


def error_wire(error: BaseException) -> dict[str, Any]:
    """An error as JSON: its class and fields."""
    fields = {camel(name): wire(getattr(error, name, None)) for name in FIELDS}
    if not isinstance(error, PosternError):
        fields["message"] = str(error)
    return {"class": type(error).__name__, **fields}


def shown(error: BaseException) -> str:
    """All strings that an error shows."""
    as_dict = repr(error.to_dict()) if isinstance(error, PosternError) else ""
    cause = error.__cause__
    parts = [str(error), repr(error), as_dict, str(error.args), "" if cause is None else f"{cause!s} {cause!r}"]
    if not isinstance(error, ConfigurationError):
        parts.append(repr(vars(error)))
    return "\n".join(parts)
