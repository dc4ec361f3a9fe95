"""The types of this library: arguments (`…Param`, `…Options`) and results of methods.

Results are frozen dataclasses. Their `raw` is the JSON object as it arrived, including fields that this version of
the library does not know. Times are RFC 3339 strings in UTC.
"""

from __future__ import annotations

import logging as std_logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypedDict, TypeVar, Union

T = TypeVar("T")
_M = TypeVar("_M")

Raw = Mapping[str, Any]
"""A JSON object as it arrived."""

Environment = Literal["production", "development"]
"""The environment that an API key belongs to."""
LogLevel = Literal["debug", "info", "warn", "error", "off"]
"""The least severe level that is logged. `off` turns the log off."""
Quality = Literal["cheap", "balanced", "frontier"]
"""The tier that serves a request."""
Severity = Literal["low", "medium", "high", "critical"]
"""How severe a rule's findings are."""
Decision = Literal["approve", "review", "block"]
"""The Governor's decision about a text."""
Period = Literal["day", "week", "month"]
"""The current day, week or month, in UTC."""
ViolationState = Literal["open", "acknowledged", "resolved", "false_positive"]
"""The state of a violation. `resolved` and `false_positive` are closed."""
RegistryState = Literal["discovered", "pending", "approved", "restricted", "deprecated", "retired", "blocked"]
"""The state of a model. A `discovered` model was used but has no entry."""
TransitionTarget = Literal["pending", "approved", "restricted", "deprecated", "retired", "blocked"]
"""The states that a model can be changed to."""
RiskTier = Literal["minimal", "limited", "high", "unacceptable"]
"""The risk of using a model, as assessed by the project."""
ExportType = Literal["inventory", "policies", "violations", "access", "usage", "audit"]
"""The kind of data that is exported."""
LogRecord = Mapping[str, Any]
"""A log record: `time`, `level`, `msg` and its fields."""


def _raw() -> Raw:
    return {}


# What methods take


class TextPartParam(TypedDict):
    """Text as a part of a message."""

    type: Literal["text"]
    text: str


class ImagePartParam(TypedDict):
    """An image, in a message from the user."""

    type: Literal["image"]
    imageUrl: str
    """An `https://` URL or a data URL."""


class _FilePart(TypedDict):
    type: Literal["file"]
    fileData: str
    """A data URL, such as `data:application/pdf;base64,…`."""


class FilePartParam(_FilePart, total=False):
    """A file such as a PDF, in a message from the user. `type` is `file`, and `fileData` is a data URL, such as
    `data:application/pdf;base64,…`."""

    name: str


ContentPartParam = Union[TextPartParam, ImagePartParam, FilePartParam]
"""A part of a message."""


class ToolCallParam(TypedDict):
    """The model's tool call, as it was returned."""

    id: str
    name: str
    arguments: Mapping[str, Any]


class ContentMessageParam(TypedDict):
    """A message from the system, the user or the model."""

    role: Literal["system", "user", "assistant"]
    content: Union[str, Sequence[ContentPartParam]]


class _ToolCallMessage(TypedDict):
    role: Literal["assistant"]
    toolCalls: Sequence[Union[ToolCallParam, ToolCall]]


class ToolCallMessageParam(_ToolCallMessage, total=False):
    """The model's message with tool calls: `role` is `assistant`, and `toolCalls` are those of its completion."""

    content: Union[str, Sequence[TextPartParam]]


class ToolMessageParam(TypedDict):
    """The result of a tool call."""

    role: Literal["tool"]
    toolCallId: str
    """The `id` of the call."""
    content: Union[str, Sequence[TextPartParam]]


MessageParam = Union[ContentMessageParam, ToolCallMessageParam, ToolMessageParam]
"""A message of a conversation. Its fields have their JSON names."""


class _Tool(TypedDict):
    name: str
    """1 to 64 letters, digits, `_` and `-`."""


class ToolParam(_Tool, total=False):
    """A function that the model may call. Its `name` has 1 to 64 letters, digits, `_` and `-`."""

    description: str
    """What the function does, as a description for the model."""
    parameters: Mapping[str, Any]
    """The JSON Schema of its arguments."""


class ToolNameParam(TypedDict):
    """The tool that the model must call."""

    name: str


ToolChoice = Union[Literal["auto", "none", "required"], ToolNameParam]
"""Whether the model may, must or must not call a tool, or which tool it must call."""


class ReasoningParam(TypedDict):
    """How much reasoning the model does."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class SchemaModel(Protocol):
    """A class that has a JSON Schema and validates itself, such as a pydantic model."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Returns the JSON Schema that is sent."""
        ...

    @classmethod
    def model_validate(cls: type[_M], obj: Any) -> _M:
        """Returns an instance made from a JSON value."""
        ...


class LegacySchemaModel(Protocol):
    """A class that has a JSON Schema and validates itself, as the models of pydantic 1 do."""

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Returns the JSON Schema that is sent."""
        ...

    @classmethod
    def parse_obj(cls: type[_M], obj: Any) -> _M:
        """Returns an instance made from a JSON value."""
        ...


class GovernorOptions(TypedDict, total=False):
    """Tightens the project's Governor. It cannot loosen anything, because the project's policy always applies."""

    enabled: bool
    """Send these settings, and raise BlockedByPolicyError for a blocked request. Default true."""
    strict_mode: bool
    """Block requests above the threshold instead of marking them for review. Default false."""
    auto_approve_threshold: int
    """The highest risk score that is approved, 0 to 100, if it is lower than the project's."""


class LoggingOptions(TypedDict, total=False):
    """Which records are logged, and where."""

    level: LogLevel
    """Default `warn`."""
    pretty: bool
    """Human-readable lines instead of JSON. Default false."""
    content: bool
    """Log bodies of requests and responses, at the level `debug`. Default false."""
    logger: Union[std_logging.Logger, Callable[[LogRecord], object]]
    """Receives the records instead of standard error."""


# The headers of a response


@dataclass(frozen=True)
class Attempt:
    """One request that the gateway sent to a provider."""

    target: str
    """Provider and model, such as `openai/gpt-4.1`."""
    result: str
    """The provider's status, or a word such as `timeout`."""


@dataclass(frozen=True)
class Attempts:
    """The gateway's requests to providers. There are none for a cached response or a development key."""

    count: int
    targets: Sequence[Attempt] = ()
    """The requests in order. May have fewer items than `count`."""


@dataclass(frozen=True)
class Deprecation:
    """The model is deprecated in the project's registry."""

    at: str | None
    """When it was deprecated."""
    sunset: str | None
    """When it will be retired."""
    successor: str | None
    """The model to use instead."""


@dataclass(frozen=True)
class GovernorDecision:
    """The Governor's decision about the request."""

    decision: str
    """`approve`, `review` or `block`."""
    risk_score: int
    """0 to 100."""
    policy_version: int
    unchecked: Sequence[str]
    """The kinds of content that could not be checked."""


@dataclass(frozen=True)
class RateLimit:
    """The limits of the key. Resets are in seconds. A field is None if there is no such limit."""

    limit_requests: int | None = None
    """Remaining requests in the window that has the fewest left."""
    remaining_requests: int | None = None
    reset_requests: int | None = None
    limit_tokens: int | None = None
    """Tokens per minute."""
    remaining_tokens: int | None = None
    reset_tokens: int | None = None


@dataclass(frozen=True)
class Meta:
    """The gateway's metadata about a response, from its headers. Absent headers are None."""

    request_id: str | None = None
    """The request ID, as in the gateway's log."""
    provider: str | None = None
    """The provider that served the request; `mock` for development keys."""
    model: str | None = None
    """The model that served the request."""
    cache: str | None = None
    """`hit`, `miss` or `bypass`."""
    cost_cents: float | None = None
    """The cost in cents; None for a stream that is not served from the cache (see `Usage.cost_cents`)."""
    price_version: str | None = None
    """The version of the price list."""
    attempts: Attempts | None = None
    dropped_params: Sequence[str] = ()
    """Parameters that the gateway left out because the model does not support them."""
    max_tokens: int | None = None
    """The output limit that the gateway set because the request had none."""
    deprecation: Deprecation | None = None
    registry_warning: str | None = None
    """The model's state, if the project's registry warns about it instead of refusing it."""
    governor: GovernorDecision | None = None
    replayed: bool = False
    """Whether this is the stored response of an earlier request with the same idempotency key."""
    rate_limit: RateLimit | None = None


@dataclass(frozen=True)
class ResponseInfo:
    """The response that a result came from."""

    status: int
    headers: Mapping[str, str]
    """The headers, with lowercase names."""
    body: str | None = field(default=None, repr=False)
    """The body as it arrived; None for a stream."""


@dataclass(frozen=True)
class WithResponse(Generic[T]):
    """A result and the response that it came from."""

    data: T
    response: ResponseInfo
    meta: Meta


# Completions


@dataclass(frozen=True)
class Usage:
    """Tokens and cost of a completion."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost_cents: float
    """The exact cost in cents; 0 if the response came from the cache."""


@dataclass(frozen=True)
class Verdict:
    """The Governor's decision about one direction."""

    decision: str
    """`approve`, `review` or `block`."""
    risk_score: int
    """0 to 100."""


@dataclass(frozen=True)
class Governance:
    """The Governor's decisions about the request and the response."""

    input: Verdict
    output: Verdict | None
    """None for a cached response."""
    policy_version: int


@dataclass(frozen=True)
class ToolCall:
    """The model's call to a tool."""

    id: str
    """Repeated as the `toolCallId` of the message with its result."""
    name: str
    arguments: Mapping[str, Any]
    """Arguments that are not a JSON object become `{"_invalid": "…"}`."""


@dataclass(frozen=True)
class Completion:
    """A completion."""

    text: str
    provider: str
    """The provider that served the request; `mock` for development keys."""
    model: str
    """The model that served the request."""
    cache_hit: bool
    """Whether the response comes from the gateway's cache."""
    usage: Usage
    governor: Governance | None = None
    """None if the Governor is off."""
    tool_calls: Sequence[ToolCall] = ()
    """The tools that the model calls."""
    finish_reason: str = ""
    """Why the output ended: `stop`, `length`, `tool_calls` or `content_filter`."""
    attempts: int = 0
    """Number of calls to providers; 0 for a cached response or a development key."""
    latency_ms: int = 0
    """Time that the gateway took, in milliseconds."""
    meta: Meta = field(default_factory=Meta, metadata={"wire": ""}, repr=False)
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class ParsedCompletion(Completion, Generic[T]):
    """A completion whose output `schema` accepted."""

    data: T = field(kw_only=True)
    """The result of `schema`. With `tools`, it is None if there are tool calls but no text."""


@dataclass(frozen=True)
class TokenCount:
    """The number of tokens of a request."""

    prompt_tokens: int
    estimated: bool
    """Whether the gateway estimated the number. If not, the provider counted the tokens."""
    provider: str
    """The provider whose model would be called first; `mock` for development keys."""
    model: str
    """The model that would be called first."""
    meta: Meta = field(default_factory=Meta, metadata={"wire": ""}, repr=False)
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class Embedding:
    """The embedding vectors of texts."""

    embeddings: Sequence[Sequence[float]]
    """One vector for each text, in the same order."""
    provider: str
    """The provider that served the request; `mock` for development keys."""
    model: str
    cache_hit: bool
    """Whether the vectors come from the gateway's cache."""
    usage: Usage
    attempts: int = 0
    """Number of calls to providers; 0 for cached vectors or a development key."""
    latency_ms: int = 0
    """Time that the gateway took, in milliseconds."""
    governor: Governance | None = None
    """None if the Governor is off."""
    meta: Meta = field(default_factory=Meta, metadata={"wire": ""}, repr=False)
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class Issue:
    """A problem with a model's output."""

    message: str
    path: Sequence[str | int] = ()
    """Field names and array indexes, from the root of the output."""


@dataclass(frozen=True)
class DeltaEvent:
    """The next piece of a streamed completion."""

    type: Literal["delta"]
    text: str
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class ToolCallEvent:
    """The beginning of a tool call."""

    type: Literal["toolCall"]
    index: int
    """Position of the call within the response, starting at 0."""
    id: str
    name: str
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class ToolCallDeltaEvent:
    """A piece of a tool call's arguments."""

    type: Literal["toolCallDelta"]
    index: int
    """The same as in the beginning of the call."""
    arguments: str
    """A piece of JSON text."""
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class DoneEvent:
    """The end of a streamed completion."""

    type: Literal["done"]
    provider: str
    model: str
    cache_hit: bool
    usage: Usage
    governor: Governance | None = None
    finish_reason: str = ""
    """Why the output ended: `stop`, `length`, `tool_calls` or `content_filter`."""
    attempts: int = 0
    """Number of calls to providers; 0 for a cached response or a development key."""
    latency_ms: int = 0
    """Time that the gateway took, in milliseconds."""
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


ChatEvent = Union[DeltaEvent, ToolCallEvent, ToolCallDeltaEvent, DoneEvent]
"""An event of a stream: text and tool calls, followed by `done`."""


# Errors


@dataclass(frozen=True)
class Problem:
    """A problem with a request."""

    field: str
    """A field such as `messages[2].role`, a header, a query parameter, `path`, `method` or `body`."""
    message: str
    """Continues a sentence that starts with the field: `must be a number between 0 and 2, got 3`."""


@dataclass(frozen=True)
class Finding:
    """A place in a checked text. It never contains the text."""

    rule: str
    """Name of the rule, such as `personal.email`."""
    category: str
    severity: str
    """`low`, `medium`, `high` or `critical`."""
    action: str
    """`flag`, `redact` or `block`."""
    path: str
    """Path of the text in the JSON body, such as `messages[2].content`."""
    start: int
    """Offset of the finding's first byte in the UTF-8 text."""
    end: int
    """Offset of the first byte after the finding."""
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


# Reports


@dataclass(frozen=True)
class Health:
    """The key is active."""

    status: str
    authenticated: bool
    project_id: str = field(metadata={"wire": "project_id"})
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class Budget:
    """The current budget period, in dollars."""

    limit: float
    used: float
    remaining: float


@dataclass(frozen=True)
class CacheUsage:
    """Lookups in the cache."""

    hits: int
    misses: int
    hit_rate: float
    """Percentage of lookups that were hits."""


@dataclass(frozen=True)
class PromptCacheUsage:
    """Input tokens that providers read from or wrote to their own prompt caches."""

    read_tokens: int = 0
    write_tokens: int = 0
    saved: float = 0.0
    """In dollars; negative if writes cost more than reads saved."""


@dataclass(frozen=True)
class ModelUsage:
    """Usage of one model."""

    requests: int
    """Including requests served from the cache."""
    tokens: int
    """Excluding responses from the cache."""
    cost: float
    """In dollars."""
    prompt_cache: PromptCacheUsage = PromptCacheUsage()
    """Zero if no request used a provider's prompt cache."""


@dataclass(frozen=True)
class TimeSpan:
    """A start and an end (exclusive)."""

    start: str
    end: str


@dataclass(frozen=True)
class UsageReport:
    """A project's usage."""

    budget: Budget
    cache: CacheUsage
    models: Mapping[str, ModelUsage]
    """By model name."""
    period: TimeSpan
    prompt_cache: PromptCacheUsage = PromptCacheUsage()
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


# Governor


@dataclass(frozen=True)
class ValidationResult:
    """The Governor's decision about one text or conversation."""

    approved: bool
    """Whether the decision is `approve`."""
    decision: str
    """`approve`, `review` or `block`."""
    risk_score: int
    """0 to 100."""
    findings: Sequence[Finding]
    """At most 100."""
    redacted: Any
    """The text, or the messages, with placeholders; None if nothing is redacted."""
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class Validation(ValidationResult):
    """The Governor's decision about `text` or `messages`."""

    policy_version: int = 0
    """Version of the project's policy; 0 if it has none."""
    request_id: str | None = None


@dataclass(frozen=True)
class BatchValidation:
    """The Governor's decisions about `texts`, in the same order."""

    results: Sequence[ValidationResult]
    policy_version: int
    request_id: str | None
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


# Violations


@dataclass(frozen=True)
class Violation:
    """Findings of one rule that led to a review, a block or a redaction. docs/guides/violations.md describes them."""

    id: str
    state: str
    rule: str
    """The rule, or `(more)` for all rules after the first 64 within a minute."""
    category: str
    severity: str
    decision: str
    """`block`, `review` or `redact`: the strongest decision about the findings."""
    direction: str
    """`input` for findings in a request, `output` for findings in a response."""
    model: str
    """The requested model or tier."""
    key: str
    """ID of the API key."""
    request_id: str
    """ID of the last request."""
    path: str
    """Path of the last finding in the JSON body."""
    start: int
    """Offset of its first byte in the UTF-8 text."""
    end: int
    """Offset of the first byte after it."""
    risk_score: int
    """Highest risk score of the requests, 0 to 100."""
    policy_version: int
    count: int
    """Number of findings."""
    version: int
    """Pass it to `update`, so that no other change is overwritten."""
    fingerprint: str | None
    """Equal matches in a project have equal fingerprints. None for rules without a match."""
    excerpt: str | None
    """The last two characters of personal data."""
    first_at: str
    last_at: str
    note: str | None
    changed_at: str | None
    changed_by: str | None
    """A key's ID, `owner`, or an owner's email address."""
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


# Model registry


@dataclass(frozen=True)
class AvailableModel:
    """A model or a tier that the key may use."""

    id: str
    """The name, for the argument `model`."""
    owned_by: str = field(metadata={"wire": "owned_by"})
    """The model's provider; `postern` for a tier."""
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


@dataclass(frozen=True)
class Approval:
    """An approval of a model."""

    by: str
    at: str
    reason: str
    state: str


@dataclass(frozen=True)
class Transition:
    """A change to a model's state."""

    from_state: str = field(metadata={"wire": "from"})
    to_state: str = field(metadata={"wire": "to"})
    by: str
    at: str
    reason: str | None


@dataclass(frozen=True)
class RegistryEntry:
    """A model that the project uses. docs/guides/registry.md describes its states."""

    id: str
    model: str
    """Name in the catalog."""
    state: str
    owner: str | None
    """Who is responsible for the model's use."""
    purpose: str | None
    risk_tier: str | None
    data_classes: Sequence[str]
    """Classes of data that may be sent to the model."""
    regions: Sequence[str]
    retention: str | None
    """How long the provider keeps the data it receives."""
    links: Sequence[str]
    review_date: str | None
    successor: str | None
    """The model to use instead."""
    keys: Sequence[str]
    """IDs of the keys that may use a restricted model."""
    deprecated_at: str | None
    sunset_at: str | None
    """When a deprecated model is to be retired. The registry does not retire it automatically."""
    approvals: Sequence[Approval]
    """The newest 50; the oldest of them comes first."""
    history: Sequence[Transition]
    """The newest 50; the oldest of them comes first."""
    version: int
    """Pass it to `update` and `transition`, so that no other change is overwritten."""
    created_at: str | None
    updated_at: str | None
    review_overdue: bool
    """Whether the review date has passed and the model is not retired."""
    first_seen: str | None = None
    """The day of the last use within the last 90 days; None if the model was not used in that time."""
    last_seen: str | None = None
    requests: int | None = None
    """Requests in the last 90 days."""
    delivery: str | None = None
    """After a change: `delivered`, or `pending` while some keys of a project with more than 200 do not have it yet."""
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)


# Compliance


@dataclass(frozen=True)
class ExportLine:
    """A line of a compliance export."""

    line: str
    """The line as the server sent it, without its line break: hashes and signatures cover exactly these characters."""
    data: Raw
    """The JSON object."""

    @property
    def is_header(self) -> bool:
        """Whether this is the first line of a page, which describes the export."""
        return self.data.get("format") == "postern-export"


@dataclass(frozen=True)
class ProjectInfo:
    """The project that a summary describes."""

    id: str
    name: str
    plan: str
    status: str


@dataclass(frozen=True)
class GovernorCoverage:
    """The Governor's checks."""

    available: bool
    """Whether the project's plan includes the Governor."""
    enabled: bool
    strict_mode: bool
    auto_approve_threshold: int
    """0 to 100."""
    policy_version: int
    """0 without a policy."""
    unchecked: str
    """What happens to content that cannot be checked: `allow` or `block`."""
    input: Mapping[str, int]
    """The number of rules with each action."""
    output: Mapping[str, int]
    keyword_lists: int
    patterns: int
    answer_schema: bool
    classifier: bool
    system: Mapping[str, int] = field(default_factory=lambda: {})
    """Number of rules by action, for system messages and tool definitions. Empty from an older gateway."""
    exemptions: int = 0
    """Number of exempted values and patterns."""
    exempt_agent_addresses: bool = False
    """Whether the addresses of coding agents are exempted."""


@dataclass(frozen=True)
class RegistryCoverage:
    """How the models in use compare with the registry."""

    enforcement: str
    """`off`, `warn` or `enforce`."""
    states: Mapping[str, int]
    """Number of models by state."""
    unregistered: Sequence[str]
    """Models that were used but have no entry, at most 100."""
    overdue_reviews: Sequence[str]
    """Models whose review date has passed, at most 100."""


@dataclass(frozen=True)
class ViolationCounts:
    """Open violations."""

    open: int
    acknowledged: int
    by_severity: Mapping[str, int]
    """The number of violations by severity. Covers only the newest open violations; `counted` is their number."""
    counted: int
    """Number of violations in `by_severity`."""


@dataclass(frozen=True)
class ChainState:
    """A chain of events."""

    object: str
    """`directory` or `ledger`."""
    oldest: int
    """The oldest entry that is kept; 0 if the chain is empty."""
    head: Mapping[str, Any] | None
    """The newest entry: `seq`, `hash`, `time`; None if the chain is empty."""
    checkpoint: Mapping[str, Any] | None
    unsigned: int
    """Entries since the newest checkpoint."""


@dataclass(frozen=True)
class Signing:
    """The deployment's signing keys."""

    configured: bool
    public_keys: Sequence[Mapping[str, Any]]
    """The keys. The one in use comes first."""


@dataclass(frozen=True)
class ComplianceSummary:
    """A summary of a project's compliance data. docs/guides/compliance.md describes it."""

    project: ProjectInfo
    generated_at: str
    governor: GovernorCoverage
    registry: RegistryCoverage
    violations: ViolationCounts
    retention: Mapping[str, int]
    """How long each kind of record is kept, in days, or how many records are kept."""
    chains: Sequence[ChainState]
    signing: Signing
    samples: Sequence[str]
    raw: Raw = field(default_factory=_raw, repr=False, compare=False)
