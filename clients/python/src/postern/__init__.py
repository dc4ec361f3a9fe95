"""The client library of Postern, an AI gateway.

`Postern` is synchronous, and `AsyncPostern` is asynchronous. Both have the same methods.
"""

from dataclasses import is_dataclass as _is_dataclass

from . import types
from ._async.client import AsyncPostern
from ._async.pages import AsyncExport, AsyncPage
from ._async.stream import AsyncChatStream, AsyncParsedChatStream
from ._calls import NOT_GIVEN, NotGiven
from ._errors import (
    APIAbortedError,
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    BlockedByPolicyError,
    BudgetExceededError,
    ConfigurationError,
    ConflictError,
    ExceededBudget,
    InternalServerError,
    InvalidResponseError,
    NotFoundError,
    OutputValidationError,
    PermissionDeniedError,
    PosternError,
    RateLimitError,
    RequestTooLargeError,
    StreamError,
    UnprocessableEntityError,
    WebhookVerificationError,
)
from ._events import (
    BudgetNode,
    BudgetPeriod,
    BudgetThreshold,
    BudgetThresholdEvent,
    Checkpoint,
    CheckpointEvent,
    OtherEvent,
    ViolationCreated,
    ViolationCreatedEvent,
    WebhookEvent,
)
from ._hooks import (
    AsyncKeyFunction,
    AsyncRequestHook,
    AsyncResponseHook,
    IncomingResponse,
    KeyFunction,
    OutgoingRequest,
    RequestHook,
    ResponseHook,
)
from ._pending import PendingChat, PendingPage
from ._sync.client import Postern
from ._sync.pages import Export, Page
from ._sync.stream import ChatStream, ParsedChatStream
from ._version import __version__
from ._webhooks import verify_webhook

__all__ = [
    "NOT_GIVEN",
    "APIAbortedError",
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AsyncChatStream",
    "AsyncExport",
    "AsyncKeyFunction",
    "AsyncPage",
    "AsyncParsedChatStream",
    "AsyncPostern",
    "AsyncRequestHook",
    "AsyncResponseHook",
    "AuthenticationError",
    "BadRequestError",
    "BlockedByPolicyError",
    "BudgetExceededError",
    "BudgetNode",
    "BudgetPeriod",
    "BudgetThreshold",
    "BudgetThresholdEvent",
    "ChatStream",
    "Checkpoint",
    "CheckpointEvent",
    "ConfigurationError",
    "ConflictError",
    "ExceededBudget",
    "Export",
    "IncomingResponse",
    "InternalServerError",
    "InvalidResponseError",
    "KeyFunction",
    "NotFoundError",
    "NotGiven",
    "OtherEvent",
    "OutgoingRequest",
    "OutputValidationError",
    "Page",
    "ParsedChatStream",
    "PendingChat",
    "PendingPage",
    "PermissionDeniedError",
    "Postern",
    "PosternError",
    "RateLimitError",
    "RequestHook",
    "RequestTooLargeError",
    "ResponseHook",
    "StreamError",
    "UnprocessableEntityError",
    "ViolationCreated",
    "ViolationCreatedEvent",
    "WebhookEvent",
    "WebhookVerificationError",
    "__version__",
    "types",
    "verify_webhook",
]

# Tracebacks and reprs show the names that programs import. The annotations of dataclasses keep the names of their
# module.
for _name in __all__:
    _value = globals()[_name]
    if (isinstance(_value, type) and not _is_dataclass(_value)) or _value is verify_webhook:
        _value.__module__ = __name__
