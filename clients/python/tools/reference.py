"""Writes docs/clients/reference/python.md from the docstrings.

Reads the sources without importing them, so it needs only Python. A public name without a docstring or a section is
an error.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from docstrings import Source, Undocumented, public_names, render_class, render_function, render_value

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "clients/python/src/postern"
PAGE = "docs/clients/reference/python.md"

INTRO = """# Reference of the Python client

<!-- Made from the docstrings in clients/python by `make generate`. Change those. -->

[The guide](../python.md) shows how to use the client; [behavior.md](../behavior.md) explains retries, timeouts and logs.
Names under "Types" are imported from `postern.types`, all others from `postern`; the classes of `client.ai` and other
services are not imported. Each service has a property `with_response` with the same methods, whose results are a
[WithResponse](#withresponse).

Results are frozen dataclasses. Their `raw` is the JSON object as it arrived, with the members that this version of the
library does not know. Times are texts in RFC 3339, in UTC.
"""

# The page's sections in order. Each has a title, names by module, and parts of types.py. If no name is listed, all
# classes count. A part of types.py is named by the comment before it.
SECTIONS: list[tuple[str, dict[str, list[str]], list[str]]] = [
    (
        "Client and options",
        {"_sync/client": ["Postern"], "_async/client": ["AsyncPostern"], "_calls": ["NOT_GIVEN", "NotGiven"]},
        ["", "What methods take"],
    ),
    ("Any endpoint", {"_sync/endpoints": ["Endpoints"]}, []),
    (
        "Keys from a function and hooks",
        {
            "_hooks": [
                *("KeyFunction", "AsyncKeyFunction", "OutgoingRequest", "RequestHook", "AsyncRequestHook"),
                *("IncomingResponse", "ResponseHook", "AsyncResponseHook"),
            ]
        },
        [],
    ),
    (
        "Completions",
        {
            "_sync/ai": ["AI"],
            "_sync/stream": ["ChatStream", "ParsedChatStream"],
            "_async/stream": ["AsyncChatStream", "AsyncParsedChatStream"],
            "_pending": ["PendingChat"],
        },
        ["Completions"],
    ),
    ("Governor", {"_sync/reports": ["GovernorAPI"]}, ["Governor"]),
    ("Usage and health", {"_sync/reports": ["UsageAPI", "HealthAPI"]}, ["Reports"]),
    ("Violations", {"_sync/violations": ["Violations"]}, ["Violations"]),
    ("Models", {"_sync/models": ["Models"]}, ["Model registry"]),
    ("Compliance", {"_sync/compliance": ["Compliance"]}, ["Compliance"]),
    (
        "Lists",
        {"_sync/pages": ["Page", "Export"], "_async/pages": ["AsyncPage", "AsyncExport"], "_pending": ["PendingPage"]},
        [],
    ),
    (
        "Webhooks",
        {
            "_webhooks": ["verify_webhook"],
            "_events": [
                *("WebhookEvent", "BudgetThresholdEvent", "BudgetThreshold", "BudgetNode", "BudgetPeriod", "ViolationCreatedEvent"),
                *("ViolationCreated", "CheckpointEvent", "Checkpoint", "OtherEvent"),
            ],
        },
        [],
    ),
    ("Metadata of responses", {}, ["The headers of a response"]),
    ("Errors", {"_errors": []}, ["Errors"]),
    ("Version", {"_version": ["__version__"]}, []),
]


def render(package: Path) -> str:
    """The page."""
    types = Source(package / "types.py")
    body = ""
    shown: set[str] = {"types"}
    for title, modules, parts in SECTIONS:
        body += f"\n## {title}\n"
        for module, names in modules.items():
            source = Source(package / f"{module}.py")
            for name in names or source.classes():
                body += entry(source, name)
                shown.add(name)
        grouped = [name for part in parts for name in types.part(part)]
        if grouped:
            body += f"\n### Types: {title.lower()}\n" + "".join(entry(types, name) for name in grouped)
            shown.update(grouped)
    missing = (public_names(package / "__init__.py") | set(types.names())) - shown
    if missing:
        raise Undocumented(f"{', '.join(sorted(missing))}: in no section of clients/python/tools/reference.py")
    links = " · ".join(f"[{title}](#{title.lower().replace(' ', '-')})" for title, _, _ in SECTIONS)
    return f"{INTRO}\n{links}\n{body}"


def entry(source: Source, name: str) -> str:
    """The entry of a name."""
    level = 4 if source.path.name == "types.py" else 3
    node = source.node(name)
    if isinstance(node, ast.ClassDef):
        return render_class(node, level)
    if isinstance(node, ast.FunctionDef):
        return render_function(node, level)
    return render_value(name, node, source.text_after(node), level)


def main() -> int:
    """Writes the page."""
    try:
        page = render(PACKAGE)
    except Undocumented as error:
        print(f"reference: {error}", file=sys.stderr)
        return 1
    (ROOT / PAGE).write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
