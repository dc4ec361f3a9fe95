"""The endpoints: the request of each, and how its response is read. This module does no I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from typing import Any, Final, Generic, TypeVar, cast
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ._decode import Mismatch, camel, decode
from ._errors import ConfigurationError, InvalidResponseError, OutputValidationError
from ._meta import parse_meta
from ._texts import of_issues
from .types import (
    AvailableModel,
    BatchValidation,
    Completion,
    ComplianceSummary,
    Embedding,
    ExportLine,
    GovernorOptions,
    Health,
    Issue,
    Meta,
    ParsedCompletion,
    Raw,
    RegistryEntry,
    TokenCount,
    ToolCall,
    UsageReport,
    Validation,
    Violation,
)

T = TypeVar("T")
U = TypeVar("U")


class NotGiven(Enum):
    """The type of NOT_GIVEN."""

    NOT_GIVEN = "NOT_GIVEN"

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = NotGiven.NOT_GIVEN
"""The default for arguments for which None means null. It leaves the value unchanged."""


@dataclass(frozen=True)
class Reply:
    """A successful response. The body is None if it is a stream that has not been read yet."""

    status: int
    headers: Mapping[str, str]
    body: bytes | None
    attempts: int

    @property
    def meta(self) -> Meta:
        """The gateway's metadata from the headers."""
        return parse_meta(self.headers)

    @property
    def media_type(self) -> str:
        """The content type without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def invalid(self, message: str) -> InvalidResponseError:
        """The error for a response that is not what the API promises."""
        return InvalidResponseError(message, status=self.status, request_id=self.headers.get("x-request-id"))


@dataclass(frozen=True)
class CallOptions:
    """Options for one call. None means the client's setting."""

    timeout_ms: int | None = None
    retries: int | None = None
    idempotency: bool | str | None = None
    headers: Mapping[str, str] | None = None
    governor: GovernorOptions | None = None
    query: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request to an endpoint, and how its response is read."""

    method: str
    path: str
    """The path after the base URL, percent-encoded."""
    read: Callable[[Reply], T]
    options: CallOptions = field(default=CallOptions(), repr=False)
    query: Mapping[str, str] = field(default_factory=lambda: {}, repr=False)
    body: object = field(default=None, repr=False)
    """The JSON of the body; None if there is no body."""
    headers: Mapping[str, str] = field(default_factory=lambda: {})
    is_ai: bool = False
    """Whether the endpoint accepts an idempotency key."""
    is_governed: bool = False
    is_repeatable: bool = True
    """Whether the request may be sent again if the effect of the first one is unknown."""
    is_stream: bool = False


@dataclass(frozen=True)
class PageData(Generic[T]):
    """A page, and the query of the next one."""

    items: Sequence[T]
    next: str | None
    raw: Raw
    next_query: Mapping[str, str] | None
    fault: InvalidResponseError | None = None
    """The error, if the page is malformed after its items or the next page cannot be found."""


# Completions


def complete(params: Mapping[str, object], options: CallOptions) -> Call[Any]:
    """POST /api/ai/complete. With a schema, the result is a ParsedCompletion."""
    check = schema_check(params)

    def read(reply: Reply) -> Completion:
        completion = read_completion(reply)
        return completion if check is None else parsed(completion, check)

    return chat_call("/api/ai/complete", params, options, read)


def schema_check(params: Mapping[str, object]) -> Callable[[Any], Any] | None:
    """The function that turns JSON into data: the validator of a pydantic 2 or 1 model, or the schema itself; None
    without a schema.
    """
    schema = params.get("schema")
    if schema is None:
        return None
    for name in ("model_validate", "parse_obj"):
        check = getattr(schema, name, None)
        if callable(check):
            return check
    if not callable(schema):
        raise ConfigurationError("schema must be a pydantic model or a function.")
    return schema


def _with_schema(params: Mapping[str, object]) -> Mapping[str, object]:
    """The parameters that request JSON if there is a schema. They include the JSON Schema if the schema is a model."""
    check = schema_check(params)
    if check is None:
        return params
    model = getattr(check, "__self__", None)
    is_legacy = callable(getattr(model, "parse_obj", None))
    describe = getattr(model, "model_json_schema", None) or (is_legacy and getattr(model, "schema", None))
    sent: dict[str, object] = {"response_schema": describe()} if callable(describe) else {}
    return {**sent, **params, "mode": "json"}


def count_tokens(params: Mapping[str, object], options: CallOptions) -> Call[TokenCount]:
    """POST /api/ai/count-tokens."""

    def read(reply: Reply) -> TokenCount:
        return replace(decoded(TokenCount, reply, require=("promptTokens",)), meta=reply.meta)

    # Counting tokens stores nothing, so it does not need an idempotency key.
    return replace(chat_call("/api/ai/count-tokens", params, options, read), is_ai=False)


def chat_call(path: str, params: Mapping[str, object], options: CallOptions, read: Callable[[Reply], T]) -> Call[T]:
    """A call to a chat model."""
    if params.get("model") is not None and params.get("quality") is not None:
        raise ConfigurationError("model and quality exclude each other: give one of them.")
    body: dict[str, object] = dict(_with_schema(params))
    messages = body.get("messages")
    if isinstance(messages, Sequence) and not isinstance(messages, str):
        body["messages"] = [_message(message) for message in cast(Sequence[Any], messages)]
    return replace(ai_call(path, body, options, read), is_ai=True)


def _message(message: Any) -> Any:
    """A message whose tool calls may come from a result."""
    if not isinstance(message, Mapping):
        return message
    members = cast(Mapping[str, Any], message)
    calls = members.get("toolCalls")
    if not isinstance(calls, Sequence):
        return members
    wire = [asdict(call) if isinstance(call, ToolCall) else call for call in cast(Sequence[Any], calls)]
    return {**members, "toolCalls": wire}


def embed(params: Mapping[str, object], options: CallOptions) -> Call[Embedding]:
    """POST /api/ai/embed."""

    def read(reply: Reply) -> Embedding:
        return replace(decoded(Embedding, reply, require=("embeddings", "usage")), meta=reply.meta)

    return ai_call("/api/ai/embed", params, options, read)


def ai_call(path: str, params: Mapping[str, object], options: CallOptions, read: Callable[[Reply], T]) -> Call[T]:
    """A call to a model."""
    extra: Any = params.get("extra_body") or {}
    if not isinstance(extra, Mapping):
        raise ConfigurationError("extra_body must be a dict.")
    body = {**_body(params, without=("cache_control", "strict", "extra_body", "schema")), **cast(Mapping[str, object], extra)}
    headers: dict[str, str] = {}
    if params.get("cache_control") is not None:
        headers["cache-control"] = str(params["cache_control"])
    if params.get("strict"):
        headers["x-postern-strict"] = "true"
    return Call("POST", path, read, options, body=body, headers=headers, is_governed=True)


def read_completion(reply: Reply) -> Completion:
    """A non-streaming completion."""
    made = decoded(Completion, reply, require=("text", "usage"))
    return replace(made, meta=reply.meta)


def parsed(completion: Completion, schema: Callable[[Any], T]) -> ParsedCompletion[T]:
    """Parses and validates a model's output. Tool calls without text have no data, and the gateway does not validate
    them either.
    """
    has_data = bool(completion.text or not completion.tool_calls)
    data: Any = _data(completion, schema) if has_data else None
    known = {item.name: getattr(completion, item.name) for item in fields(completion)}
    return ParsedCompletion(**known, data=data)


def _data(completion: Completion, schema: Callable[[Any], T]) -> T:
    try:
        value = json.loads(completion.text)
    except (ValueError, RecursionError) as error:
        raise _rejected(completion, "The model's answer is not JSON", error) from error
    try:
        return schema(value)
    except Exception as error:
        raise _rejected(completion, "The model's answer does not match the schema", error) from error


def _rejected(completion: Completion, message: str, error: Exception) -> OutputValidationError:
    issues = _issues(error)
    return OutputValidationError(of_issues(message, issues), issues=issues, completion=completion)


def _issues(error: Exception) -> Sequence[Issue]:
    """The problems that a validator reports: those in pydantic's `errors()`, or the error's own message."""
    listed = getattr(error, "errors", None)
    try:
        problems: Any = listed() if callable(listed) else ()
        issues = tuple(Issue(str(item["msg"]), tuple(item["loc"])) for item in problems)
    except Exception:  # a validator whose `errors` is something else
        issues = ()
    # The message of a KeyError is only the key.
    text = repr(error) if isinstance(error, LookupError) else str(error) or type(error).__name__
    return issues or (Issue(text),)


# Any endpoint


def get(path: str, options: CallOptions) -> Call[Any]:
    """GET to any endpoint."""
    return Call("GET", _path(path), _any_json, options)


def post(path: str, body: object, options: CallOptions) -> Call[Any]:
    """POST to any endpoint. Only the call's own idempotency key makes it safe to repeat."""
    return Call(
        "POST",
        _path(path),
        _any_json,
        options,
        body=body,
        is_ai=options.idempotency is not None,
        is_governed=True,
        is_repeatable=bool(options.idempotency),
    )


def _any_json(reply: Reply) -> Any:
    value = None if reply.status == 204 else parse_json(reply.body or b"")
    if value is NOT_GIVEN:
        raise reply.invalid("The response is not JSON.")
    return value


def _path(path: object) -> str:
    """A path as it is sent. It consists of RFC 3986 characters and contains nothing that clients or servers resolve."""
    if not isinstance(path, str) or not path.startswith("/") or path.startswith("//"):
        raise ConfigurationError("The path must start with one slash, such as /v1/models.")
    if re.search(r"[?#]", path):
        raise ConfigurationError("The path must have no query: use the option query.")
    if not re.fullmatch(r"(?:[A-Za-z0-9/._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+", path):
        raise ConfigurationError("The path has a character that must be percent-encoded.")
    if any(part in (".", "..") for part in re.split(r"[/\\]", unquote(path))):
        raise ConfigurationError("The path must have no segment . or ..")
    return path


# Reports and Governor


def health(options: CallOptions) -> Call[Health]:
    """GET /api/health."""
    return Call("GET", "/api/health", _reads(Health), options)


def usage(params: Mapping[str, object], options: CallOptions) -> Call[UsageReport]:
    """GET /api/usage."""
    return Call("GET", "/api/usage", _reads(UsageReport), options, query=_query(params))


def validate(params: Mapping[str, object], options: CallOptions) -> Call[Validation | BatchValidation]:
    """POST /api/governor/validate."""

    def read(reply: Reply) -> Validation | BatchValidation:
        cls = BatchValidation if "results" in json_object(reply) else Validation
        return decoded(cls, reply)

    return Call("POST", "/api/governor/validate", read, options, body=_body(params), is_governed=True)


# Violations and the model registry


def list_violations(params: Mapping[str, object], options: CallOptions) -> Call[PageData[Violation]]:
    """GET /api/violations."""
    return _list("/api/violations", "violations", Violation, params, options)


def get_violation(violation_id: str, options: CallOptions) -> Call[Violation]:
    """GET /api/violations/{id}."""
    return Call("GET", _id_path("/api/violations/{}", violation_id), _reads(Violation), options)


def update_violation(violation_id: str, params: Mapping[str, object], options: CallOptions) -> Call[Violation]:
    """PATCH /api/violations/{id}."""
    return _change("PATCH", _id_path("/api/violations/{}", violation_id), Violation, params, options)


def list_models(params: Mapping[str, object], options: CallOptions) -> Call[PageData[RegistryEntry]]:
    """GET /api/models-registry."""
    return _list("/api/models-registry", "models", RegistryEntry, params, options)


def get_model(entry_id: str, options: CallOptions) -> Call[RegistryEntry]:
    """GET /api/models-registry/{id}."""
    return Call("GET", _id_path("/api/models-registry/{}", entry_id), _reads(RegistryEntry), options)


def available_models(options: CallOptions) -> Call[list[AvailableModel]]:
    """GET /v1/models."""

    def read(reply: Reply) -> list[AvailableModel]:
        items = json_object(reply).get("data")
        if not isinstance(items, list):
            raise reply.invalid("The response is not a list of models.")
        models = [_decoded(AvailableModel, item, reply) for item in cast(list[object], items)]
        if not all(model.id for model in models):
            raise reply.invalid("The response has a model without a name.")
        return models

    return Call("GET", "/v1/models", read, options)


def create_model(params: Mapping[str, object], options: CallOptions) -> Call[RegistryEntry]:
    """POST /api/models-registry."""
    return _change("POST", "/api/models-registry", RegistryEntry, params, options)


def update_model(entry_id: str, params: Mapping[str, object], options: CallOptions) -> Call[RegistryEntry]:
    """PATCH /api/models-registry/{id}."""
    return _change("PATCH", _id_path("/api/models-registry/{}", entry_id), RegistryEntry, params, options)


def transition_model(entry_id: str, params: Mapping[str, object], options: CallOptions) -> Call[RegistryEntry]:
    """POST /api/models-registry/{id}/transitions."""
    path = _id_path("/api/models-registry/{}/transitions", entry_id)
    return _change("POST", path, RegistryEntry, params, options)


def _change(method: str, path: str, cls: type[T], params: Mapping[str, object], options: CallOptions) -> Call[T]:
    return Call(method, path, _reads(cls), options, body=_body(params), is_repeatable=False)


def _reads(cls: type[T]) -> Callable[[Reply], T]:
    return lambda reply: decoded(cls, reply)


def _list(
    path: str, member: str, cls: type[T], params: Mapping[str, object], options: CallOptions
) -> Call[PageData[T]]:
    query = _query(params)

    def read(reply: Reply) -> PageData[T]:
        raw = json_object(reply)
        items, after = raw.get(member), raw.get("next")
        if not isinstance(items, list) or not (after is None or isinstance(after, str)):
            raise reply.invalid(f"The response is not a page of {member}.")
        made = tuple(_decoded(cls, item, reply) for item in cast(list[object], items))
        return PageData(made, after, raw, {**query, "after": after} if after else None)

    return Call("GET", path, read, options, query=query)


# Compliance

_EXPORT = "/api/compliance/export"


def export(params: Mapping[str, object], base_url: str, options: CallOptions) -> Call[PageData[ExportLine]]:
    """GET /api/compliance/export, as NDJSON."""

    def read(reply: Reply) -> PageData[ExportLine]:
        lines: list[ExportLine] = []
        following, fault = None, None
        try:
            _lines(reply, lines)
            following = _next_query(reply, base_url)
        except InvalidResponseError as error:
            fault = error
        raw: Raw = lines[0].data if lines and lines[0].is_header else {}
        return PageData(lines, (following or {}).get("after"), raw, following, fault)

    headers = {"accept": "application/x-ndjson"}
    return Call("GET", _EXPORT, read, options, query=_query(params), headers=headers)


def bom(options: CallOptions) -> Call[Raw]:
    """GET /api/compliance/export for the inventory, as CycloneDX."""
    query = {"type": "inventory", "format": "cyclonedx"}
    headers = {"accept": "application/vnd.cyclonedx+json"}
    return Call("GET", _EXPORT, json_object, options, query=query, headers=headers)


def summary(options: CallOptions) -> Call[ComplianceSummary]:
    """GET /api/compliance/summary."""
    return Call("GET", "/api/compliance/summary", _reads(ComplianceSummary), options)


def _lines(reply: Reply, found: list[ExportLine]) -> None:
    """Adds the lines of a page to `found`."""
    for line in (reply.body or b"").split(b"\n"):
        if not line.strip():
            continue
        value = parse_json(line)
        if not isinstance(value, dict):
            raise reply.invalid("A line of the response is not a JSON object.")
        found.append(ExportLine(line.decode(), cast(Raw, value)))


def _next_query(reply: Reply, base_url: str) -> Mapping[str, str] | None:
    """The query of the next page. Only the query of the link is used, so the key is sent only to the gateway."""
    found = re.search(r'<([^>]*)>\s*;\s*rel="?next"?', reply.headers.get("link", ""))
    if not found:
        return None
    base, link = urlsplit(base_url), urlsplit(found[1])
    other_origin = (link.scheme or link.netloc) and (link.scheme, link.netloc) != (base.scheme, base.netloc)
    if other_origin or link.path not in (_EXPORT, base.path + _EXPORT):
        raise reply.invalid("The link to the next page leads elsewhere.")
    return dict(parse_qsl(link.query, keep_blank_values=True))


# Shared


def decoded(cls: type[T], reply: Reply, require: Sequence[str] = ()) -> T:
    """The body as an instance of a class. Required fields must be present."""
    value = json_object(reply)
    for name in require:
        if value.get(name) is None:
            raise reply.invalid(f"The response is not as described: {name} is missing.")
    return _decoded(cls, value, reply)


def _decoded(cls: type[T], value: object, reply: Reply) -> T:
    try:
        return decode(cls, value)
    except Mismatch as mismatch:
        raise reply.invalid(f"The response is not as described: {mismatch}.") from None


def json_object(reply: Reply) -> Raw:
    """The body as a JSON object."""
    value = parse_json(reply.body or b"")
    if not isinstance(value, dict):
        raise reply.invalid("The response is not a JSON object.")
    return cast(Raw, value)


def parse_json(body: bytes) -> object:
    """The JSON value, or NOT_GIVEN if the bytes are not JSON."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return NOT_GIVEN


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _id_path(template: str, value: object) -> str:
    # Clients and servers resolve the segments "." and "..", even if they are encoded.
    if not isinstance(value, str) or value in ("", ".", ".."):
        raise ConfigurationError("An ID must be a text that is not empty, and not . or ..")
    try:
        return template.format(quote(value, safe=""))
    except UnicodeEncodeError:  # half of a character
        pass
    raise ConfigurationError("An ID must be a text of whole characters.")


def _body(params: Mapping[str, object], without: tuple[str, ...] = ()) -> dict[str, object]:
    return {camel(name): value for name, value in params.items() if _is_given(value) and name not in without}


def _is_given(value: object) -> bool:
    return value is not NOT_GIVEN


def _query(params: Mapping[str, object]) -> dict[str, str]:
    return {camel(name.rstrip("_")): str(value) for name, value in params.items() if value is not None}


def taken(arguments: Mapping[str, Any], nullable: bool = False) -> tuple[Mapping[str, object], CallOptions]:
    """The parameters and the options of a method, from its `locals()`, so that none can be forgotten.

    Parameters that are None are left out, unless None means null.
    """
    names = [item.name for item in fields(CallOptions)]
    options = CallOptions(**{name: arguments[name] for name in names if name in arguments})
    params = {name: arguments[name] for name in arguments if name not in (*names, "self")}
    return params if nullable else given(**params), options


def given(**params: object) -> Mapping[str, object]:
    """The arguments that are not None."""
    return {name: value for name, value in params.items() if value is not None}
