# pyright: basic, reportPrivateUsage=none
"""The variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY, which httpx reads, with a small proxy."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from postern import APIConnectionError, AsyncPostern, Postern

from .scripted import HEALTH, KEY, Scripted

GATEWAY = "gateway.example"


class Proxy(BaseHTTPRequestHandler):
    """A proxy that responds in the gateway's place and opens no tunnels."""

    seen: list[tuple[str, dict[str, str]]]

    def do_GET(self) -> None:
        self._note()
        body = json.dumps(HEALTH["json"]).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self) -> None:
        self._note()
        self.send_error(403)

    def _note(self) -> None:
        self.seen.append((self.requestline, {name.lower(): value for name, value in self.headers.items()}))

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[Any]]]:
    """The URL of a proxy, and the requests that it received."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    handler: Any = type("Handler", (Proxy,), {"seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", handler.seen
    server.shutdown()
    thread.join()
    server.server_close()


def test_http_proxy(proxy: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    url, seen = proxy
    monkeypatch.setenv("HTTP_PROXY", url)
    with Postern(api_key=KEY, base_url=f"http://{GATEWAY}") as client:
        assert client.health.get().project_id == "proj_1"

    async def run() -> None:
        async with AsyncPostern(api_key=KEY, base_url=f"http://{GATEWAY}") as client:
            assert (await client.health.get()).project_id == "proj_1"

    asyncio.run(run())
    assert [line for line, _ in seen] == [f"GET http://{GATEWAY}/api/health HTTP/1.1"] * 2
    assert {headers["x-api-key"] for _, headers in seen} == {KEY}


def test_https_proxy_gets_no_key(proxy: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    url, seen = proxy
    monkeypatch.setenv("HTTPS_PROXY", url)
    with Postern(api_key=KEY, base_url=f"https://{GATEWAY}", retries=0, logging={"level": "off"}) as client:
        with pytest.raises(APIConnectionError) as caught:
            client.health.get()
    assert str(caught.value) == f"GET /api/health: connection to https://{GATEWAY} failed (403 Forbidden)"
    (line, headers) = seen[0]
    assert line == f"CONNECT {GATEWAY}:443 HTTP/1.1"
    assert KEY not in str(headers)


def test_no_proxy(proxy: tuple[str, list[Any]], monkeypatch: pytest.MonkeyPatch, scripted: Scripted) -> None:
    url, seen = proxy
    case = scripted.case(HEALTH)
    monkeypatch.setenv("HTTP_PROXY", url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Postern(api_key=KEY, base_url=case.url) as client:
        client.health.get()
    assert (len(case.requests()), seen) == (1, [])
