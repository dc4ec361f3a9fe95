# pyright: basic, reportPrivateUsage=none
"""The reference generated from the docstrings: every public name has an entry with a description."""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from pathlib import Path

import pytest

import postern
from postern import types

from .scripted import ROOT

sys.path.insert(0, str(ROOT / "clients/python/tools"))

import reference  # pyright: ignore[reportMissingImports]
from docstrings import Undocumented, markdown  # pyright: ignore[reportMissingImports]


def entries(page: str) -> dict[str, str]:
    """The text of each entry, without its code."""
    found: dict[str, str] = {}
    for part in re.split(r"^#{3,5} (?!Types: )", page, flags=re.MULTILINE)[1:]:
        name, rest = re.split(r"\n##+ ", part)[0].split("\n", 1)
        assert re.match(r"\n```python\n\S", rest), name
        found[name.strip("`")] = re.sub(r"```.*?```", "", rest, count=1, flags=re.DOTALL).strip()
    return found


def test_every_public_name_has_an_entry_with_a_text() -> None:
    found = entries(reference.render(reference.PACKAGE))
    assert [name for name, text in found.items() if not text] == []
    classes = [name for name, value in vars(types).items() if getattr(value, "__module__", "") == types.__name__]
    wanted = {*postern.__all__, *(name for name in classes if not name.startswith("_"))} - {"types", "T"}
    assert len(wanted) > 70
    assert wanted - set(found) == set()
    for service in vars(postern.Postern).get("__annotations__", {}).values():
        module = next(m for n, m in sys.modules.items() if n.startswith("postern._sync.") and service in vars(m))
        members = inspect.getmembers(getattr(module, service), inspect.isfunction)
        assert {f"{service}.{name}" for name, _ in members if not name.startswith("_")} - set(found) == set()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("types.py", '    """Text as a part of a message."""\n', ""),
        ("_sync/models.py", '        """Gets a model\'s entry, with its approvals and history."""\n', ""),
        ("types.py", "# Reports\n", "# Others\n"),
        ("__init__.py", '    "types",\n', '    "types",\n    "Other",\n'),
    ],
)
def test_a_name_without_docstring_or_section_is_an_error(tmp_path: Path, file: str, old: str, new: str) -> None:
    copy = tmp_path / "postern"
    shutil.copytree(reference.PACKAGE, copy)
    text = (copy / file).read_text()
    assert text.count(old) == 1
    (copy / file).write_text(text.replace(old, new))
    with pytest.raises(Undocumented):
        reference.render(copy)


def test_sections_of_docstrings_are_lists() -> None:
    text = "Does it.\n\nArgs:\n    a: One\n        more.\n    b: Two."
    assert markdown(text) == "Does it.\n\nArguments:\n\n- `a`: One\n  more.\n- `b`: Two."
