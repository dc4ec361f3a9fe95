"""Reads the gateway's headers. docs/openapi.yaml describes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from .types import Attempt, Attempts, Deprecation, GovernorDecision, Meta, RateLimit


def parse_meta(headers: Mapping[str, str]) -> Meta:
    """The metadata of a response. A malformed header counts as absent."""
    return Meta(
        request_id=headers.get("x-request-id"),
        provider=headers.get("x-postern-provider"),
        model=headers.get("x-postern-model"),
        cache=headers.get("x-postern-cache"),
        cost_cents=_number(headers.get("x-postern-cost-cents")),
        price_version=headers.get("x-postern-price-version"),
        attempts=parse_attempts(headers.get("x-postern-attempts")),
        dropped_params=_listed(headers.get("x-postern-dropped-params")),
        max_tokens=_integer(headers.get("x-postern-max-tokens")),
        deprecation=_deprecation(headers),
        registry_warning=headers.get("x-postern-registry"),
        governor=_governor(headers.get("x-postern-governor")),
        replayed=headers.get("idempotent-replayed") == "true",
        rate_limit=_rate_limit(headers),
    )


def parse_attempts(value: str | None) -> Attempts | None:
    """Reads `2; openai/gpt-4.1=503, gemini/gemini-2.5-flash=200`."""
    count, _, listed = (value or "").partition(";")
    if not re.fullmatch(r"[0-9]+", count.strip()):
        return None
    targets: list[Attempt] = []
    for part in _listed(listed):
        target, equals, result = part.rpartition("=")
        if equals:
            targets.append(Attempt(target, result))
    return Attempts(int(count), tuple(targets))


def _rate_limit(headers: Mapping[str, str]) -> RateLimit | None:
    limits = RateLimit(
        limit_requests=_integer(headers.get("x-ratelimit-limit-requests")),
        remaining_requests=_integer(headers.get("x-ratelimit-remaining-requests")),
        reset_requests=_integer(headers.get("x-ratelimit-reset-requests")),
        limit_tokens=_integer(headers.get("x-ratelimit-limit-tokens")),
        remaining_tokens=_integer(headers.get("x-ratelimit-remaining-tokens")),
        reset_tokens=_integer(headers.get("x-ratelimit-reset-tokens")),
    )
    return None if limits == RateLimit() else limits


def _governor(value: str | None) -> GovernorDecision | None:
    """Reads `approve; risk=5; policy=7; unchecked=image+audio`."""
    decision, *parts = _listed(value, ";") or ("",)
    if not decision:
        return None
    known = dict(part.split("=", 1) for part in parts if "=" in part)
    unchecked = _listed(known.get("unchecked"), "+")
    return GovernorDecision(decision, _integer(known.get("risk")) or 0, _integer(known.get("policy")) or 0, unchecked)


def _deprecation(headers: Mapping[str, str]) -> Deprecation | None:
    """Reads `Deprecation: @1795262400` (RFC 9745) and `Sunset: Mon, 21 Dec 2026 12:00:00 GMT` (RFC 8594)."""
    deprecation, sunset = headers.get("deprecation"), headers.get("sunset")
    if deprecation is None and sunset is None:
        return None
    found = re.fullmatch(r"@([0-9]{1,11})", deprecation or "")
    at = _utc(datetime.fromtimestamp(int(found[1]), timezone.utc)) if found else None
    return Deprecation(at, _sunset(sunset), headers.get("x-postern-successor"))


def _sunset(value: str | None) -> str | None:
    try:
        return _utc(parsedate_to_datetime(value or ""))
    except (TypeError, ValueError):
        return None


def _utc(time: datetime) -> str:
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _listed(value: str | None, separator: str = ",") -> tuple[str, ...]:
    return tuple(part.strip() for part in (value or "").split(separator) if part.strip())


def _integer(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"[0-9]{1,18}", value) else None


def _number(value: str | None) -> float | None:
    return float(value) if value and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value) else None
