"""The client library of Postern, an AI gateway.

`Postern` is synchronous, `AsyncPostern` asynchronous; both have the same methods.
"""

from . import types
from ._async.client import AsyncPostern
from ._async.pages import AsyncExport, AsyncPage
from ._async.stream import AsyncChatStream
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
)
from ._pending import PendingChat, PendingPage
from ._sync.client import Postern
from ._sync.pages import Export, Page
from ._sync.stream import ChatStream
from ._version import __version__

__all__ = [
    "NOT_GIVEN",
    "APIAbortedError",
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AsyncChatStream",
    "AsyncExport",
    "AsyncPage",
    "AsyncPostern",
    "AuthenticationError",
    "BadRequestError",
    "BlockedByPolicyError",
    "BudgetExceededError",
    "ChatStream",
    "ConfigurationError",
    "ConflictError",
    "Export",
    "InternalServerError",
    "InvalidResponseError",
    "NotFoundError",
    "NotGiven",
    "OutputValidationError",
    "Page",
    "PendingChat",
    "PendingPage",
    "PermissionDeniedError",
    "Postern",
    "PosternError",
    "RateLimitError",
    "RequestTooLargeError",
    "StreamError",
    "UnprocessableEntityError",
    "__version__",
    "types",
]

# Tracebacks and reprs show the names that programs import.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
