"""The types that a program sees. Pyright checks this file, but it never runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, Union

from typing_extensions import assert_type

from postern import (
    AsyncChatStream,
    AsyncPage,
    AsyncParsedChatStream,
    AsyncPostern,
    BudgetThresholdEvent,
    ChatStream,
    OutgoingRequest,
    Page,
    ParsedChatStream,
    Postern,
    verify_webhook,
)
from postern.types import (
    AvailableModel,
    BatchValidation,
    Completion,
    DeltaEvent,
    DoneEvent,
    ParsedCompletion,
    RegistryEntry,
    ToolCallDeltaEvent,
    ToolCallEvent,
    UsageReport,
    Validation,
    Violation,
    WithResponse,
)


class City(TypedDict):
    """A value that a schema may return."""

    city: str


def city(value: object) -> City:
    """A schema."""
    return {"city": str(value)}


class Legacy:
    """A class like those of pydantic 1."""

    @classmethod
    def parse_obj(cls, obj: Any) -> Legacy:
        """An instance."""
        return cls()

    @classmethod
    def schema(cls, by_alias: bool = True) -> dict[str, Any]:
        """Its schema."""
        return {}


class Model:
    """A class like those of pydantic."""

    @classmethod
    def model_validate(cls, obj: Any, *, strict: bool | None = None) -> Model:
        """An instance."""
        return cls()

    @classmethod
    def model_json_schema(cls, by_alias: bool = True) -> dict[str, Any]:
        """Its schema."""
        return {}


def synchronous(client: Postern) -> None:
    """Types of the synchronous client."""
    assert_type(client.ai.complete(messages=[{"role": "user", "content": "Hi"}]), Completion)
    assert_type(client.ai.complete(messages=[], schema=city), ParsedCompletion[City])
    assert_type(client.ai.complete(messages=[], schema=city).data["city"], str)
    assert_type(client.ai.complete(messages=[], schema=Model), ParsedCompletion[Model])
    assert_type(client.ai.with_response.complete(messages=[]), WithResponse[Completion])
    assert_type(client.ai.with_response.complete(messages=[], schema=city).data.data, City)
    assert_type(client.violations.list(state="open"), Page[Violation])
    assert_type(client.violations.with_response.list(), WithResponse[Page[Violation]])
    assert_type(client.governor.validate(text=""), Validation)
    assert_type(client.governor.validate(texts=[]), BatchValidation)
    assert_type(client.usage.get(), UsageReport)
    with client.ai.chat(messages=[]) as stream:
        assert_type(stream, ChatStream)
        for event in stream:
            if event.type == "delta":
                assert_type(event, DeltaEvent)
            elif event.type == "toolCall":
                assert_type(event, ToolCallEvent)
            elif event.type == "done":
                assert_type(event, DoneEvent)


def native(client: Postern) -> None:
    """Parameters beyond text."""
    answer = client.ai.complete(
        messages=[
            {"role": "user", "content": [{"type": "file", "fileData": "data:text/plain;base64,YQ=="}]},
            {"role": "assistant", "toolCalls": client.ai.complete(messages=[]).tool_calls},
            {"role": "tool", "toolCallId": "call_1", "content": "rain"},
        ],
        model="claude-sonnet-4-6",
        tools=[{"name": "weather", "parameters": {"type": "object"}}],
        tool_choice={"name": "weather"},
        reasoning={"effort": "low"},
    )
    assert_type(answer, Completion)
    assert_type(client.ai.embed(model="text-embedding-3-small", input="one").embeddings, Sequence[Sequence[float]])


def schemas(client: Postern) -> None:
    """Streams with a schema."""
    with client.ai.chat(messages=[], schema=city) as stream:
        assert_type(stream, ParsedChatStream[City])
        assert_type(stream.data()["city"], str)
        assert_type(stream.final(), ParsedCompletion[City])
        for event in stream:
            assert_type(event, Union[DeltaEvent, ToolCallEvent, ToolCallDeltaEvent, DoneEvent])
    assert_type(client.ai.chat(messages=[], schema=Model).data(), Model)
    assert_type(client.ai.chat(messages=[], schema=Legacy).data(), Legacy)
    assert_type(client.ai.complete(messages=[], schema=Legacy).data, Legacy)
    assert_type(client.ai.with_response.chat(messages=[], schema=city).data.data(), City)


def other_calls(client: Postern) -> None:
    """Models, counts, endpoints and webhooks."""
    assert_type(client.models.available(), Sequence[AvailableModel])
    assert_type(client.ai.count_tokens(messages=[], schema=Model).prompt_tokens, int)
    assert_type(client.with_response.get("/v1/models").response.body, Union[str, None])
    event = verify_webhook(b"", {})
    if isinstance(event, BudgetThresholdEvent):
        assert_type(event.data.budget.limit, float)


def traced(request: OutgoingRequest) -> None:
    """A hook."""
    request.headers["traceparent"] = "00-…"


async def traced_later(request: OutgoingRequest) -> None:
    """A hook of the asynchronous client."""
    traced(request)


async def key() -> str:
    """A key of the asynchronous client."""
    return ""


def functions() -> None:
    """Keys and hooks."""
    Postern(api_key=lambda: "", on_request=traced)
    AsyncPostern(api_key=key, on_request=traced_later)
    AsyncPostern(api_key=lambda: "", on_request=traced)


async def asynchronous(client: AsyncPostern) -> None:
    """Types of the asynchronous client."""
    assert_type(await client.ai.complete(messages=[], schema=city), ParsedCompletion[City])
    assert_type(await client.ai.with_response.complete(messages=[]), WithResponse[Completion])
    assert_type(await client.models.list(), AsyncPage[RegistryEntry])
    async for entry in client.models.list():
        assert_type(entry, RegistryEntry)
    async with client.ai.chat(messages=[], schema=Model) as parsed:
        assert_type(await parsed.data(), Model)
        assert_type((await parsed.final()).data, Model)
    assert_type(await client.ai.with_response.chat(messages=[], schema=city), WithResponse[AsyncParsedChatStream[City]])
    async with client.ai.chat(messages=[]) as stream:
        assert_type(stream, AsyncChatStream)
    async for event in client.ai.chat(messages=[]):
        assert_type(event, DeltaEvent | ToolCallEvent | ToolCallDeltaEvent | DoneEvent)


def wrong(client: Postern) -> None:
    """Code that the type checker must reject, because an unneeded ignore comment is an error."""
    client.ai.complete()  # pyright: ignore[reportCallIssue]
    client.ai.complete(messages=[{"role": "robot", "content": ""}])  # pyright: ignore
    client.ai.complete(messages=[], quality="best")  # pyright: ignore
    client.ai.complete(messages=[{"role": "tool", "content": ""}])  # pyright: ignore
    client.ai.complete(messages=[], max_token=1)  # pyright: ignore
    client.ai.count_tokens(messages=[], cache_control="no-store")  # pyright: ignore
    client.get("/v1/models", {})  # pyright: ignore
    Postern(timeout=1)  # pyright: ignore
    Postern(api_key=key)  # pyright: ignore
    Postern(on_request=traced_later)  # pyright: ignore
    Postern(on_response=traced)  # pyright: ignore
