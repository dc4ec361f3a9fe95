# Made from _async/client.py by tools/unasync.py. Change that file.
"""The client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import TypeVar

import httpx

from .._hooks import KeyFunction, RequestHook, ResponseHook
from .._settings import resolve
from ..types import Environment, GovernorOptions, LoggingOptions
from .ai import AI
from .compliance import Compliance
from .endpoints import Endpoints
from .models import Models
from .reports import GovernorAPI, HealthAPI, UsageAPI
from .transport import Transport
from .violations import Violations

Self = TypeVar("Self", bound="Postern")


class Postern(Endpoints):
    """A client for a Postern gateway. Create one, share it, and close it when you are done, or use it as a context
    manager.

    An option that is not given is read from its environment variable.

    Args:
        api_key: An API key of the gateway (POSTERN_API_KEY), or a function that returns it before each attempt.
        base_url: The gateway's URL without /v1 (POSTERN_BASE_URL). Development keys default to http://127.0.0.1:8787.
        environment: Checks that the key belongs to this environment (POSTERN_ENVIRONMENT).
        timeout_ms: Time for one attempt in milliseconds, default 600,000 (POSTERN_TIMEOUT).
        retries: The maximum number of retries after a failed attempt, default 2 (POSTERN_RETRIES).
        idempotency: Send an idempotency key with each completion, default False (POSTERN_IDEMPOTENCY).
        governor: Tightens the project's Governor (POSTERN_GOVERNOR_ENABLED, …_STRICT_MODE, …_AUTO_APPROVE_THRESHOLD).
        logging: Which records are logged, and where (POSTERN_LOG_LEVEL, POSTERN_LOG_PRETTY).
        headers: Headers for each request, for example for a proxy. A call's headers override them.
        query: Query parameters for each request, which servers may log. A call's parameters override them.
        on_request: Called before each attempt. May change its headers. An error that it raises ends the call.
        on_response: Called when the headers of a response have arrived. An error that it raises ends the call.
        http_client: Your own httpx client, for proxies or certificates. Postern does not close it.

    Raises:
        ConfigurationError: An option is missing or invalid.
    """

    ai: AI
    """Completions."""
    usage: UsageAPI
    """Usage and budget."""
    health: HealthAPI
    """Whether the key works."""
    governor: GovernorAPI
    """Checks of texts."""
    violations: Violations
    """Findings of the Governor."""
    models: Models
    """The model registry."""
    compliance: Compliance
    """Exports and summaries."""

    def __init__(
        self,
        *,
        api_key: str | KeyFunction | None = None,
        base_url: str | None = None,
        environment: Environment | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | None = None,
        governor: GovernorOptions | None = None,
        logging: LoggingOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        on_request: RequestHook | None = None,
        on_response: ResponseHook | None = None,
        http_client: httpx.Client | None = None,
    ) -> None:
        settings = resolve(
            os.environ,
            api_key=api_key,
            base_url=base_url,
            environment=environment,
            timeout_ms=timeout_ms,
            retries=retries,
            idempotency=idempotency,
            governor=governor,
            logging=logging,
            headers=headers,
            query=query,
            on_request=on_request,
            on_response=on_response,
        )
        super().__init__(Transport(settings, http_client))
        self.ai = AI(self._transport)
        self.usage = UsageAPI(self._transport)
        self.health = HealthAPI(self._transport)
        self.governor = GovernorAPI(self._transport)
        self.violations = Violations(self._transport)
        self.models = Models(self._transport)
        self.compliance = Compliance(self._transport)

    def close(self) -> None:
        """Closes the connections. Later calls raise a ConfigurationError."""
        self._transport.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        settings = self._transport.settings
        return f"Postern(base_url={settings.base_url!r}, environment={settings.environment!r})"
