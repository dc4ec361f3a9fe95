# pyright: basic, reportPrivateUsage=none
"""Webhook verification: the cases of testdata/webhooks.json, and behavior specific to Python."""

from __future__ import annotations

import base64
import email.message
import hashlib
import hmac
import json
import subprocess
import sys
from typing import Any

import pytest

import postern
from postern import ConfigurationError, PosternError, WebhookVerificationError, verify_webhook

from .matching import error_wire, mismatch, shown, wire
from .scripted import ROOT

CASES: list[dict[str, Any]] = json.loads((ROOT / "testdata/webhooks.json").read_text())
BUDGET = CASES[0]
SECRET: str = BUDGET["secrets"][0]
KEY = base64.b64decode(SECRET.removeprefix("whsec_"))


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postern._webhooks._now_ms", lambda: BUDGET["nowMs"])


def signature(body: bytes, headers: dict[str, str]) -> str:
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()


def delivery(body: bytes) -> tuple[bytes, dict[str, str]]:
    """A body with the headers of its delivery."""
    headers = {name: BUDGET["headers"][name] for name in ("webhook-id", "webhook-timestamp")}
    return body, {**headers, "webhook-signature": signature(body, headers)}


@pytest.mark.parametrize("as_bytes", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cases(case: dict[str, Any], as_bytes: bool) -> None:
    body = case["body"].encode() if as_bytes else case["body"]
    options = {"tolerance_ms": case["toleranceMs"]} if "toleranceMs" in case else {}
    got: dict[str, Any]
    try:
        got = {"event": wire(verify_webhook(body, case["headers"], secret=case["secrets"], **options))}
    except PosternError as error:
        got = {"error": error_wire(error)}
        secrets = [secret.removeprefix("whsec_") for secret in case["secrets"] if secret]
        assert not any(secret in shown(error) for secret in secrets)
    assert got.keys() == case["expect"].keys(), got
    assert mismatch(case["expect"], got) is None, mismatch(case["expect"], got)


def test_events_have_classes() -> None:
    budget = verify_webhook(BUDGET["body"], BUDGET["headers"], secret=SECRET)
    assert isinstance(budget, postern.BudgetThresholdEvent)
    assert (budget.data.threshold_percent, budget.data.budget.used) == (80, 8.5)
    violation = {"id": "vio_1", "rule": "secret.github-token", "severity": "critical"}
    data = {"projectId": "proj_1", "count": 3, "violation": violation}
    created = verify_webhook(*delivery(json.dumps({"type": "violation.created", "data": data}).encode()), secret=SECRET)
    assert isinstance(created, postern.ViolationCreatedEvent)
    assert (created.data.count, created.data.violation.severity) == (3, "critical")
    data = {"project": "proj_1", "object": "ledger", "seq": 7, "keyId": "0011223344556677"}
    signed = verify_webhook(*delivery(json.dumps({"type": "compliance.checkpoint", "data": data}).encode()), secret=SECRET)
    assert isinstance(signed, postern.CheckpointEvent)
    assert (signed.data.project, signed.data.seq, signed.data.key_id) == ("proj_1", 7, "0011223344556677")
    other = verify_webhook(*delivery(b'{"type":"new.thing","data":{"x":1}}'), secret=SECRET)
    assert isinstance(other, postern.OtherEvent) and other.data == {"x": 1}


def test_the_budget_of_a_group() -> None:
    node = {"level": "group", "id": "grp_1", "name": "Research"}
    budget = {"limit": 5, "used": 4.5, "start": None, "end": None}
    data = {"projectId": None, "node": node, "thresholdPercent": 80, "budget": budget}
    body = json.dumps({"type": "budget.threshold", "id": "evt_1", "timestamp": "2026-11-27T17:57:44.085Z", "data": data})
    event = verify_webhook(*delivery(body.encode()), secret=SECRET)
    assert isinstance(event, postern.BudgetThresholdEvent)
    assert event.data.project_id is None and event.data.budget.end is None
    assert event.data.node == postern.BudgetNode(level="group", id="grp_1", name="Research")


@pytest.mark.parametrize("body", [b'{"type":5}', b'{"type":"budget.threshold","data":{"thresholdPercent":"80"}}', b"\xff", b""])
def test_a_signed_body_that_is_no_event(body: bytes) -> None:
    with pytest.raises(WebhookVerificationError) as caught:
        verify_webhook(*delivery(body), secret=SECRET)
    assert caught.value.code == "invalid_payload"


def test_the_variable_may_hold_several(monkeypatch: pytest.MonkeyPatch) -> None:
    other = "whsec_" + base64.b64encode(bytes(24)).decode()
    for text in (SECRET, f"{other} {SECRET}", f"{SECRET}, {other}", f" {other},{SECRET} "):
        monkeypatch.setenv("POSTERN_WEBHOOK_SECRET", text)
        assert verify_webhook(BUDGET["body"], BUDGET["headers"]).id == BUDGET["headers"]["webhook-id"]
    monkeypatch.setenv("POSTERN_WEBHOOK_SECRET", other)
    with pytest.raises(WebhookVerificationError, match="secret is another one"):
        verify_webhook(BUDGET["body"], BUDGET["headers"])
    monkeypatch.setenv("POSTERN_WEBHOOK_SECRET", "whsec_wrong*")
    with pytest.raises(ConfigurationError, match="POSTERN_WEBHOOK_SECRET") as wrong:
        verify_webhook(BUDGET["body"], BUDGET["headers"])
    assert "wrong" not in shown(wrong.value) and wrong.value.__context__ is None
    monkeypatch.setenv("POSTERN_WEBHOOK_SECRET", "")
    with pytest.raises(ConfigurationError, match="POSTERN_WEBHOOK_SECRET"):
        verify_webhook(BUDGET["body"], BUDGET["headers"])


def test_headers_of_http_server() -> None:
    message = email.message.Message()
    for name, value in BUDGET["headers"].items():
        message[name.title()] = value
    assert verify_webhook(BUDGET["body"].encode(), message, secret=SECRET).type == "budget.threshold"


def test_several_headers_of_one_name() -> None:
    message = email.message.Message()
    for name, value in BUDGET["headers"].items():
        if name == "webhook-signature":
            message[name] = "v1,AAAA"
        message[name] = value
    assert verify_webhook(BUDGET["body"], message, secret=SECRET).type == "budget.threshold"
    message["webhook-id"] = "evt_another"
    with pytest.raises(WebhookVerificationError):
        verify_webhook(BUDGET["body"], message, secret=SECRET)


def test_wrong_arguments() -> None:
    body, headers = BUDGET["body"], BUDGET["headers"]
    wrong: list[tuple[Any, Any, dict[str, Any], str]] = [
        (json.loads(body), headers, {}, "before any JSON parser"),
        (body, None, {}, "headers must be a dict"),
        (body, headers, {"secret": 5}, "secret must be"),
        (body, headers, {"secret": []}, "secret must be"),
        (body, headers, {"tolerance_ms": -1}, "tolerance_ms must be"),
        (body, headers, {"tolerance_ms": 1.5}, "tolerance_ms must be"),
    ]
    for given, names, options, text in wrong:
        with pytest.raises(ConfigurationError, match=text):
            verify_webhook(given, names, **{"secret": SECRET, **options})


def test_the_work_is_bounded() -> None:
    whole = b'{"type":"new.thing","pad":"' + b"x" * (1 << 20)
    fits = whole[: (1 << 20) - 2] + b'"}'
    assert verify_webhook(*delivery(fits), secret=SECRET).type == "new.thing"
    with pytest.raises(WebhookVerificationError) as large:
        verify_webhook(*delivery(fits + b" "), secret=SECRET)
    assert large.value.code == "invalid_payload"
    body, headers = delivery(b'{"type":"new.thing"}')
    for before, fails in ((15, False), (16, True)):
        many = {**headers, "webhook-signature": " ".join([*["v1,AAAA"] * before, headers["webhook-signature"]])}
        if fails:
            with pytest.raises(WebhookVerificationError):
                verify_webhook(body, many, secret=SECRET)
        else:
            assert verify_webhook(body, many, secret=SECRET).type == "new.thing"


def test_it_needs_no_client() -> None:
    """Runs in a process of its own, without other variables. The delivery is too old for the real clock."""
    program = "import json, sys, postern; case = json.load(sys.stdin); postern.verify_webhook(case['body'], case['headers'])"
    variables = {"POSTERN_WEBHOOK_SECRET": SECRET, "PYTHONPATH": str(ROOT / "clients/python/src")}
    command = [sys.executable, "-c", program]
    old = {**BUDGET, "headers": {**BUDGET["headers"], "webhook-timestamp": "1500000000"}}
    done = subprocess.run(command, env=variables, input=json.dumps(old), capture_output=True, text=True, check=False)
    assert "postern.WebhookVerificationError: The webhook was not sent now" in done.stderr
