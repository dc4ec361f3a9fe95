# Made from _async/endpoints.py by tools/unasync.py. Change that file.
"""Endpoints that have no method of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _calls
from .._calls import CallOptions
from ..types import GovernorOptions
from .transport import Transport
from .with_response import wrapped


class Endpoints:
    """`client.get` and `client.post`: any endpoint, with the client's key, retries, errors, hooks and log."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> EndpointsWithResponse:
        """`get` and `post`, with results that include status, headers, body and metadata."""
        return EndpointsWithResponse(self._transport)

    def get(
        self,
        path: str,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        """Gets JSON from an endpoint that has no method of its own.

        Args:
            path: The path as it is sent, such as `/v1/models`, without a query.
            timeout_ms: Time for one attempt, in milliseconds.
            retries: The maximum number of retries after a failed attempt.
            headers: Additional headers.
            query: Query parameters.

        Raises:
            InvalidResponseError: The response is not JSON.
        """
        options = CallOptions(timeout_ms, retries, headers=headers, query=query)
        return self._transport.call(_calls.get(path, options))

    def post(
        self,
        path: str,
        body: object = None,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        """Sends JSON to an endpoint without its own method, such as `/v1/responses`, and returns the JSON of its
        response.

        If the response is lost, the request is repeated only with an idempotency key. The endpoint must support such
        keys.

        Args:
            path: The path as it is sent, without a query.
            body: A JSON value; None sends no body.
            timeout_ms: Time for one attempt, in milliseconds.
            retries: The maximum number of retries after a failed attempt.
            idempotency: True sends an idempotency key. A string is your own key. The client's setting does not apply.
            governor: Tightens the project's Governor for this request.
            headers: Additional headers.
            query: Query parameters.

        Raises:
            InvalidResponseError: The response is not JSON.
        """
        options = CallOptions(timeout_ms, retries, idempotency, headers, governor, query)
        return self._transport.call(_calls.post(path, body, options))


class EndpointsWithResponse:
    """`client.get` and `client.post`, with results that include the response."""

    def __init__(self, transport: Transport) -> None:
        self.get = wrapped(transport, Endpoints, Endpoints.get)
        self.post = wrapped(transport, Endpoints, Endpoints.post)
