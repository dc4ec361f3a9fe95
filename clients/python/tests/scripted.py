# pyright: basic, reportPrivateUsage=none
"""The client of the scripted server (testdata/clients/README.md)."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[3]
KEY = "sk_test_tableOfBehaviors0123456789"
HEALTH = {"json": {"status": "ok", "authenticated": True, "project_id": "proj_1"}}
USAGE = {"promptTokens": 6, "completionTokens": 2, "totalTokens": 8, "costCents": 0.00034}
DONE = {"type": "done", "provider": "openai", "model": "gpt-4.1-mini", "cacheHit": False, "usage": USAGE}
COMPLETION = {
    "json": {"text": "Hi there", "provider": "openai", "model": "gpt-4.1-mini", "cacheHit": False, "usage": USAGE}
}

# Creating an httpx client reads all certificates.
HTTP = httpx.Client()


class Case:
    """A scripted case: its URL and its recorded requests."""

    def __init__(self, url: str, number: int) -> None:
        self.url = f"{url}/c/{number}"
        self._records = f"{url}/__cases/{number}"

    def requests(self) -> list[dict[str, Any]]:
        return HTTP.get(self._records).json()

    def put(self, answers: list[Any]) -> None:
        HTTP.put(self._records, json=answers).raise_for_status()

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """The requests, once at least `count` have arrived."""
        return self._until(lambda requests: len(requests) >= count)

    def wait_closed(self, index: int = 0) -> None:
        """Waits until the client has closed a request's connection before the end of the response."""
        self._until(lambda requests: requests[index]["closed"])

    def _until(self, condition: Any) -> list[dict[str, Any]]:
        for _ in range(1500):
            requests = self.requests()
            if condition(requests):
                return requests
            time.sleep(0.02)
        raise AssertionError(f"not within 30 s: {self.requests()}")


class Scripted:
    """The running server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._numbers = itertools.count(1)

    def case(self, *answers: Any) -> Case:
        """A new case that sends the responses in this order."""
        case = Case(self.url, next(self._numbers))
        case.put(list(answers))
        return case
