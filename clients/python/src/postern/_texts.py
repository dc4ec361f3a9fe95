"""The messages of errors: what happened, the first problem, and a possible cause. No message contains a query or the
key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from ._prepare import Prepared
    from ._settings import Settings
    from .types import Finding, Issue, Problem

MAX_ISSUE_LENGTH = 200


def of_gateway(
    text: str, details: Sequence[Problem], findings: Sequence[Finding], hint: str, known: Sequence[object]
) -> str:
    """`Invalid request: temperature: must be … (and 1 more) (400, invalid_request, req_…)`"""
    problems = [_joined(detail.field, ": ", detail.message) for detail in details if detail.message not in ("", text)]
    found = [_finding(finding) for finding in findings if finding.rule]
    named = problems or found
    # Under /v1, the message already contains the first one.
    said = "" if named and named[0] in text else first(named)
    return f"{text}{said}{hint}{in_parentheses(*known)}"


def of_other_server(prepared: Prepared, settings: Settings, status: int, headers: Mapping[str, str]) -> str:
    """`HTTP 502 from https://…/api/ai/complete`, with a question if the base URL looks wrong."""
    text = f"HTTP {status}{_from(prepared, settings, status == 404 or is_page(headers))}"
    return text + in_parentheses(headers.get("x-request-id"))


def of_page(prepared: Prepared, settings: Settings) -> str:
    """`The response is an HTML page from https://…/api/ai/complete`, for a success status."""
    return f"The response is an HTML page{_from(prepared, settings, True)}"


def is_page(headers: Mapping[str, str]) -> bool:
    """Whether a response is meant for people, such as a proxy's or a sign-in page."""
    return headers.get("content-type", "").startswith("text/html")


def _from(prepared: Prepared, settings: Settings, is_asking: bool) -> str:
    text = f" from {settings.base_url}{prepared.path}"
    for end in ("/api", "/dashboard"):
        if is_asking and urlsplit(settings.base_url).path.endswith(end):
            text += f": is the base URL the gateway's address, without {end}?"
    return text


def key_hint(path: str, key: str) -> str:
    """Which kind of key a call needs, if the client has the other kind."""
    if key.startswith("pk_") and path.startswith(("/api/ai/", "/api/governor/")):
        return "; this call needs a gateway key (sk_…)"
    if key.startswith("sk_") and path.startswith(("/api/violations", "/api/models-registry", "/api/compliance/")):
        return "; this call needs a project key (pk_…)"
    return ""


def of_connection(prepared: Prepared, settings: Settings, cause: Exception, is_shown: bool) -> str:
    """`POST /api/ai/chat: connection to http://127.0.0.1:8787 failed ([Errno 111] Connection refused)`"""
    at = f"{prepared.method} {prepared.path}: connection to {_origin(settings)} failed"
    return at + in_parentheses(_reason(cause) if is_shown else type(cause).__name__)


def of_timeout(prepared: Prepared, settings: Settings) -> str:
    """`POST /api/ai/chat: no response from http://127.0.0.1:8787 within 400 ms`"""
    return f"{prepared.method} {prepared.path}: no response from {_origin(settings)} within {prepared.timeout_ms} ms"


def of_issues(text: str, issues: Sequence[Issue]) -> str:
    """`The model's answer does not match the schema: address.0: Field required`"""
    return text + first([_issue(issue) for issue in issues])


def first(problems: Sequence[str]) -> str:
    """The first problem after a colon, and how many more there are."""
    if not problems:
        return ""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f": {problems[0]}{more}"


def in_parentheses(*known: object) -> str:
    """The known details, in parentheses."""
    texts = [str(part) for part in known if part]
    return f" ({', '.join(texts)})" if texts else ""


def _finding(finding: Finding) -> str:
    return _joined(finding.path, " contains ", finding.rule) + in_parentheses(finding.severity)


def _issue(issue: Issue) -> str:
    # Some validators append the whole value.
    lines = issue.message.strip().splitlines() or [""]
    text = lines[0] if len(lines[0]) <= MAX_ISSUE_LENGTH else lines[0][:MAX_ISSUE_LENGTH] + "…"
    return _joined(".".join(str(part) for part in issue.path), ": ", text)


def _joined(left: str, separator: str, right: str) -> str:
    return f"{left}{separator}{right}" if left and right else left or right


def _origin(settings: Settings) -> str:
    url = urlsplit(settings.base_url)
    return f"{url.scheme}://{url.netloc}"


def _reason(cause: Exception) -> str:
    """The system's message if there is one, because anyio hides it behind "All connection attempts failed"."""
    error: BaseException | None = cause
    for _ in range(10):
        if error is None or (isinstance(error, OSError) and error.errno is not None):
            break
        error = _behind(error)
    return str(error or cause).partition("\n")[0] or type(cause).__name__


def _behind(error: BaseException) -> BaseException | None:
    """The cause of an error. For a group, the first cause."""
    grouped = getattr(error, "exceptions", None)
    if isinstance(grouped, tuple) and grouped:
        return cast(Any, grouped)[0]
    return error.__cause__ or error.__context__
