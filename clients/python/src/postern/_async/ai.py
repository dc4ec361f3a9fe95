"""Completions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, Union, overload

from .. import _calls
from .._calls import taken
from .._chat import chat as chat_call
from .._pending import PendingChat
from ..types import (
    Completion,
    Embedding,
    GovernorOptions,
    LegacySchemaModel,
    MessageParam,
    ParsedCompletion,
    Quality,
    ReasoningParam,
    SchemaModel,
    TokenCount,
    ToolChoice,
    ToolParam,
)
from .stream import AsyncChatStream, AsyncParsedChatStream
from .transport import AsyncTransport
from .with_response import wrapped

T = TypeVar("T")
M = TypeVar("M", bound=Union[SchemaModel, LegacySchemaModel])


class AsyncAI:
    """Postern's own completion API: `client.ai`. Needs a gateway key (`sk_`)."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> AsyncAIWithResponse:
        """The same methods, with results that include status, headers and metadata."""
        return AsyncAIWithResponse(self._transport)

    @overload
    async def complete(
        self,
        *,
        messages: Sequence[MessageParam],
        model: str | None = None,
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["text", "json"] | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        reasoning: ReasoningParam | None = None,
        tools: Sequence[ToolParam] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: Mapping[str, Any] | None = None,
        metadata: Mapping[str, str] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        schema: None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Completion: ...

    @overload
    async def complete(
        self,
        *,
        messages: Sequence[MessageParam],
        schema: type[M],
        model: str | None = None,
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["json"] | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        reasoning: ReasoningParam | None = None,
        tools: Sequence[ToolParam] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: Mapping[str, Any] | None = None,
        metadata: Mapping[str, str] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> ParsedCompletion[M]: ...

    @overload
    async def complete(
        self,
        *,
        messages: Sequence[MessageParam],
        schema: Callable[[Any], T],
        model: str | None = None,
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["json"] | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        reasoning: ReasoningParam | None = None,
        tools: Sequence[ToolParam] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: Mapping[str, Any] | None = None,
        metadata: Mapping[str, str] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> ParsedCompletion[T]: ...

    async def complete(
        self,
        *,
        messages: Sequence[MessageParam],
        model: str | None = None,
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["text", "json"] | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        reasoning: ReasoningParam | None = None,
        tools: Sequence[ToolParam] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: Mapping[str, Any] | None = None,
        metadata: Mapping[str, str] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        schema: Callable[[Any], Any] | type[SchemaModel] | type[LegacySchemaModel] | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Completion | ParsedCompletion[Any]:
        """Gets a completion from a model.

        Args:
            messages: The conversation, oldest message first.
            model: The model that serves the request: its name, `provider/model` or a tier. Not together with `quality`.
            quality: The tier that serves the request. The gateway's default is `balanced`.
            temperature: 0 to 2. If the model does not support it, it is left out and a warning is logged.
            max_tokens: The maximum output, in tokens.
            mode: `json` asks the model for JSON.
            top_p: Nucleus sampling, 0 to 1.
            stop: Stop sequences: the output ends before any of these strings.
            seed: Makes sampling repeatable, if the provider supports it.
            reasoning: How much reasoning the model does.
            tools: The functions that the model may call.
            tool_choice: Whether the model may, must or must not call a tool, or which tool it must call.
            response_schema: The JSON Schema that the output must match. The gateway validates the output.
            metadata: Up to 16 labels, for providers that store them.
            cache_control: `no-store`, `no-cache` or `max-age=SECONDS`, for the gateway's cache.
            strict: Reject parameters that the model does not support, instead of leaving them out.
            schema: Parses the output as JSON, calls this with the value, and returns its result as `data`. An
                exception that it raises becomes an OutputValidationError. For a pydantic model, the JSON Schema is
                sent, unless there is a `response_schema`. Tool calls without text are not checked: `data` is None.
            extra_body: Additional fields of the request's body.
            timeout_ms: Time for one attempt, in milliseconds.
            retries: The maximum number of retries after a failed attempt.
            idempotency: True sends an idempotency key, so that a retry is never charged twice. A string is your own key.
            governor: Tightens the project's Governor for this request.
            headers: Additional headers.
            query: Additional query parameters.

        Raises:
            BudgetExceededError: A budget cannot cover the request.
            BlockedByPolicyError: The project's Governor blocked the request or the response.
            OutputValidationError: `schema` rejected the output.
            APIError: Any other error from the gateway.
            APIConnectionError: There was no usable response.
        """
        params, options = taken(locals())
        return await self._transport.call(_calls.complete(params, options))

    @overload
    def chat(
        self,
        *,
        messages: Sequence[MessageParam],
        model: str | None = None,
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["text", "json"] | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        reasoning: ReasoningParam | None = None,
        tools: Sequence[ToolParam] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: Mapping[str, Any] | None = None,
        metadata: Mapping[str, str] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        schema: None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> PendingChat[AsyncChatStream]: ...

    @overload
    def chat(
        self,
        *,
        messages: Sequence[MessageParam],
        schema: type[M],
        model: str | None = None,
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["json"] | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        reasoning: ReasoningParam | None = None,
        tools: Sequence[ToolParam] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: Mapping[str, Any] | None = None,
        metadata: Mapping[str, str] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> PendingChat[AsyncParsedChatStream[M]]: ...

    @overload
    def chat(
        self,
        *,
        messages: Sequence[MessageParam],
        schema: Callable[[Any], T],
        model: str | None = None,
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["json"] | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        reasoning: ReasoningParam | None = None,
        tools: Sequence[ToolParam] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: Mapping[str, Any] | None = None,
        metadata: Mapping[str, str] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> PendingChat[AsyncParsedChatStream[T]]: ...

    def chat(
        self,
        *,
        messages: Sequence[MessageParam],
        model: str | None = None,
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["text", "json"] | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        reasoning: ReasoningParam | None = None,
        tools: Sequence[ToolParam] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: Mapping[str, Any] | None = None,
        metadata: Mapping[str, str] | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        schema: Callable[[Any], Any] | type[SchemaModel] | type[LegacySchemaModel] | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        idempotency: bool | str | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> PendingChat[AsyncChatStream] | PendingChat[AsyncParsedChatStream[Any]]:
        """Streams a completion. Use the result as a context manager, so that the connection is always closed.

        The arguments are those of `complete`. `timeout_ms` is the time until the response headers arrive, and then
        the longest pause between two pieces. After the headers, nothing is retried. If the stream fails, a
        StreamError is raised after the events that preceded the failure. With a `schema`, the stream has `data`, and
        the complete output is validated at the end.
        """
        params, options = taken(locals())
        call = chat_call(params, options)
        if schema is None:
            return PendingChat(AsyncChatStream.open(self._transport, call))
        return PendingChat(AsyncParsedChatStream[Any].open(self._transport, call))

    async def count_tokens(
        self,
        *,
        messages: Sequence[MessageParam],
        model: str | None = None,
        quality: Quality | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        mode: Literal["text", "json"] | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        seed: int | None = None,
        reasoning: ReasoningParam | None = None,
        tools: Sequence[ToolParam] | None = None,
        tool_choice: ToolChoice | None = None,
        response_schema: Mapping[str, Any] | None = None,
        metadata: Mapping[str, str] | None = None,
        strict: bool | None = None,
        schema: Callable[[Any], Any] | type[SchemaModel] | type[LegacySchemaModel] | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> TokenCount:
        """Counts the tokens of the prompt that `complete` would send with these arguments: messages, tools and schema.

        Costs nothing, but counts toward the key's request limits. `estimated` is true if the provider did not count
        the tokens.
        """
        params, options = taken(locals())
        return await self._transport.call(_calls.count_tokens(params, options))

    async def embed(
        self,
        *,
        model: str,
        input: str | Sequence[str],
        dimensions: int | None = None,
        cache_control: str | None = None,
        strict: bool | None = None,
        extra_body: Mapping[str, object] | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        governor: GovernorOptions | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Embedding:
        """Turns texts into vectors.

        Args:
            model: An embedding model: its name, or `provider/model`.
            input: One text, or up to 2048 texts.
            dimensions: The length of each vector, if the model offers several lengths.
            cache_control: `no-store`, `no-cache` or `max-age=SECONDS`, for the gateway's cache.
            strict: Reject parameters that the model does not support, instead of leaving them out.
            extra_body: Additional fields of the request's body.
            timeout_ms: Time for one attempt, in milliseconds.
            retries: The maximum number of retries after a failed attempt.
            governor: Tightens the project's Governor for this request.
            headers: Additional headers.
            query: Additional query parameters.
        """
        params, options = taken(locals())
        return await self._transport.call(_calls.embed(params, options))


class AsyncAIWithResponse:
    """The methods of `client.ai`, with results that include the response."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.complete = wrapped(transport, AsyncAI, AsyncAI.complete)
        self.chat = wrapped(transport, AsyncAI, AsyncAI.chat)
        self.count_tokens = wrapped(transport, AsyncAI, AsyncAI.count_tokens)
        self.embed = wrapped(transport, AsyncAI, AsyncAI.embed)
