# pyright: basic, reportPrivateUsage=none
"""Structured output with pydantic models, of version 1 (as in Debian 12) or 2, whichever is installed."""

from __future__ import annotations

import asyncio
from typing import Any

import pydantic
import pytest

from postern import AsyncPostern, ConfigurationError, OutputValidationError, Postern

from .scripted import COMPLETION, DONE, KEY, Case, Scripted

MESSAGES: Any = [{"role": "user", "content": "The largest city of France"}]


class City(pydantic.BaseModel):
    city: str
    population: int = 0


CHECKS: list[Any] = [City, getattr(City, "model_validate" if hasattr(City, "model_validate") else "parse_obj")]


def client_of(cls: type[Any], case: Case) -> Any:
    """A client typed as Any, because the type of a schema's result is unknown if the schema's type is."""
    return cls(api_key=KEY, base_url=case.url)


def whole(text: str) -> dict[str, Any]:
    return {"json": {**COMPLETION["json"], "text": text}}


def streamed(text: str) -> dict[str, Any]:
    return {"sse": [{"type": "delta", "text": text[:5]}, {"type": "delta", "text": text[5:]}, DONE]}


@pytest.mark.parametrize("schema", CHECKS, ids=["class", "method"])
def test_a_model(scripted: Scripted, schema: Any) -> None:
    text = '{"city": "Paris", "population": 2100000}'
    case = scripted.case(whole(text), streamed(text), streamed(text))
    with client_of(Postern, case) as client:
        assert client.ai.complete(messages=MESSAGES, schema=schema).data == City(city="Paris", population=2_100_000)
        with client.ai.chat(messages=MESSAGES, schema=schema) as stream:
            assert isinstance(stream.data(), City) and stream.final().data == stream.data()

    async def run() -> None:
        async with client_of(AsyncPostern, case) as client:
            async with client.ai.chat(messages=MESSAGES, schema=schema) as stream:
                assert [event.type async for event in stream] == ["delta", "delta", "done"]
                assert (await stream.data()).population == 2_100_000
                assert await stream.text() == text

    asyncio.run(run())
    for request in case.requests():
        sent = request["body"]["responseSchema"]
        assert request["body"]["mode"] == "json"
        assert (sent["properties"]["city"]["type"], sent["required"]) == ("string", ["city"])


@pytest.mark.parametrize("schema", CHECKS, ids=["class", "method"])
def test_an_answer_that_a_model_refuses(scripted: Scripted, schema: Any) -> None:
    case = scripted.case(whole('{"population": "many"}'), streamed('{"population": "many"}'))
    with client_of(Postern, case) as client:
        for read in (client.ai.complete, lambda **params: client.ai.chat(**params).data()):
            with pytest.raises(OutputValidationError) as caught:
                read(messages=MESSAGES, schema=schema)
            assert {issue.path for issue in caught.value.issues} == {("city",), ("population",)}
            assert caught.value.completion.usage.cost_cents == 0.00034
            assert isinstance(caught.value.__cause__, pydantic.ValidationError)


def test_a_response_schema_comes_before_that_of_the_model(scripted: Scripted) -> None:
    case = scripted.case(whole('{"city": "Paris"}'))
    with client_of(Postern, case) as client:
        client.ai.complete(messages=MESSAGES, schema=City, response_schema={"type": "object"})
    assert case.requests()[0]["body"]["responseSchema"] == {"type": "object"}


def test_the_schema_of_a_model_is_counted(scripted: Scripted) -> None:
    case = scripted.case({"json": {"promptTokens": 20, "estimated": True, "provider": "mock", "model": "m"}})
    with client_of(Postern, case) as client:
        assert client.ai.count_tokens(messages=MESSAGES, schema=City).prompt_tokens == 20
    sent = case.requests()[0]["body"]
    assert (sent["mode"], sent["responseSchema"]["required"]) == ("json", ["city"])


def test_a_method_of_something_else_has_no_schema(scripted: Scripted) -> None:
    class Validator:
        def schema(self) -> dict[str, Any]:
            raise AssertionError("is no model")

        def check(self, value: Any) -> str:
            return value["city"]

    case = scripted.case(whole('{"city": "Paris"}'))
    with client_of(Postern, case) as client:
        assert client.ai.complete(messages=MESSAGES, schema=Validator().check).data == "Paris"
    assert "responseSchema" not in case.requests()[0]["body"]


def test_a_schema_that_is_none_sends_nothing(scripted: Scripted) -> None:
    case = scripted.case()
    with client_of(Postern, case) as client:
        for method in (client.ai.complete, client.ai.chat):
            with pytest.raises(ConfigurationError, match="pydantic model or a function"):
                method(messages=MESSAGES, schema={"type": "object"})
            with pytest.raises(TypeError, match="max_token"):
                method(messages=MESSAGES, max_token=5)
    assert case.requests() == []
