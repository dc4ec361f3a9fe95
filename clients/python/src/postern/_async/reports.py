"""Usage, health and the Governor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, overload

from .. import _calls
from .._calls import CallOptions, given
from .._secret import Secret
from ..types import (
    BatchValidation,
    GovernorOptions,
    Health,
    MessageParam,
    Period,
    UsageReport,
    Validation,
)
from .transport import AsyncTransport
from .with_response import wrapped


class AsyncHealthAPI:
    """`client.health`: whether the key works. Any kind of key is accepted."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> AsyncHealthWithResponse:
        """The same methods, with results that include status, headers and metadata."""
        return AsyncHealthWithResponse(self._transport)

    async def get(
        self,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Health:
        """Confirms that the key is active and returns the ID of its project."""
        return await self._transport.call(_calls.health(CallOptions(timeout_ms, retries, headers=headers, query=query)))


class AsyncHealthWithResponse:
    """The methods of `client.health`, with results that include the response."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.get = wrapped(transport, AsyncHealthAPI, AsyncHealthAPI.get)


class AsyncUsageAPI:
    """`client.usage`. Needs a key with the permission `usage`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> AsyncUsageWithResponse:
        """The same methods, with results that include status, headers and metadata."""
        return AsyncUsageWithResponse(self._transport)

    async def get(
        self,
        *,
        project_id: str | None = None,
        period: Period | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> UsageReport:
        """Gets the usage of the key's project in the current day, week or month (the default), and its budget.

        Without `project_id`, the first call asks the gateway for it.
        """
        options = CallOptions(timeout_ms, retries, headers=headers, query=query)
        if project_id is None:
            project_id = await self._own_project(options)
        params = given(project_id=project_id, period=period)
        return await self._transport.call(_calls.usage(params, options))

    async def _own_project(self, options: CallOptions) -> str:
        """The project of the key. A function may return keys of several projects, so the project is looked up each
        time.
        """
        projects = self._transport.projects
        if "own" in projects:
            return projects["own"]
        found = (await self._transport.call(_calls.health(options))).project_id
        if isinstance(self._transport.settings.api_key, Secret):
            projects["own"] = found
        return found


class AsyncUsageWithResponse:
    """The methods of `client.usage`, with results that include the response."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.get = wrapped(transport, AsyncUsageAPI, AsyncUsageAPI.get)


class AsyncGovernorAPI:
    """`client.governor`. Needs a gateway key with the permission `validate`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> AsyncGovernorWithResponse:
        """The same methods, with results that include status, headers and metadata."""
        return AsyncGovernorWithResponse(self._transport)

    @overload
    async def validate(
        self,
        *,
        texts: Sequence[str],
        direction: Literal["input", "output"] | None = None,
        governor: GovernorOptions | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> BatchValidation: ...

    @overload
    async def validate(
        self,
        *,
        text: str | None = None,
        messages: Sequence[MessageParam] | None = None,
        direction: Literal["input", "output"] | None = None,
        governor: GovernorOptions | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Validation: ...

    async def validate(
        self,
        *,
        text: str | None = None,
        texts: Sequence[str] | None = None,
        messages: Sequence[MessageParam] | None = None,
        direction: Literal["input", "output"] | None = None,
        governor: GovernorOptions | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Validation | BatchValidation:
        """Checks a text, up to 100 texts, or a conversation against the project's policy. Does not call a model.

        Exactly one of `text`, `texts` and `messages` is required.
        """
        params = given(text=text, texts=texts, messages=messages, direction=direction)
        options = CallOptions(timeout_ms, retries, headers=headers, query=query, governor=governor)
        return await self._transport.call(_calls.validate(params, options))


class AsyncGovernorWithResponse:
    """The methods of `client.governor`, with results that include the response."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.validate = wrapped(transport, AsyncGovernorAPI, AsyncGovernorAPI.validate)
