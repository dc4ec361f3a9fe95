# pyright: basic, reportPrivateUsage=none
"""The package, built and installed the way an outside user would: a wheel in a fresh environment with the system's
httpx.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from postern import __version__

from .scripted import COMPLETION, KEY, ROOT, Scripted

PACKAGE = ROOT / "clients/python"
PROGRAM = """
import postern
client = postern.Postern()
print(postern.__file__)
print(client.ai.complete(messages=[{"role": "user", "content": "Hello!"}]).text)
"""


def run(*command: str | Path, cwd: Path, variables: dict[str, str] | None = None) -> str:
    hidden = ("PYTHONPATH", "PIP_FIND_LINKS")
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | (variables or {})
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    run(sys.executable, PACKAGE / "tools/build.py", target, cwd=PACKAGE)
    return target


def files_of(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def wheel_in(folder: Path) -> Path:
    (found,) = folder.glob(f"postern-{__version__}-py3-none-any.whl")
    return found


def test_contents(built: Path) -> None:
    files = files_of(wheel_in(built))
    assert "postern/py.typed" in files
    assert "postern/_sync/client.py" in files
    outside = [name for name in files if not name.startswith(("postern/", f"postern-{__version__}.dist-info/"))]
    assert outside == []
    sources = {path.relative_to(PACKAGE / "src").as_posix() for path in (PACKAGE / "src/postern").rglob("*.py")}
    assert {name for name in files if name.endswith(".py")} == sources
    metadata = files[f"postern-{__version__}.dist-info/METADATA"].decode()
    assert [line for line in metadata.splitlines() if line.startswith("Requires-Dist")] == [
        "Requires-Dist: httpx (<1,>=0.23.3)"
    ] or "Requires-Dist: httpx<1,>=0.23.3" in metadata
    assert f"postern-{__version__}.dist-info/LICENSE" in files


def test_sdist_builds_the_same_wheel(built: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("postern-*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path)
    source = tmp_path / f"postern-{__version__}"
    run(sys.executable, source / "tools/build.py", tmp_path / "dist", cwd=tmp_path)
    assert files_of(wheel_in(tmp_path / "dist")) == files_of(wheel_in(built))


def test_wheel_in_a_fresh_environment(built: Path, tmp_path: Path, scripted: Scripted) -> None:
    run(sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel_in(built), cwd=tmp_path)
    case = scripted.case(COMPLETION)
    variables = {"POSTERN_API_KEY": KEY, "POSTERN_BASE_URL": case.url}
    place, text = run(python, "-W", "error", "-c", PROGRAM, cwd=tmp_path, variables=variables).splitlines()
    assert place.startswith(str(tmp_path / "venv"))
    assert text == "Hi there"
