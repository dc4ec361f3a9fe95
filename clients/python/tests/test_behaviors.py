"""The behaviors that the client libraries share (testdata/clients)."""

from __future__ import annotations

from typing import Any

import pytest

from .behaviors import Run, cases, needs_cancellation
from .scripted import Scripted

CASES = cases()


def name_of(case: dict[str, Any]) -> str:
    return case["name"]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_async(case: dict[str, Any], scripted: Scripted) -> None:
    Run(case, scripted).run(is_async=True)


# A thread cannot be interrupted, so the synchronous client has no cancellation.
@pytest.mark.parametrize("case", [case for case in CASES if not needs_cancellation(case)], ids=name_of)
def test_sync(case: dict[str, Any], scripted: Scripted) -> None:
    Run(case, scripted).run(is_async=False)


def test_names_are_unique() -> None:
    names = [case["name"] for case in CASES]
    assert len(names) == len(set(names)) > 0
