# pyright: basic, reportPrivateUsage=none
"""An outside user's folder. The shell blocks of docs/clients/python.md create it, and only the built package is
installed there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import httpx

from .gateway import Gateway
from .scripted import ROOT

PAGE = (ROOT / "docs/clients/python.md").read_text()
WEBHOOK_SECRET: str = json.loads((ROOT / "testdata/webhooks.json").read_text())[0]["secrets"][0]


def blocks(language: str, page: str = PAGE) -> list[str]:
    """The code blocks of a page that are in the given language."""
    found = re.finditer(rf"^ *```{language}\n(.*?)^ *```$", page, re.M | re.S)
    return [textwrap.dedent(block[1]) for block in found]


START, BUILD, INSTALL, RUN, EMPTY = blocks("sh")


class Stranger:
    """A copy of the checkout for the commands that run in it, and an empty folder with the installed package."""

    def __init__(self, place: Path, gateway: Gateway) -> None:
        self.gateway = gateway
        self.checkout, self.folder = place / "checkout", place / "empty"
        self.folder.mkdir()
        self._copy()
        done = self.shell(self.checkout, f"{BUILD}\ncd {self.folder}\n{INSTALL.replace('…', str(self.checkout))}")
        assert done.returncode == 0, done.stdout + done.stderr

    def _copy(self) -> None:
        unused = shutil.ignore_patterns("dist", "__pycache__")
        shutil.copytree(ROOT / "clients/python", self.checkout / "clients/python", ignore=unused)
        for path in ROOT.iterdir():
            if path.name != "clients" and not path.name.startswith("."):
                (self.checkout / path.name).symlink_to(path)
        (self.checkout / ".dev").mkdir()
        token = re.search(r"^const ADMIN_TOKEN = '(.*)'$", (ROOT / "test/sdk/gateway.mjs").read_text(), re.M)
        assert token is not None
        keys = {
            "gatewayKey": self.gateway.developmentKey,
            "projectKey": self.gateway.projectKey,
            "adminToken": token[1],
        }
        (self.checkout / ".dev/keys.json").write_text(json.dumps(keys))

    def shell(self, folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs shell commands. There is no network, so pip finds the package's dependencies among Debian's packages."""
        hidden = ("POSTERN_", "PYTHON", "PIP_", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        found = {"PYTHONPATH": str(Path(httpx.__file__).parents[1]), "PIP_NO_INDEX": "1"}
        environment = {**kept, **found, "POSTERN_BASE_URL": self.gateway.url, **variables}
        command = ["bash", "-eu", "-c", script]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    def run(self, program: str, name: str = "page.py", **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a program in the empty folder, with the keys of `make dev`."""
        (self.folder / name).write_text(program)
        keys = {"POSTERN_API_KEY": self.gateway.developmentKey, "POSTERN_PROJECT_KEY": self.gateway.projectKey}
        script = f". .venv/bin/activate\npython3 -W error::DeprecationWarning {name}"
        return self.shell(self.folder, script, **{**keys, **variables})
