"""The real gateway, in workerd or `postern serve` (TEST_TARGET=serve), for smoke tests."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from .scripted import ROOT


@dataclass(frozen=True)
class Gateway:
    """The gateway's URL and keys. test/clients/gateway.mjs describes them."""

    url: str
    projectId: str
    developmentKey: str
    productionKey: str
    emptyKey: str
    projectKey: str


@contextmanager
def running() -> Generator[Gateway, None, None]:
    """A gateway that runs until the end of the `with` block."""
    command = ["node", str(ROOT / "test/clients/gateway.mjs")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        yield Gateway(**json.loads(process.stdout.readline()))
        process.stdin.close()
        process.wait(60)
