"""The errors of this library. All are subclasses of PosternError. No message contains the key, a header that was
sent, or a prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from .types import Attempts, Completion, Finding, Issue, Problem


class PosternError(Exception):
    """The base of all errors of this library."""

    message: str
    """What happened, in one sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, unpickling an exception calls the constructor without its keyword arguments. This would crash
        # the workers of a process pool.
        return _restored, (type(self), self.args, self.__dict__)

    def to_dict(self) -> dict[str, Any]:
        """The error as JSON values for logs, without headers, prompts or model output."""
        shown = {name: value for name, value in vars(self).items() if name not in _HIDDEN and not name.startswith("_")}
        return {"name": type(self).__name__, **{name: _plain(value) for name, value in shown.items()}}


def _restored(cls: type[PosternError], args: tuple[object, ...], members: dict[str, Any]) -> PosternError:
    """Restores an error from its pickled parts."""
    error = cls.__new__(cls, *args)
    error.__dict__.update(members)
    return error


class ConfigurationError(PosternError):
    """An option of the client or of a call is missing or invalid. Nothing was sent."""


class APIConnectionError(PosternError):
    """There was no usable response. `__cause__` is the httpx error."""


class APITimeoutError(APIConnectionError):
    """An attempt took longer than `timeout_ms`."""


class APIAbortedError(PosternError):
    """The program closed the stream while another thread or task was reading it."""


class InvalidResponseError(PosternError):
    """The response is not what the API promises, such as HTML instead of JSON, or it is larger than 64 MiB."""

    status: int
    """The HTTP status."""
    request_id: str | None
    """The request ID, as in the gateway's log; None if the response has none."""

    def __init__(self, message: str, *, status: int, request_id: str | None) -> None:
        super().__init__(message)
        self.status = status
        self.request_id = request_id


class OutputValidationError(PosternError):
    """The model's output is not JSON, or `schema` rejected it. The completion was charged and is in `completion`."""

    issues: Sequence[Issue]
    """The problems with the output, and where they are."""
    text: str
    """The completion."""
    completion: Completion

    def __init__(self, message: str, *, issues: Sequence[Issue], completion: Completion) -> None:
        super().__init__(message)
        self.issues = issues
        self.text = completion.text
        self.completion = completion


class WebhookVerificationError(PosternError):
    """A webhook was not sent by the gateway, or its time is outside the tolerance.

    `code` is `missing_header`, `invalid_timestamp`, `timestamp_out_of_tolerance`, `invalid_signature` or `invalid_payload`.
    """

    code: str

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


class StreamError(PosternError):
    """A stream failed after its response headers. Streams are not retried.

    `code` is the server's, or one of this library's: `incomplete_stream`, `connection_lost`, `idle_timeout`,
    `invalid_event` or `event_too_large`.
    """

    code: str
    request_id: str | None
    findings: Sequence[Finding]
    """The Governor's findings, for the code `blocked_by_policy`."""
    text: str
    """The text that arrived before the failure."""

    def __init__(
        self, message: str, *, code: str, request_id: str | None, findings: Sequence[Finding] = (), text: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.request_id = request_id
        self.findings = findings
        self.text = text


@dataclass(frozen=True)
class ExceededBudget:
    """The budget that refused a request."""

    level: Literal["key", "project", "group", "deployment"]
    """Whose budget it is. `deployment`: that of the whole gateway."""
    id: str
    """ID of the key, the project or the group; `root` for the deployment."""
    unit: Literal["dollars", "requests", "tokens"]
    period: Literal["day", "week", "month", "total"]
    """`total`: prepaid. The budget does not reset."""
    name: str | None = None
    """Name of the group or the deployment; None if it is hidden, and for keys and projects."""
    resets_at: str | None = None
    """When the budget resets, as an ISO date; None if it does not reset."""


class APIError(PosternError):
    """The gateway responded with an error. Each common status has a subclass. `code` is more specific than the
    status.
    """

    text: str
    """The gateway's own text. `message` adds the first problem and the response's identifying details."""
    status: int
    """The HTTP status."""
    code: str | None
    """The gateway's code, such as `budget_exceeded`; None if the response is not from the gateway."""
    request_id: str | None
    details: Sequence[Problem]
    """Problems found in the request, alternatives, or settings to change."""
    findings: Sequence[Finding]
    """The Governor's findings, for the code `blocked_by_policy`."""
    attempts: Attempts | None
    """The gateway's requests to providers, if it sent any."""
    resets_at: str | None
    """When the exceeded limit or budget resets, as an ISO date; None for other errors."""
    budget: ExceededBudget | None
    """The budget, or the limit per budget period, that refused the request. Of several, it is the one that resets last.
    None for other errors.
    """
    headers: Mapping[str, str]
    """The response's headers, with lowercase names."""

    def __init__(
        self,
        message: str,
        *,
        text: str,
        status: int,
        code: str | None = None,
        request_id: str | None = None,
        details: Sequence[Problem] = (),
        findings: Sequence[Finding] = (),
        attempts: Attempts | None = None,
        resets_at: str | None = None,
        budget: ExceededBudget | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.text = text
        self.status = status
        self.code = code
        self.request_id = request_id
        self.details = details
        self.findings = findings
        self.attempts = attempts
        self.resets_at = resets_at
        self.budget = budget
        self.headers = headers or {}


class BadRequestError(APIError):
    """400: the request is invalid. `details` lists its problems."""


class AuthenticationError(APIError):
    """401: the key is unknown, inactive or expired."""


class BudgetExceededError(APIError):
    """402: a budget of the key, its project, a group or the deployment cannot cover the request. Nothing was sent to a
    provider.
    """


class PermissionDeniedError(APIError):
    """403: the key lacks a permission, or may not use the model."""


class NotFoundError(APIError):
    """404: the object, the model or the tier does not exist."""


class ConflictError(APIError):
    """409: the version is out of date, or a request with the same idempotency key is in progress or lost."""


class RequestTooLargeError(APIError):
    """413: the request's body is too large."""


class UnprocessableEntityError(APIError):
    """422: the idempotency key was used with another body, or the Governor blocked the request."""


class BlockedByPolicyError(UnprocessableEntityError):
    """422 with the code `blocked_by_policy`: the project's Governor blocked the request or the response."""


class RateLimitError(APIError):
    """429: one of the key's limits is exhausted."""

    @property
    def retry_after_ms(self) -> float | None:
        """The pause that the gateway asks for, in milliseconds; None if it asks for none."""
        from ._retry import asked_pause_ms  # not at the top, because that module imports this one

        return asked_pause_ms(self.headers, None)


class InternalServerError(APIError):
    """500 or more: the gateway or all providers of the route failed."""


_HIDDEN = ("headers", "text", "completion", "raw")


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        members = {item.name: getattr(value, item.name) for item in fields(value)}
        return {name: _plain(member) for name, member in members.items() if name not in _HIDDEN}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast(Sequence[object], value)]
    return value


_BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: BudgetExceededError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    413: RequestTooLargeError,
    422: UnprocessableEntityError,
    429: RateLimitError,
}


def error_class(status: int) -> type[APIError]:
    """The error class for a status."""
    if status >= 500:
        return InternalServerError
    return _BY_STATUS.get(status, APIError)
