"""The scripted server, which all tests share."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from .gateway import Gateway, running
from .scripted import ROOT, Scripted


@pytest.fixture(scope="session")
def scripted() -> Iterator[Scripted]:
    command = ["node", str(ROOT / "test/clients/server.mjs")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        url: str = json.loads(process.stdout.readline())["url"]
        yield Scripted(url)
        process.stdin.close()
        process.wait(60)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides the developer's POSTERN_ variables from tests."""
    import os

    for name in list(os.environ):
        if name.startswith("POSTERN_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def gateway() -> Iterator[Gateway]:
    with running() as gateway:
        yield gateway
