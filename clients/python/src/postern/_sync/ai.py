# Made from _async/ai.py by tools/unasync.py. Change that file.
"""Completions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from .. import _calls
from .._calls import CallOptions, given
from .._chat import chat as chat_call
from ..types import Completion, GovernorOptions, MessageParam, ParsedCompletion, Quality
from .stream import ChatStream
from .transport import Transport
from .with_response import wrapped

T = TypeVar("T")


class AI:
    """Postern's own completion API: `client.ai`. Needs a gateway key (`sk_`)."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> AIWithResponse:
        """The same methods, whose results come with status, headers and meta data."""
        return AIWithResponse(self._transport)

    @overload
    def complete(
        self,
        *,
        messages: Sequence[MessageParam],
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["text", "json"] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        schema: None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Completion: ...

    @overload
    def complete(
        self,
        *,
        messages: Sequence[MessageParam],
        schema: Callable[[Any], T],
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["json"] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ParsedCompletion[T]: ...

    def complete(
        self,
        *,
        messages: Sequence[MessageParam],
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["text", "json"] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        schema: Callable[[Any], Any] | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Completion | ParsedCompletion[Any]:
        """Gets a model's answer.

        Args:
            messages: The conversation, oldest message first.
            quality: The tier that serves the request; the gateway's default is `balanced`.
            temperature: 0 to 2. Left out, with a warning in the log, if the model does not support it.
            max_tokens: The maximum output, in tokens.
            mode: `json` asks the model for JSON.
            cache_control: `no-store`, `no-cache` or `max-age=SECONDS`, for the gateway's cache.
            strict: Reject parameters that the model does not support, in place of leaving them out.
            schema: Parses the answer as JSON, calls this with the value, and returns its result as `data`; for
                example pydantic's `Model.model_validate`. What it raises becomes an OutputValidationError.
            extra_body: Further members of the request's body.
            timeout_ms: Time for one attempt, in milliseconds.
            retries: How often a failed attempt is repeated.
            idempotency: True sends an idempotency key, so that a retry is never paid twice; a text is your own key.
            governor: Tightens the project's Governor for this request.
            headers: Further headers.

        Raises:
            BudgetExceededError: The project's budget cannot cover the request.
            BlockedByPolicyError: The project's Governor blocked the request or the answer.
            OutputValidationError: `schema` rejected the answer.
            APIError: Any other error of the gateway.
            APIConnectionError: There was no usable response.
        """
        params = given(
            messages=messages,
            quality=quality,
            temperature=temperature,
            max_tokens=max_tokens,
            mode=mode,
            cache_control=cache_control,
            strict=strict,
            extra_body=extra_body,
        )
        options = CallOptions(timeout_ms, retries, idempotency, headers, governor)
        return self._transport.call(_calls.complete(params, schema, options))

    def chat(
        self,
        *,
        messages: Sequence[MessageParam],
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["text", "json"] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ChatStream:
        """Streams a model's answer. Use it as a context manager, so that the connection is closed in any case.

        The arguments are those of `complete`. `timeout_ms` is the time to the response headers, and then the longest
        pause between two pieces. After the headers nothing is retried; a stream that fails raises a StreamError after
        the events before the failure.
        """
        params = given(
            messages=messages,
            quality=quality,
            temperature=temperature,
            max_tokens=max_tokens,
            mode=mode,
            cache_control=cache_control,
            strict=strict,
            extra_body=extra_body,
        )
        call = chat_call(params, CallOptions(timeout_ms, retries, idempotency, headers, governor))
        return ChatStream.open(self._transport, call)


class AIWithResponse:
    """The methods of `client.ai`, whose results come with their responses."""

    def __init__(self, transport: Transport) -> None:
        self.complete = wrapped(transport, AI, AI.complete)
        self.chat = wrapped(transport, AI, AI.chat)
