"""Log records. The exchange decides which records to log. This module decides which of them are written, and how."""

from __future__ import annotations

import json
import logging as std_logging
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, cast

from ._settings import LEVELS, Logging

_STD_LEVELS = {
    "debug": std_logging.DEBUG,
    "info": std_logging.INFO,
    "warn": std_logging.WARNING,
    "error": std_logging.ERROR,
}


_MAX_REMEMBERED = 100


@dataclass(frozen=True)
class Record:
    """A log record without its time."""

    level: str
    msg: str
    fields: Mapping[str, Any]
    is_once: bool = False
    """Whether to log the same record only once. For example, every response repeats that a model is deprecated."""


class Log:
    """The log of one client."""

    def __init__(self, settings: Logging) -> None:
        self._settings = settings
        self._said: set[str] = set()

    def write(self, record: Record) -> None:
        """Writes a record to the client's logger or to standard error. A failing logger does not fail the call."""
        if LEVELS.index(record.level) < LEVELS.index(self._settings.level) or self._was_said(record):
            return
        try:
            _emit(record, self._settings)
        except Exception:
            pass

    def _was_said(self, record: Record) -> bool:
        if not record.is_once:
            return False
        key = to_json([record.msg, record.fields])
        if key in self._said or len(self._said) >= _MAX_REMEMBERED:
            return True
        self._said.add(key)
        return False


def _emit(record: Record, settings: Logging) -> None:
    logger = settings.logger
    if isinstance(logger, std_logging.Logger):
        fields = {"msg": record.msg, **record.fields}
        logger.log(_STD_LEVELS[record.level], "%s", _words(record), extra={"postern": fields})
        return
    time = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    whole = {"time": time, "level": record.level, "msg": record.msg, **record.fields}
    if logger is not None:
        logger(whole)
        return
    line = f"{time[11:23]} {record.level.upper()} {_words(record)}" if settings.pretty else to_json(whole)
    print(line, file=sys.stderr)


def to_json(value: object) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _words(record: Record) -> str:
    """`dropped_params params=temperature`"""
    known = {name: value for name, value in record.fields.items() if value is not None}
    return " ".join([record.msg, *(f"{name}={_word(value)}" for name, value in known.items())])


def _word(value: object) -> str:
    if isinstance(value, list):
        return ",".join(_word(item) for item in cast(list[object], value))
    if not isinstance(value, str):
        return to_json(value)
    # Quotes keep a value on one line and separate from the next field.
    return value if re.fullmatch(r'[^\s"]+', value) else to_json(value)
