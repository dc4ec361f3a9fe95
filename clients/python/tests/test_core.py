# pyright: basic, reportPrivateUsage=none
"""The modules that make decisions and do no I/O."""

from __future__ import annotations

import ast
import random
import re
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from postern import ConfigurationError, Postern, types
from postern._calls import CallOptions, Reply, list_models
from postern._decode import Mismatch, decode
from postern._exchange import Begin, Head, Pause, Read, Send, exchange
from postern._prepare import prepare
from postern._retry import asked_pause_ms, pause_ms
from postern._secret import Secret
from postern._settings import resolve
from postern._sse import MAX_EVENT_BYTES, Decoder, EventTooLarge
from postern._waiting import Waiting
from postern.types import Completion, RegistryEntry, Transition, UsageReport

from .scripted import KEY, ROOT

SOURCE = ROOT / "clients/python/src/postern"
OPTIONS = "base_url environment timeout_ms retries idempotency governor logging headers query on_request on_response"
NONE: Any = dict.fromkeys(OPTIONS.split())
SETTINGS = resolve({}, api_key=KEY, **NONE)


def decoded(body: bytes, sizes: Any) -> list[str]:
    decoder, found = Decoder(), []
    while body:
        size = sizes()
        found += decoder.feed(body[:size])
        body = body[size:]
    return found


def reference(body: bytes) -> list[str]:
    """The events of a body, from its complete text. An event that does not end with a blank line is dropped."""
    found, data = [], []
    text = body.decode().removeprefix("\ufeff")
    for line in re.split("\r\n|\r|\n", text)[:-1]:
        if line == "":
            found += ["\n".join(data)] if data else []
            data = []
        elif line.partition(":")[0] == "data":
            data.append(line.partition(":")[2].removeprefix(" "))
    return found


def test_events_do_not_depend_on_the_chunks() -> None:
    numbers = random.Random(1)
    pieces = ["data", ":", " ", "\r", "\n", "\r\n", "\n\n", "data: x", "é€😀", ": ping", "id: 1", "\u2028", "\ufeff"]
    several = 0
    for _ in range(3000):
        body = "".join(numbers.choices(pieces, k=numbers.randrange(1, 30))).encode()
        want = reference(body)
        assert decoded(body, lambda: len(body)) == want, body
        assert decoded(body, lambda: 1) == want, body
        assert decoded(body, lambda: numbers.randrange(1, 6)) == want, body
        several += len(want) > 1
    assert several > 100


def test_an_event_of_the_largest_size() -> None:
    decoder = Decoder()
    line = b"data: " + b"x" * (MAX_EVENT_BYTES - 10)
    assert list(decoder.feed(line)) == []
    assert [len(data) for data in decoder.feed(b"\n\n")] == [MAX_EVENT_BYTES - 10]
    with pytest.raises(EventTooLarge):
        for _ in range(20):
            list(decoder.feed(b"data: " + b"x" * (1 << 20) + b"\n"))


def test_many_small_chunks_take_linear_time() -> None:
    decoder, scanned = Decoder(), 0
    for _ in range(2000):
        list(decoder.feed(b"x"))
        assert decoder._scanned == scanned + 1, "a line is scanned once"
        scanned = decoder._scanned


@pytest.mark.parametrize(
    ("headers", "want"),
    [
        ({}, None),
        ({"retry-after-ms": "12.5"}, 12.5),
        ({"retry-after-ms": "0", "retry-after": "2"}, 2000),
        ({"retry-after-ms": "-1", "retry-after": "1.5"}, 1500),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after-ms": "1e3"}, None),
        ({"retry-after-ms": "٣"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:30 GMT"}, 20_000),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT"}, None),
        ({"retry-after": "Thu, 99 Jan 1970 00:00:10 GMT"}, None),
    ],
)
def test_asked_pause(headers: dict[str, str], want: float | None) -> None:
    assert asked_pause_ms(headers, 10_000) == want


def test_pauses() -> None:
    assert [pause_ms(n, None, 0) for n in range(6)] == [375, 750, 1500, 3000, 6000, 6000]
    assert [pause_ms(n, None, 1) for n in range(6)] == [500, 1000, 2000, 4000, 8000, 8000]
    assert (pause_ms(0, 60_000, 0.5), pause_ms(0, 60_001, 0.5)) == (60_000, None)


def test_an_exchange_needs_no_io() -> None:
    call = list_models({}, CallOptions())
    steps = exchange(call, prepare(call, SETTINGS, "agent"), SETTINGS, lambda: 0.0, Waiting())

    def act(outcome: Any) -> Any:
        step = steps.send(outcome)
        while not isinstance(step, (Send, Read, Pause)):
            step = steps.send(Secret(KEY) if isinstance(step, Begin) else None)
        return step

    assert act(None) == Send()
    assert act(Head(503, {}, 1, 0)) == Read()
    assert act(b"{}") == Pause(375)
    assert act(None) == Send()
    assert act(Head(200, {}, 1, 0)) == Read()
    with pytest.raises(StopIteration) as end:
        act(b'{"models": [{"id": "mod_1"}], "next": null}')
    assert end.value.value.value.items[0].id == "mod_1"
    assert end.value.value.reply == Reply(200, {}, b'{"models": [{"id": "mod_1"}], "next": null}', 2)


def test_members_of_another_type_are_named_without_their_value() -> None:
    wrong = {"text": "", "usage": {"costCents": "secret"}}
    with pytest.raises(Mismatch, match="usage.costCents is not of the type float") as caught:
        decode(Completion, wrong)
    assert "secret" not in str(caught.value)
    with pytest.raises(Mismatch, match=r"history\[0\] is not an object"):
        decode(RegistryEntry, {"history": [1]})
    with pytest.raises(Mismatch, match="requests is not of the type int"):
        decode(UsageReport, {"models": {"m": {"requests": True}}})


def test_names_of_members() -> None:
    assert decode(Transition, {"from": "a", "to": "b", "by": "c", "at": "d"}) == Transition("a", "b", "c", "d", None)
    assert decode(UsageReport, {"models": {"gpt-4.1": {"cost": 1}}}).models["gpt-4.1"].cost == 1.0


def test_every_result_can_be_made_from_nothing() -> None:
    """A gateway that leaves out a field must not break a program."""
    classes: list[Any] = [value for value in vars(types).values() if is_dataclass(value)]
    results = [cls for cls in classes if any(item.name == "raw" for item in fields(cls))]
    assert len(results) >= 12
    for cls in results:
        if cls is not types.ParsedCompletion:
            assert decode(cls, {}).raw == {}


def test_only_the_shells_do_io() -> None:
    """The modules that make decisions import neither httpx nor a clock, a socket or an event loop."""
    io = {"asyncio", "httpx", "socket", "ssl", "threading", "time"}
    shells = {"_drain.py", "_certificates.py", "_functions.py"}
    for path in SOURCE.glob("*.py"):
        names = {
            alias.name.partition(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        assert path.name in shells or not names & io, path.name


def test_features_of_python_3_10_only() -> None:
    for path in SOURCE.rglob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 10))


def test_an_id_with_half_of_a_character_is_refused() -> None:
    with Postern(api_key=KEY) as client, pytest.raises(ConfigurationError):
        client.models.get("mod_\ud800")
