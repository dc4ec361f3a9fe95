# Made from _async/reports.py by tools/unasync.py. Change that file.
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
from .transport import Transport
from .with_response import wrapped


class HealthAPI:
    """`client.health`: whether the key works. Any kind of key is accepted."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> HealthWithResponse:
        """The same methods, with results that include status, headers and metadata."""
        return HealthWithResponse(self._transport)

    def get(
        self,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Health:
        """Confirms that the key is active and returns the ID of its project."""
        return self._transport.call(_calls.health(CallOptions(timeout_ms, retries, headers=headers, query=query)))


class HealthWithResponse:
    """The methods of `client.health`, with results that include the response."""

    def __init__(self, transport: Transport) -> None:
        self.get = wrapped(transport, HealthAPI, HealthAPI.get)


class UsageAPI:
    """`client.usage`. Needs a key with the permission `usage`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> UsageWithResponse:
        """The same methods, with results that include status, headers and metadata."""
        return UsageWithResponse(self._transport)

    def get(
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
            project_id = self._own_project(options)
        params = given(project_id=project_id, period=period)
        return self._transport.call(_calls.usage(params, options))

    def _own_project(self, options: CallOptions) -> str:
        """The project of the key. A function may return keys of several projects, so the project is looked up each
        time.
        """
        projects = self._transport.projects
        if "own" in projects:
            return projects["own"]
        found = (self._transport.call(_calls.health(options))).project_id
        if isinstance(self._transport.settings.api_key, Secret):
            projects["own"] = found
        return found


class UsageWithResponse:
    """The methods of `client.usage`, with results that include the response."""

    def __init__(self, transport: Transport) -> None:
        self.get = wrapped(transport, UsageAPI, UsageAPI.get)


class GovernorAPI:
    """`client.governor`. Needs a gateway key with the permission `validate`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> GovernorWithResponse:
        """The same methods, with results that include status, headers and metadata."""
        return GovernorWithResponse(self._transport)

    @overload
    def validate(
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
    def validate(
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

    def validate(
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
        return self._transport.call(_calls.validate(params, options))


class GovernorWithResponse:
    """The methods of `client.governor`, with results that include the response."""

    def __init__(self, transport: Transport) -> None:
        self.validate = wrapped(transport, GovernorAPI, GovernorAPI.validate)
