"""Smoke tests against the real gateway: TEST_TARGET chooses workerd or `postern serve`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from postern import (
    AsyncPostern,
    AuthenticationError,
    BadRequestError,
    BudgetExceededError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
    Postern,
)

from .gateway import Gateway


@pytest.fixture
def production(gateway: Gateway) -> Iterator[Postern]:
    with Postern(api_key=gateway.productionKey, base_url=gateway.url) as client:
        yield client


@pytest.fixture
def project(gateway: Gateway) -> Iterator[Postern]:
    with Postern(api_key=gateway.projectKey, base_url=gateway.url) as client:
        yield client


def test_complete(production: Postern) -> None:
    result = production.ai.with_response.complete(messages=[{"role": "user", "content": "count to 3"}], quality="cheap")
    completion = result.data
    assert completion.text == "1 2 3"
    assert completion.usage.cost_cents > 0
    assert result.meta == completion.meta
    assert result.meta.cost_cents == completion.usage.cost_cents
    assert completion.attempts == 1
    assert result.meta.attempts is not None and result.meta.attempts.count == 1
    assert result.meta.request_id == result.response.headers["x-request-id"]


def test_chat(production: Postern) -> None:
    with production.ai.chat(messages=[{"role": "user", "content": "count to 5"}]) as stream:
        events = list(stream)
    text = "".join(event.text for event in events if event.type == "delta")
    assert text == "1 2 3 4 5" == stream.text()
    assert events[-1].type == "done"
    assert stream.usage().cost_cents > 0
    assert stream.final().model == stream.meta.model


def test_async(gateway: Gateway) -> None:
    async def run() -> None:
        async with AsyncPostern(api_key=gateway.productionKey, base_url=gateway.url) as client:
            completions = await asyncio.gather(
                *(client.ai.complete(messages=[{"role": "user", "content": f"count to {n}"}]) for n in range(1, 6))
            )
            assert [len(completion.text.split()) for completion in completions] == [1, 2, 3, 4, 5]
            async with client.ai.chat(messages=[{"role": "user", "content": "count to 2"}]) as stream:
                assert await stream.text() == "1 2"

    asyncio.run(run())


def test_streams_keep_their_connection(gateway: Gateway) -> None:
    steps: list[str] = []

    class Transport(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            request.extensions = {**request.extensions, "trace": lambda name, _: steps.append(name)}  # pyright: ignore
            return super().handle_request(request)

    with httpx.Client(transport=Transport()) as http:
        client = Postern(api_key=gateway.developmentKey, base_url=gateway.url, http_client=http)
        for _ in range(3):
            assert client.ai.chat(messages=[{"role": "user", "content": "Hello!"}]).text()
        client.health.get()
    assert len([name for name in steps if name.endswith("connect_tcp.complete")]) == 1


def test_idempotency(production: Postern) -> None:
    first, again = (
        production.ai.complete(messages=[{"role": "user", "content": "count to 2"}], idempotency="count-2")
        for _ in range(2)
    )
    assert first.text == again.text
    assert (first.meta.replayed, again.meta.replayed) == (False, True)


def test_schema(gateway: Gateway, production: Postern) -> None:
    def keys(value: Any) -> list[str]:
        return sorted(value)

    completion = production.ai.complete(messages=[{"role": "user", "content": "json please"}], schema=keys)
    assert isinstance(completion.data, list)
    assert json.loads(completion.text) is not None


WEATHER: Any = {
    "name": "weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def test_tools(gateway: Gateway) -> None:
    question: Any = {"role": "user", "content": "Weather?"}
    with Postern(api_key=gateway.developmentKey, base_url=gateway.url) as client:
        answer = client.ai.complete(messages=[question], tools=[WEATHER])
        (call,) = answer.tool_calls
        assert (call.name, answer.finish_reason) == ("weather", "tool_calls")
        assert isinstance(call.arguments["city"], str)
        with client.ai.chat(messages=[question], tools=[WEATHER]) as stream:
            assert {event.type for event in stream} == {"toolCall", "toolCallDelta", "done"}
            assert [call.arguments for call in stream.final().tool_calls] == [call.arguments]
        final = client.ai.complete(
            messages=[
                question,
                {"role": "assistant", "toolCalls": answer.tool_calls},
                {"role": "tool", "toolCallId": call.id, "content": "rain"},
            ],
            tools=[WEATHER],
            tool_choice="none",
        )
        assert (final.tool_calls, final.finish_reason) == ((), "stop")
        with pytest.raises(BadRequestError) as alone:
            client.ai.complete(messages=[question], tool_choice="auto")
        assert alone.value.details[0].field == "toolChoice"


def test_model_and_parts(gateway: Gateway) -> None:
    with Postern(api_key=gateway.developmentKey, base_url=gateway.url) as client:
        image = "data:image/png;base64,iVBORw0KGgo="
        model = client.ai.complete(messages=[{"role": "user", "content": "Hello!"}]).model
        content: Any = [{"type": "text", "text": "What is this?"}, {"type": "image", "imageUrl": image}]
        assert client.ai.complete(model=model, messages=[{"role": "user", "content": content}]).model == model
        with pytest.raises(NotFoundError):
            client.ai.complete(model="no-such-model", messages=[{"role": "user", "content": content}])
        content[1]["imageUrl"] = "http://example.com/a.png"
        with pytest.raises(BadRequestError) as wrong:
            client.ai.complete(messages=[{"role": "user", "content": content}])
        assert wrong.value.details[0].field == "messages[0].content[1].imageUrl"


class City:
    """The part of a pydantic model that the library uses."""

    def __init__(self, name: str, population: int) -> None:
        self.name, self.population = name, population

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"name": {"type": "string"}, "population": {"type": "integer"}},
            "required": ["name", "population"],
        }

    @classmethod
    def model_validate(cls, obj: Any) -> City:
        return cls(**obj)


def test_schema_of_a_model(gateway: Gateway) -> None:
    async def run() -> None:
        async with AsyncPostern(api_key=gateway.developmentKey, base_url=gateway.url) as client:
            messages: Any = [{"role": "user", "content": "A city"}]
            for schema in (City, City.model_validate):
                answer = await client.ai.complete(messages=messages, schema=schema)
                assert isinstance(answer.data.population, int)

    asyncio.run(run())


def test_a_stream_with_a_schema(gateway: Gateway) -> None:
    with Postern(api_key=gateway.developmentKey, base_url=gateway.url) as client:
        with client.ai.chat(messages=[{"role": "user", "content": "A city"}], schema=City) as stream:
            assert [event.type for event in stream][-1] == "done"
            assert isinstance(stream.data(), City) and stream.final().data.name == stream.data().name


def test_available_models(production: Postern, project: Postern) -> None:
    for client in (production, project):
        owners = {model.id: model.owned_by for model in client.models.available()}
        assert owners["balanced"] == "postern" and set(owners.values()) > {"postern"}


def test_count_tokens(gateway: Gateway, production: Postern) -> None:
    question: Any = [{"role": "user", "content": "count to 3"}]
    with Postern(api_key=gateway.developmentKey, base_url=gateway.url) as development:
        for client in (production, development):
            counted = client.ai.count_tokens(messages=question, quality="cheap", tools=[WEATHER])
            assert 0 < client.ai.count_tokens(messages=question, quality="cheap").prompt_tokens < counted.prompt_tokens
            assert counted.meta.request_id and counted.model and counted.provider
    with pytest.raises(BadRequestError):
        production.ai.count_tokens(messages=[])


def test_any_endpoint(gateway: Gateway, production: Postern) -> None:
    listed = production.with_response.get("/v1/models")
    assert json.loads(listed.response.body or "") == listed.data
    body = {"model": "balanced", "input": "count to 3"}
    first, again = (production.with_response.post("/v1/responses", body, idempotency="responses-3") for _ in range(2))
    assert first.data["output"][0]["content"][0]["text"] == "1 2 3"
    assert (first.data, again.meta.replayed) == (again.data, True)
    with pytest.raises(NotFoundError):
        production.post("/v1/nothing", {})


def test_functions_and_hooks(gateway: Gateway) -> None:
    seen: list[Any] = []

    async def key() -> str:
        return gateway.productionKey

    async def run() -> None:
        options: Any = {"on_request": seen.append, "on_response": seen.append, "headers": {"x-team": "core"}}
        async with AsyncPostern(api_key=key, base_url=gateway.url, query={"tenant": "blue"}, **options) as client:
            assert (await client.health.get()).project_id == gateway.projectId

    asyncio.run(run())
    assert [event.path for event in seen] == ["/api/health"] * 2
    assert seen[0].headers["x-team"] == "core" and seen[1].request_id.startswith("req_")


def test_embed(gateway: Gateway) -> None:
    async def run() -> None:
        async with AsyncPostern(api_key=gateway.developmentKey, base_url=gateway.url) as client:
            made = await client.ai.embed(model="text-embedding-3-small", input=["one", "two"], dimensions=4)
            assert [len(vector) for vector in made.embeddings] == [4, 4]
            with pytest.raises(NotFoundError):
                await client.ai.embed(model="no-such-model", input="one")

    asyncio.run(run())


def test_usage_and_health(gateway: Gateway, production: Postern) -> None:
    assert production.health.get().project_id == gateway.projectId
    report = production.usage.get(period="day")
    assert report.budget.remaining <= report.budget.limit
    assert report.period.start < report.period.end


def test_errors(gateway: Gateway, production: Postern) -> None:
    messages: Any = [{"role": "user", "content": "Hello!"}]
    with Postern(api_key=gateway.emptyKey, base_url=gateway.url) as client:
        with pytest.raises(BudgetExceededError) as budget:
            client.ai.complete(messages=messages)
        assert budget.value.code == "budget_exceeded"
        spent = budget.value.budget
        assert spent is not None
        assert (spent.level, spent.name, spent.unit, spent.period) == ("project", None, "dollars", "month")
        assert spent.id.startswith("proj_")
        assert spent.resets_at == budget.value.resets_at
        with pytest.raises(BudgetExceededError):
            client.ai.chat(messages=messages)
    with Postern(api_key="sk_live_wrong", base_url=gateway.url) as client, pytest.raises(AuthenticationError):
        client.health.get()
    with pytest.raises(BadRequestError) as bad:
        production.ai.complete(messages=[], temperature=3)
    assert {problem.field for problem in bad.value.details} >= {"temperature"}
    with pytest.raises(PermissionDeniedError):
        production.violations.list()


def test_governor(production: Postern) -> None:
    validation = production.governor.validate(text="Mail me at jane.doe@example.com")
    assert validation.findings[0].rule == "personal.email"
    batch = production.governor.validate(texts=["a", "b"], governor={"strict_mode": True})
    assert [result.approved for result in batch.results] == [True, True]


def test_models(project: Postern) -> None:
    entry = project.models.create(model="gpt-4.1-mini", owner="Search team", data_classes=["customer data"])
    assert (entry.state, entry.owner, entry.data_classes) == ("pending", "Search team", ("customer data",))
    changed = project.models.update(entry.id, owner=None, version=entry.version)
    assert changed.owner is None and changed.data_classes == ("customer data",)
    with pytest.raises(ConflictError):
        project.models.update(entry.id, purpose="Answers", version=entry.version)
    moved = project.models.transition(entry.id, to="approved", reason="Reviewed", version=changed.version)
    assert (moved.state, moved.history[-1].from_state, moved.history[-1].to_state) == ("approved", "pending", "approved")
    assert project.models.get(entry.id).approvals[0].reason == "Reviewed"
    assert entry.id in [listed.id for listed in project.models.list(limit=1)]


def test_violations(project: Postern) -> None:
    assert list(project.violations.list(state="open", from_="2026-01-01")) == []
    with pytest.raises(NotFoundError):
        project.violations.get("vio_0")
    for malformed in ("nonsense", "a/b", "vio_ü"):
        with pytest.raises(NotFoundError, match="must be a violation ID"):
            project.violations.get(malformed)


def test_compliance(gateway: Gateway, project: Postern) -> None:
    lines = list(project.compliance.export(type="audit", limit=1))
    assert lines[0].is_header and json.loads(lines[0].line) == lines[0].data
    assert sum(line.is_header for line in lines) > 1
    assert any(line.data.get("kind") == "key.create" for line in lines)
    assert project.compliance.bom()["bomFormat"] == "CycloneDX"
    summary = project.compliance.summary()
    assert summary.project.id == gateway.projectId and summary.registry.enforcement == "off"
    governor = summary.governor
    assert governor.system == governor.input and sum(governor.system.values()) > 100
    assert governor.exempt_agent_addresses and governor.exemptions == 0
