"""Runs the Python blocks of docs/clients/python.md, as they are written, against the real gateway."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from postern import Postern

from .gateway import Gateway
from .scripted import ROOT

PAGE = (ROOT / "docs/clients/python.md").read_text()
BLOCKS = [textwrap.dedent(block[1]) for block in re.finditer(r"^ *```python\n(.*?)^ *```$", PAGE, re.M | re.S)]


def hello(folder: Path, gateway: Gateway, key: str) -> subprocess.CompletedProcess[str]:
    (folder / "hello.py").write_text(BLOCKS[0])
    variables = {"POSTERN_API_KEY": key, "POSTERN_BASE_URL": gateway.url, "PYTHONPATH": str(ROOT / "clients/python/src")}
    command = [sys.executable, "-W", "error::DeprecationWarning", "hello.py"]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )


def test_quick_start(gateway: Gateway, tmp_path: Path) -> None:
    shown = re.search(r"and then its cost:\n\n *```\n(.*?) *```", PAGE, re.S)
    assert shown is not None
    with Postern(api_key=gateway.developmentKey, base_url=gateway.url) as client:
        model = client.ai.complete(messages=[{"role": "user", "content": "Hello!"}]).model
    # The tests have a catalog of their own.
    wanted = textwrap.dedent(shown[1]).replace("gpt-4.1-mini", model)
    assert hello(tmp_path, gateway, gateway.developmentKey).stdout == wanted


def test_quick_start_with_a_cost(gateway: Gateway, tmp_path: Path) -> None:
    lines = hello(tmp_path, gateway, gateway.productionKey).stdout.splitlines()
    assert lines[0] == "1 2 3"
    assert re.fullmatch(r"\S+ cost 0\.0\d*[1-9]\d* cents", lines[1])


def test_quick_start_without_a_budget(gateway: Gateway, tmp_path: Path) -> None:
    done = hello(tmp_path, gateway, gateway.emptyKey)
    assert re.fullmatch(r"no budget left for request req_[0-9a-f]{32}\n", done.stdout)
    assert done.stderr == ""


def test_all_blocks(gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(BLOCKS) >= 11
    monkeypatch.setenv("POSTERN_API_KEY", gateway.productionKey)
    monkeypatch.setenv("POSTERN_BASE_URL", gateway.url)
    monkeypatch.chdir(tmp_path)
    page = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page)  # dataclasses look their module up
    names = vars(page)
    names["project_key"] = gateway.projectKey
    for block in BLOCKS:
        exec(compile(block, "docs/clients/python.md", "exec"), names)
    lines = (tmp_path / "audit.ndjson").read_text().splitlines()
    assert lines[0].startswith('{"format":"postern-export"')
    for name in ("client", "project", "strict"):
        names[name].close()
