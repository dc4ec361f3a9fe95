"""The client."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import TypeVar

import httpx

from .._hooks import AsyncKeyFunction, AsyncRequestHook, AsyncResponseHook
from .._settings import resolve
from ..types import Environment, GovernorOptions, LoggingOptions
from .ai import AsyncAI
from .compliance import AsyncCompliance
from .endpoints import AsyncEndpoints
from .models import AsyncModels
from .reports import AsyncGovernorAPI, AsyncHealthAPI, AsyncUsageAPI
from .transport import AsyncTransport
from .violations import AsyncViolations

Self = TypeVar("Self", bound="AsyncPostern")


class AsyncPostern(AsyncEndpoints):
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

    ai: AsyncAI
    """Completions."""
    usage: AsyncUsageAPI
    """Usage and budget."""
    health: AsyncHealthAPI
    """Whether the key works."""
    governor: AsyncGovernorAPI
    """Checks of texts."""
    violations: AsyncViolations
    """Findings of the Governor."""
    models: AsyncModels
    """The model registry."""
    compliance: AsyncCompliance
    """Exports and summaries."""

    def __init__(
        self,
        *,
        api_key: str | AsyncKeyFunction | None = None,
        base_url: str | None = None,
        environment: Environment | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | None = None,
        governor: GovernorOptions | None = None,
        logging: LoggingOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        on_request: AsyncRequestHook | None = None,
        on_response: AsyncResponseHook | None = None,
        http_client: httpx.AsyncClient | None = None,
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
        super().__init__(AsyncTransport(settings, http_client))
        self.ai = AsyncAI(self._transport)
        self.usage = AsyncUsageAPI(self._transport)
        self.health = AsyncHealthAPI(self._transport)
        self.governor = AsyncGovernorAPI(self._transport)
        self.violations = AsyncViolations(self._transport)
        self.models = AsyncModels(self._transport)
        self.compliance = AsyncCompliance(self._transport)

    async def close(self) -> None:
        """Closes the connections. Later calls raise a ConfigurationError."""
        await self._transport.close()

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        settings = self._transport.settings
        return f"AsyncPostern(base_url={settings.base_url!r}, environment={settings.environment!r})"
