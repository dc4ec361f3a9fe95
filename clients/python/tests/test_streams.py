# pyright: basic, reportPrivateUsage=none
"""The state of a stream after it was read."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import postern
from postern import Postern, PosternError

from .scripted import KEY

MESSAGES: Any = [{"role": "user", "content": "Hello!"}]


def test_a_stream_is_iterated_once() -> None:
    body = 'data: {"type":"delta","text":"Hi"}\n\ndata: {"type":"done","provider":"p","model":"m","usage":{}}\n\n'
    answered = {"text": body, "headers": {"content-type": "text/event-stream"}}
    http_client = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200, **answered)))
    client = Postern(api_key=KEY, http_client=http_client)
    for read in (list, postern.ChatStream.text):
        with client.ai.chat(messages=MESSAGES) as stream:
            read(stream)
            with pytest.raises(PosternError, match=r"was read before; final\(\) has the whole completion"):
                list(stream)
            assert stream.final().text == "Hi"
