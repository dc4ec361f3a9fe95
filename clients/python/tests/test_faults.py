# pyright: basic, reportPrivateUsage=none
"""Compares the client's knowledge of the gateway's errors with testdata/faults.json, the gateway's error table."""

from __future__ import annotations

import json
import re

import pytest

from postern._retry import may_retry_status

from .scripted import ROOT

FAULTS = json.loads((ROOT / "testdata/faults.json").read_text())


@pytest.mark.parametrize("fault", [f for f in FAULTS if f["place"] not in ("admin", "log")], ids=lambda f: f"{f['status']} {f['code']}")
def test_every_error_is_retried_as_its_row_says(fault: dict) -> None:
    headers = {"x-should-retry": "false"} if fault["retry"] == "never" else {}
    assert may_retry_status(fault["status"], headers, True) is (fault["retry"] == "yes")


def test_every_code_in_the_source_is_one_of_a_row() -> None:
    rows = {(fault["status"], fault["code"]) for fault in FAULTS}
    found = []
    for path in (ROOT / "clients/python/src/postern").rglob("*.py"):
        pattern = r'status [!=]= (\d+) (?:and|or) (?:\w+\.)?code [!=]= "(\w+)"'
        found += [(int(status), code) for status, code in re.findall(pattern, path.read_text())]
    assert (422, "blocked_by_policy") in found
    assert set(found) <= rows
