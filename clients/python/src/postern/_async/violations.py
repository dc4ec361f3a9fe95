"""Violations of the project's policy."""

from __future__ import annotations

from collections.abc import Mapping

from .. import _calls
from .._calls import NOT_GIVEN, CallOptions, NotGiven, given
from .._pending import PendingPage
from ..types import Severity, Violation, ViolationState
from .pages import first_page
from .transport import AsyncTransport
from .with_response import wrapped


class AsyncViolations:
    """`client.violations`. Needs a project key (`pk_`) with the permission `violations`, or `triage` for changes."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> AsyncViolationsWithResponse:
        """The same methods, with results that include status, headers and metadata."""
        return AsyncViolationsWithResponse(self._transport)

    def list(
        self,
        *,
        state: ViolationState | None = None,
        rule: str | None = None,
        category: str | None = None,
        severity: Severity | None = None,
        decision: str | None = None,
        model: str | None = None,
        key: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> PendingPage[Violation]:
        """Lists violations, newest first. Iterating over the page yields the violations of all pages.

        Args:
            key: ID of an API key.
            from_: A date or an RFC 3339 time, inclusive.
            to: Like `from_`, but exclusive.
            limit: The size of a page, 1 to 100.
            after: The `next` of an earlier page.
        """
        params = given(
            state=state,
            rule=rule,
            category=category,
            severity=severity,
            decision=decision,
            model=model,
            key=key,
            from_=from_,
            to=to,
            limit=limit,
            after=after,
        )
        call = _calls.list_violations(params, CallOptions(timeout_ms, retries, headers=headers, query=query))
        return PendingPage(first_page(self._transport, call))

    async def get(
        self,
        violation_id: str,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Violation:
        """Gets a violation."""
        options = CallOptions(timeout_ms, retries, headers=headers, query=query)
        return await self._transport.call(_calls.get_violation(violation_id, options))

    async def update(
        self,
        violation_id: str,
        *,
        state: ViolationState | None = None,
        note: str | NotGiven | None = NOT_GIVEN,
        version: int | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Violation:
        """Changes a violation's state or note. The change is retried only if the gateway certainly has not made it.

        Args:
            note: None removes the note.
            version: The `version` that the change is based on. If it is out of date, a ConflictError is raised.
        """
        params = {**given(state=state, version=version), "note": note}
        options = CallOptions(timeout_ms, retries, headers=headers, query=query)
        return await self._transport.call(_calls.update_violation(violation_id, params, options))


class AsyncViolationsWithResponse:
    """The methods of `client.violations`, with results that include the response."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.list = wrapped(transport, AsyncViolations, AsyncViolations.list)
        self.get = wrapped(transport, AsyncViolations, AsyncViolations.get)
        self.update = wrapped(transport, AsyncViolations, AsyncViolations.update)
