"""Reads JSON into the frozen dataclasses of `types`, based on their annotations.

A missing field gets the zero value of its type, and a field that a class does not know stays in `raw`. Therefore
neither an older nor a newer gateway breaks a program. A field with another JSON type is an error.
"""

from __future__ import annotations

import types as python_types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")

Json = Mapping[str, Any]


class Mismatch(Exception):
    """A field has a different JSON type than promised. The message names the field, not the value."""


def camel(name: str) -> str:
    """A field's name in JSON, such as `promptTokens` for `prompt_tokens`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@lru_cache(maxsize=None)
def _plan(cls: type) -> tuple[tuple[Field[Any], str, Any], ...]:
    """The fields of a class, with their JSON names and their types."""
    hints = get_type_hints(cls)
    return tuple((item, item.metadata.get("wire", camel(item.name)), hints[item.name]) for item in fields(cls))


def decode(cls: type[T], value: object, path: str = "") -> T:
    """An instance of a dataclass. A field named `raw` gets the entire JSON object."""
    if not isinstance(value, dict):
        raise Mismatch(f"{path or 'the body'} is not an object")
    members = cast(dict[str, Any], value)
    made: dict[str, Any] = {}
    for item, wire, hint in _plan(cls):
        if item.name == "raw":
            made["raw"] = members
        elif members.get(wire) is not None:
            made[item.name] = _read(hint, members[wire], f"{path}.{wire}" if path else wire)
        elif item.default is MISSING and item.default_factory is MISSING:
            made[item.name] = _zero(hint)
    return cls(**made)


def _read(hint: Any, value: Any, path: str) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, python_types.UnionType):
        return _read(_without_none(args), value, path)
    if origin is Sequence:
        if not isinstance(value, list):
            raise Mismatch(f"{path} is not an array")
        items = cast(list[Any], value)
        return tuple(_read(args[0], item, f"{path}[{i}]") for i, item in enumerate(items))
    if origin is Mapping:
        if not isinstance(value, dict):
            raise Mismatch(f"{path} is not an object")
        members = cast(dict[str, Any], value)
        return {name: _read(args[1], member, f"{path}.{name}") for name, member in members.items()}
    if is_dataclass(hint):
        return decode(cast(type[Any], hint), value, path)
    return _scalar(hint, value, path)


def _scalar(hint: Any, value: Any, path: str) -> Any:
    if hint is Any or hint is object:
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    wanted: type = str if get_origin(hint) is Literal else hint
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise Mismatch(f"{path} is not of the type {wanted.__name__}")
    return value


def _without_none(args: tuple[Any, ...]) -> Any:
    """The other member of `X | None`. A wider union is returned unchanged."""
    others = [arg for arg in args if arg is not type(None)]
    return others[0] if len(others) == 1 else Any


def _zero(hint: Any) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, python_types.UnionType) or hint is Any:
        return None
    if origin is Sequence:
        return ()
    if origin is Mapping:
        return {}
    if origin is Literal:
        return args[0]
    if is_dataclass(hint):
        return decode(cast(type[Any], hint), {})
    return hint()
