"""The client."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TypeVar

import httpx

from .._errors import ConfigurationError
from .._logs import Record
from .._settings import resolve
from ..types import Environment, GovernorOptions, LoggingOptions
from .ai import AsyncAI
from .compliance import AsyncCompliance
from .models import AsyncModels
from .reports import AsyncGovernorAPI, AsyncHealthAPI, AsyncUsageAPI
from .transport import AsyncTransport
from .violations import AsyncViolations

Self = TypeVar("Self", bound="AsyncPostern")


class AsyncPostern:
    """A client of a Postern gateway. Make one, share it, and close it at the end, or use it as a context manager.

    Each option that is not given is taken from its variable.

    Args:
        api_key: An API key of the gateway (POSTERN_API_KEY).
        base_url: The gateway's URL without /v1 (POSTERN_BASE_URL). Development keys default to http://127.0.0.1:8787.
        environment: Checks that the key is of this environment (POSTERN_ENVIRONMENT).
        timeout_ms: Time for one attempt in milliseconds, default 600,000 (POSTERN_TIMEOUT).
        retries: How often a failed attempt is repeated, default 2 (POSTERN_RETRIES).
        idempotency: Send an idempotency key with each completion, default False (POSTERN_IDEMPOTENCY).
        governor: Tightens the project's Governor (POSTERN_GOVERNOR_ENABLED, …_STRICT_MODE, …_AUTO_APPROVE_THRESHOLD).
        logging: What is logged, and where (POSTERN_LOG_LEVEL, POSTERN_LOG_PRETTY).
        http_client: Your own httpx client, for proxies or certificates. Postern does not close it.

    Raises:
        ConfigurationError: An option is missing or invalid.
    """

    ai: AsyncAI
    """Completions."""
    usage: AsyncUsageAPI
    """Usage and budget."""
    health: AsyncHealthAPI
    """The key's state."""
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
        api_key: str | None = None,
        base_url: str | None = None,
        environment: Environment | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | None = None,
        governor: GovernorOptions | None = None,
        logging: LoggingOptions | None = None,
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
        )
        if http_client is not None and not isinstance(http_client, httpx.AsyncClient):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError("http_client must be an httpx.AsyncClient.")
        self._transport = AsyncTransport(settings, http_client)
        if settings.insecure_host is not None:
            self._transport.log.write(Record("warn", "insecure_base_url", {"host": settings.insecure_host}))
        self.ai = AsyncAI(self._transport)
        self.usage = AsyncUsageAPI(self._transport)
        self.health = AsyncHealthAPI(self._transport)
        self.governor = AsyncGovernorAPI(self._transport)
        self.violations = AsyncViolations(self._transport)
        self.models = AsyncModels(self._transport)
        self.compliance = AsyncCompliance(self._transport)

    async def close(self) -> None:
        """Closes the connections. Calls after it raise a ConfigurationError."""
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
