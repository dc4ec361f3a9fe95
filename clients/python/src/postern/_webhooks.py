"""Verifies the webhooks of the gateway. No I/O except for the variable and the clock.

The signatures follow Standard Webhooks
(https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import Any, Protocol, cast

from ._calls import parse_json
from ._decode import Mismatch, decode
from ._errors import ConfigurationError, WebhookVerificationError
from ._events import BudgetThresholdEvent, CheckpointEvent, OtherEvent, ViolationCreatedEvent, WebhookEvent
from ._settings import check_tolerance

MAX_BODY_BYTES = 1024 * 1024
MAX_SIGNATURES = 16
MIN_SECRET_BYTES = 24  # the standard: 24 to 64 bytes

_TEXTS = {
    "missing_header": "The webhook lacks the header webhook-id, webhook-timestamp or webhook-signature.",
    "invalid_timestamp": "The webhook's timestamp is not a number of seconds.",
    "timestamp_out_of_tolerance": "The webhook was not sent now: its timestamp is too far from this machine's time.",
    "invalid_signature": "No signature of the webhook fits: the secret is another one, or the body is not as it arrived.",
    "invalid_payload": "The webhook's body is not an event.",
}

_EVENTS: Mapping[str, type[WebhookEvent]] = {
    "budget.threshold": BudgetThresholdEvent,
    "violation.created": ViolationCreatedEvent,
    "compliance.checkpoint": CheckpointEvent,
}


class Headers(Protocol):
    """The headers of a request, as web frameworks provide them: a dict, or an object with `items`."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Names (in any case) with values."""
        ...


def verify_webhook(
    body: str | bytes,
    headers: Headers,
    *,
    secret: str | Sequence[str] | None = None,
    tolerance_ms: int = 300_000,
) -> WebhookEvent:
    """Verifies that the gateway sent a webhook, and returns its event.

    A repeated delivery has the same `id`, so skip the IDs that you have seen.

    Args:
        body: The body as it arrived, before any JSON parser, at most 1 MiB. At most 16 signatures are compared.
        headers: The headers of the request.
        secret: The webhook's secret, or several secrets if the delivery may be signed with any of them
            (POSTERN_WEBHOOK_SECRET, separated by spaces or commas).
        tolerance_ms: How far the delivery's time may be from the current time, in milliseconds.

    Raises:
        WebhookVerificationError: The webhook was not sent by the gateway, or its time is outside the tolerance.
        ConfigurationError: The secret is missing or invalid, or the body is not text.
    """
    signers = _signers(secret)
    tolerance_ms = check_tolerance(tolerance_ms)
    signed = _bytes(body)
    message_id, timestamp, signatures = _signature_headers(headers)
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise _refused("invalid_timestamp")
    if abs(_now_ms() - int(timestamp) * 1000) > tolerance_ms:
        raise _refused("timestamp_out_of_tolerance")
    if len(signed) > MAX_BODY_BYTES:
        raise _refused("invalid_payload")
    text = f"{message_id}.{timestamp}.".encode("utf-8", "replace") + signed
    if not _is_signed(text, signatures, signers):
        raise _refused("invalid_signature")
    return _event(signed)


def _refused(code: str) -> WebhookVerificationError:
    return WebhookVerificationError(_TEXTS[code], code=code)


def _now_ms() -> float:
    return datetime.now(timezone.utc).timestamp() * 1000


def _signers(secret: object) -> list[hmac.HMAC]:
    """Signs with each secret. Neither this object nor an error reveals a secret."""
    given = os.environ.get("POSTERN_WEBHOOK_SECRET", "") if secret is None else secret
    texts: Any = re.split(r"[ ,]+", given.strip(" ,")) if isinstance(given, str) else given
    if secret is None and texts == [""]:
        raise ConfigurationError("A secret is required: pass secret, or set POSTERN_WEBHOOK_SECRET.")
    name = "POSTERN_WEBHOOK_SECRET" if secret is None else "secret"
    if not isinstance(texts, Sequence) or isinstance(texts, (bytes, bytearray)) or not texts:
        raise ConfigurationError("secret must be a text, or a list of texts.")
    return [hmac.new(_key(name, text), digestmod=hashlib.sha256) for text in cast(Sequence[object], texts)]


def _key(name: str, text: object) -> bytes:
    key = b""
    if isinstance(text, str):
        try:
            key = base64.b64decode(text.strip().removeprefix("whsec_").encode(), validate=True)
        except (binascii.Error, UnicodeEncodeError):
            pass  # not chained, because this error contains parts of the secret
    if len(key) < MIN_SECRET_BYTES:
        raise ConfigurationError(f"{name} must be whsec_ and at least {MIN_SECRET_BYTES} bytes in base64.")
    return key


def _bytes(body: object) -> bytes:
    if isinstance(body, str):
        return body.encode("utf-8", "replace")
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(cast(bytes, body))
    raise ConfigurationError("body must be the text or the bytes as they arrived, before any JSON parser.")


def _signature_headers(headers: Headers) -> list[str]:
    """The values of the three headers."""
    items: Any = getattr(headers, "items", None)
    if not callable(items):
        raise ConfigurationError("headers must be a dict, or have items().")
    known: dict[str, list[str]] = {}
    for name, value in cast(Any, items)():
        if isinstance(name, str) and isinstance(value, str) and value:
            known.setdefault(name.lower(), []).append(value)  # some frameworks list several headers with the same name
    found = [" ".join(known.get(f"webhook-{name}", ())) for name in ("id", "timestamp", "signature")]
    if not all(found):
        raise _refused("missing_header")
    return found


def _is_signed(text: bytes, signatures: str, signers: Sequence[hmac.HMAC]) -> bool:
    """Whether any version 1 signature matches any signer. The time it takes does not reveal how much of a signature
    matches.
    """
    for signer in signers:
        signer.update(text)
    wanted = [base64.b64encode(signer.digest()) for signer in signers]
    parts = (part.removesuffix(",") for part in signatures.split())  # commas from headers that were joined with ", "
    candidates = (part[3:].encode("utf-8", "replace") for part in parts if part.startswith("v1,"))
    compared = [hmac.compare_digest(one, given) for given in islice(candidates, MAX_SIGNATURES) for one in wanted]
    return any(compared)


def _event(body: bytes) -> WebhookEvent:
    value = parse_json(body)
    members = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    kind = members.get("type")
    if not isinstance(kind, str) or not kind:
        raise _refused("invalid_payload")
    try:
        return decode(_EVENTS.get(kind, OtherEvent), members)
    except Mismatch:
        pass
    raise _refused("invalid_payload")
