"""Builds the wheel and the sdist into `dist` with setuptools alone: no build isolation, no network.

    python3 tools/build.py [FOLDER]

Needs setuptools, and wheel if setuptools is older than 70.1. To publish, run `twine upload dist/*` manually.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
LICENSE = PACKAGE.parents[1] / "LICENSE"


MISSING = """build.py: needs setuptools and wheel, which this Python does not have:
  Debian, Ubuntu         sudo apt install python3-setuptools python3-wheel
  virtual environment    pip install setuptools wheel"""


def is_ready() -> bool:
    """Whether this Python can build a wheel."""
    if find_spec("setuptools") is None:
        return False
    return find_spec("wheel") is not None or find_spec("setuptools.command.bdist_wheel") is not None


def main() -> None:
    """Builds both in a clean copy, so that nothing from an earlier build gets into them."""
    if not is_ready():
        sys.exit(MISSING)
    from setuptools import build_meta  # not at the top, because it may be missing

    target = Path(sys.argv[1] if len(sys.argv) > 1 else PACKAGE / "dist").resolve()
    shutil.rmtree(target, ignore_errors=True)
    copy = target / "source"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("dist", "build", "*.egg-info", "__pycache__", ".*"))
    if LICENSE.exists():  # an sdist has its own
        shutil.copy(LICENSE, copy)
    os.chdir(copy)
    built = [build_meta.build_sdist(str(target)), build_meta.build_wheel(str(target))]
    os.chdir(target)
    shutil.rmtree(copy)
    for name in built:
        print(target / name)


if __name__ == "__main__":
    main()
