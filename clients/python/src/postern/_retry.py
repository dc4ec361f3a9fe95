"""Decides whether and when to send a request again. No I/O: the random number and the time are arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

MAX_ASKED_PAUSE_MS = 60_000
MAX_PAUSE_MS = 8_000
FIRST_PAUSE_MS = 500

_DECIMAL = re.compile(r"[0-9]{1,15}(\.[0-9]+)?")


def may_retry_status(status: int, headers: Mapping[str, str], repeatable: bool) -> bool:
    """Whether a response allows another attempt.

    A request that is not repeatable is sent again only if the status proves that nothing was done.
    """
    asked = headers.get("x-should-retry")
    if asked == "false":
        return False
    if not repeatable:
        return status == 429 or (status == 503 and asked == "true")
    return asked == "true" or status in (408, 409, 429) or status >= 500


def asked_pause_ms(headers: Mapping[str, str], now_ms: float | None) -> float | None:
    """The pause that a response asks for, in milliseconds; None if it asks for none.

    An HTTP date is relative to now_ms or, without it, to the response's own `date`.
    """
    exact = headers.get("retry-after-ms", "").strip()
    if _DECIMAL.fullmatch(exact) and float(exact) > 0:
        return float(exact)
    value = headers.get("retry-after", "").strip()
    if _DECIMAL.fullmatch(value):
        pause = float(value) * 1000
    else:
        at, now = _date_ms(value), now_ms if now_ms is not None else _date_ms(headers.get("date", ""))
        if at is None or now is None:
            return None
        pause = at - now
    return pause if pause > 0 else None


def pause_ms(retries_done: int, asked: float | None, random: float) -> float | None:
    """The pause before the next attempt in milliseconds; None if the server asks for more than a minute.

    random is at least 0 and less than 1.
    """
    if asked is not None:
        return asked if asked <= MAX_ASKED_PAUSE_MS else None
    return min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2.0**retries_done) * (0.75 + 0.25 * random)


def _date_ms(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp() * 1000
    except (TypeError, ValueError, OverflowError):
        return None
