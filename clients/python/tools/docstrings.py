"""Python sources and their docstrings as Markdown, for reference.py."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from pathlib import Path

WIDTH = 100


class Undocumented(Exception):
    """A public name has no docstring or no place on the page."""


class Source:
    """A source file: its top-level names, with the docstrings after assignments."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = path.read_text().splitlines()
        self.body = ast.parse("\n".join(self.lines)).body

    def node(self, name: str) -> ast.stmt:
        """The statement that defines a name."""
        return next(node for node in self.body if _name_of(node) == name)

    def names(self) -> list[str]:
        """The public names in order, without TypeVars."""
        found = [(_name_of(node), node) for node in self.body]
        return [name for name, node in found if name and not name.startswith("_") and not _is_type_var(node)]

    def classes(self) -> list[str]:
        """The names of the public classes, in order."""
        return [name for name in self.names() if isinstance(self.node(name), ast.ClassDef)]

    def part(self, title: str) -> list[str]:
        """The names after a comment line with this title. Names before the first such comment have the title ""."""
        return [name for name in self.names() if self._title(self.node(name)) == title]

    def _title(self, node: ast.stmt) -> str:
        before = self.lines[: node.lineno - 1]
        return next((line[2:] for line in reversed(before) if line.startswith("# ")), "")

    def text_after(self, node: ast.stmt) -> str:
        """The docstring after an assignment."""
        return _text_after(self.body, node)


def public_names(init: Path) -> set[str]:
    """The names in a package's `__all__`."""
    value = Source(init).node("__all__")
    assert isinstance(value, ast.Assign)
    return set(ast.literal_eval(value.value))


def render_value(name: str, node: ast.stmt, text: str, level: int) -> str:
    """The entry of a constant or an alias."""
    code = f"{name}: str" if name == "__version__" else ast.unparse(node).replace("'", '"')
    return _entry(level, name, code, text)


def render_class(node: ast.ClassDef, level: int) -> str:
    """The entries of a class and its methods. An asynchronous class has the entries of its synchronous counterpart."""
    bases = [ast.unparse(base) for base in [*node.bases, *node.keywords]]
    head = f"class {node.name}" + (f"({', '.join(bases)})" if bases else "")
    text = inspect.cleandoc(ast.get_docstring(node) or "")
    if node.name.startswith("Async"):
        twin = node.name.removeprefix("Async")
        note = f"It has the members of [{twin}](#{twin.lower()}). Its methods are awaited, its iterators asynchronous."
        code = _block(head, _constructor(node))
        return _entry(level, node.name, code, text and f"{text.split(chr(10) * 2)[0]}\n\n{note}")
    code = _block(head, [*_members(node), *_constructor(node)])
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and _is_method(item)]
    entries = [_entry(level + 1, f"{node.name}.{item.name}", signature(item), ast.get_docstring(item)) for item in methods]
    return _entry(level, node.name, code, text) + "".join(entries)


def _block(head: str, members: list[str]) -> str:
    return "\n    ".join([f"{head}:", *members]) if members else head


def _constructor(node: ast.ClassDef) -> list[str]:
    """The lines of the constructor, if programs call it, in which case its arguments are documented."""
    inits = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    return signature(inits[0]).splitlines() if inits and "Args:" in (ast.get_docstring(node) or "") else []


def _members(node: ast.ClassDef) -> list[str]:
    """The lines of the fields and the properties."""
    found: list[str] = []
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and ast.unparse(item.target) != "raw":
            default = "" if item.value is None or isinstance(item.value, ast.Call) else f" = {ast.unparse(item.value)}"
            found += _comment(_text_after(node.body, item))
            found.append(_double(f"{ast.unparse(item.target)}: {ast.unparse(item.annotation)}{default}"))
        elif isinstance(item, ast.FunctionDef) and _is_property(item) and item.name != "with_response":
            assert item.returns is not None
            found += _comment(ast.get_docstring(item) or "")
            found.append(_double(f"{item.name}: {ast.unparse(item.returns)}"))
    return found


def render_function(node: ast.FunctionDef, level: int) -> str:
    """The entry of a function."""
    return _entry(level, node.name, signature(node), ast.get_docstring(node))


def signature(node: ast.FunctionDef) -> str:
    """A function's signature without `self`, on one line if it fits."""
    args = node.args
    assert not (args.vararg or args.kwarg), f"{node.name}: each parameter must be named"
    defaults = [None] * (len(args.args) - len(args.defaults)) + args.defaults
    first = [_parameter(arg, default) for arg, default in zip(args.args, defaults) if arg.arg != "self"]
    named = [_parameter(arg, value) for arg, value in zip(args.kwonlyargs, args.kw_defaults)]
    parts = [*first, *(["*"] if named else []), *named]
    returns = "" if node.returns is None or node.name == "__init__" else f" -> {ast.unparse(node.returns)}"
    line = _double(f"def {node.name}({', '.join(parts)}){returns}")
    if len(line) <= WIDTH:
        return line
    return _double("\n".join([f"def {node.name}(", *(f"    {part}," for part in parts), f"){returns}"]))


def _parameter(arg: ast.arg, default: ast.expr | None = None) -> str:
    annotation = "" if arg.annotation is None else f": {ast.unparse(arg.annotation)}"
    return f"{arg.arg}{annotation}" + ("" if default is None else f" = {ast.unparse(default)}")


def _entry(level: int, name: str, code: str, text: str | None) -> str:
    if not text:
        raise Undocumented(f"{name} has no docstring")
    heading = f"`{name}`" if name.startswith("_") else name
    return f"\n{'#' * level} {heading}\n\n```python\n{code}\n```\n\n{markdown(text)}\n"


def markdown(text: str) -> str:
    """A docstring with its sections (`Args:`, `Raises:`) as lists."""
    out: list[str] = []
    in_list = False
    for line in inspect.cleandoc(text).splitlines():
        item = re.match(r"    (\w+): (.*)", line)
        if line in ("Args:", "Raises:"):
            in_list = True
            out += [line.replace("Args", "Arguments"), ""]
        elif in_list and item:
            out.append(f"- `{item[1]}`: {item[2]}")
        else:
            out.append(f"  {line.strip()}" if in_list and line else line)
    return "\n".join(out)


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in inspect.cleandoc(text).splitlines()] if text else []


def _double(code: str) -> str:
    return code.replace("'", '"')


def _text_after(body: Sequence[ast.stmt], node: ast.stmt) -> str:
    following = body[body.index(node) + 1 :]
    match following:
        case [ast.Expr(value=ast.Constant(value=str(text))), *_]:
            return text
        case _:
            return ""


def _name_of(node: ast.stmt) -> str | None:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def _is_type_var(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("TypeVar(")


def _is_property(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(item) == "property" for item in node.decorator_list)


def _is_method(node: ast.FunctionDef) -> bool:
    """Whether programs call it. They do not call the @overload forms, or anything that takes a transport."""
    internal = any(arg.annotation and ast.unparse(arg.annotation) == "Transport" for arg in node.args.args)
    decorated = {ast.unparse(item) for item in node.decorator_list} & {"overload", "property"}
    return not (node.name.startswith("_") or internal or decorated)
