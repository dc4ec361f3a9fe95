"""Endpoints that have no method of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _calls
from .._calls import CallOptions
from ..types import GovernorOptions
from .transport import AsyncTransport
from .with_response import wrapped


class AsyncEndpoints:
    """`client.get` and `client.post`: any endpoint, with the client's key, retries, errors, hooks and log."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> AsyncEndpointsWithResponse:
        """`get` and `post`, with results that include status, headers, body and metadata."""
        return AsyncEndpointsWithResponse(self._transport)

    async def get(
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
        return await self._transport.call(_calls.get(path, options))

    async def post(
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
        return await self._transport.call(_calls.post(path, body, options))


class AsyncEndpointsWithResponse:
    """`client.get` and `client.post`, with results that include the response."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.get = wrapped(transport, AsyncEndpoints, AsyncEndpoints.get)
        self.post = wrapped(transport, AsyncEndpoints, AsyncEndpoints.post)
