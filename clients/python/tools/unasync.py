"""Generates the synchronous client (`_sync`) from the asynchronous one (`_async`)."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "postern" / "_async"
NOTE = "# Made from _async/{} by tools/unasync.py. Change that file.\n"

# In this order. A pattern is a regular expression.
RULES = [
    (r"^from \.\._pending import .*\n", ""),
    (r"import AsyncIterator, Awaitable, Callable", "import Callable, Iterator"),
    (r"import AsyncIterator, Sequence", "import Iterator, Sequence"),
    (r"AsyncIterator", "Iterator"),
    (r"import Awaitable, Callable", "import Callable"),
    (r"Awaitable\[((?:[^\[\]]|\[[^\[\]]*\])*)\]", r"\1"),
    (r"PendingPage\[(\w+)\]", r"Page[\1]"),
    (r"^from \.pages import first_page$", "from .pages import Page, first_page"),
    (r"PendingChat\[((?:[^\[\]]|\[[^\[\]]*\])*)\]", r"\1"),
    (r"return Pending(?:Page|Chat)\((.*)\)$", r"return \1"),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b(drain|called)_async\b", r"\1"),
    (r"\bimport asyncio\n", ""),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"__aiter__", "__iter__"),
    (r"\baclose\b", "close"),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\ban httpx\.AsyncClient\b", "an httpx.Client"),
    (r"\bAsync([A-Z]\w*)", r"\1"),
]


def synchronous(text: str, name: str) -> str:
    """The synchronous form of a source file."""
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return NOTE.format(name) + text


def main() -> None:
    """Writes all files, and removes those without a source."""
    target = SOURCE.parent / "_sync"
    for old in target.glob("*.py"):
        if not (SOURCE / old.name).exists():
            old.unlink()
    for source in sorted(SOURCE.glob("*.py")):
        (target / source.name).write_text(synchronous(source.read_text(), source.name))


if __name__ == "__main__":
    main()
