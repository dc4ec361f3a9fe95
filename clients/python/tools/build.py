"""Builds the wheel and the sdist into `dist`, by setuptools alone: no build isolation, no network.

    python3 tools/build.py [FOLDER]

Needs setuptools and wheel. To publish: `twine upload dist/*`, by hand.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from setuptools import build_meta

PACKAGE = Path(__file__).parents[1]
LICENSE = PACKAGE.parents[1] / "LICENSE"


def main() -> None:
    """Builds both in a clean copy, so that nothing of an earlier build gets into them."""
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
