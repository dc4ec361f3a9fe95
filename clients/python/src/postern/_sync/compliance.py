# Made from _async/compliance.py by tools/unasync.py. Change that file.
"""Compliance data."""

from __future__ import annotations

from collections.abc import Mapping

from .. import _calls
from .._calls import CallOptions, given
from ..types import ComplianceSummary, ExportType, Raw
from .pages import Export
from .transport import Transport
from .with_response import wrapped


class Compliance:
    """`client.compliance`. Needs a project key (`pk_`) with the permission `compliance`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> ComplianceWithResponse:
        """`bom` and `summary`, with results that include status, headers and metadata."""
        return ComplianceWithResponse(self._transport)

    def export(
        self,
        *,
        type: ExportType | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Export:
        """Exports compliance data. Iterating over the result fetches all pages and yields the lines as they were sent.

        The first line of each page is a header. Write each `line` and a line break to a file, which `postern-verify`
        can then check offline.

        Args:
            type: The kind of data. The gateway's default is `audit`.
            from_: A date or an RFC 3339 time, inclusive.
            to: Like `from_`, but exclusive.
            limit: Lines per page, 1 to 500.
            after: The `next` of an earlier page.

        Raises:
            ConflictError: Entries were pruned during the export. Start again.
        """
        params = given(type=type, from_=from_, to=to, limit=limit, after=after)
        options = CallOptions(timeout_ms, retries, headers=headers, query=query)
        call = _calls.export(params, self._transport.settings.base_url, options)
        return Export(self._transport, call)

    def bom(
        self,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Raw:
        """Gets the project's models as a bill of materials, a CycloneDX 1.7 document."""
        return self._transport.call(_calls.bom(CallOptions(timeout_ms, retries, headers=headers, query=query)))

    def summary(
        self,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> ComplianceSummary:
        """Gets a summary: the Governor's checks, the registry, open violations, retention and chains."""
        return self._transport.call(_calls.summary(CallOptions(timeout_ms, retries, headers=headers, query=query)))


class ComplianceWithResponse:
    """`bom` and `summary` of `client.compliance`, with results that include the response."""

    def __init__(self, transport: Transport) -> None:
        self.bom = wrapped(transport, Compliance, Compliance.bom)
        self.summary = wrapped(transport, Compliance, Compliance.summary)
