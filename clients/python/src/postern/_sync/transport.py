# Made from _async/transport.py by tools/unasync.py. Change that file.
"""Uses httpx to carry out the steps of an exchange."""

from __future__ import annotations

import copy
import platform
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import httpx

from .._calls import Call, Reply
from .._certificates import certificates
from .._drain import drain
from .._errors import ConfigurationError, PosternError
from .._exchange import (
    MAX_BODY_BYTES,
    Answered,
    Arrived,
    Begin,
    Failed,
    Head,
    Outcome,
    Pause,
    Read,
    Step,
    TooLarge,
    exchange,
)
from .._functions import called
from .._headers import checked_headers
from .._logs import Log, Record
from .._prepare import Prepared, prepare
from .._secret import Secret
from .._settings import Settings, key_of_function
from .._version import __version__
from .._waiting import Waiting
from ..types import ResponseInfo, WithResponse

T = TypeVar("T")

USER_AGENT = f"postern-python/{__version__} (python {platform.python_version()}; httpx {httpx.__version__})"
LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)
FAILURES = (httpx.HTTPError, httpx.StreamError, OSError)


def pause_for(ms: float) -> None:
    """Waits before the next attempt."""
    time.sleep(ms / 1000)


def failed(error: Exception) -> Failed:
    """Maps an httpx exception to a failure."""
    kind = "timeout" if isinstance(error, httpx.TimeoutException) else "connection"
    # The message of a LocalProtocolError can contain the value of a header.
    return Failed(kind, error, is_shown=not isinstance(error, httpx.LocalProtocolError))


class Transport:
    """Sends the calls of one client."""

    def __init__(self, settings: Settings, http_client: httpx.Client | None) -> None:
        if http_client is not None and not isinstance(http_client, httpx.Client):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError("http_client must be an httpx.Client.")
        self.settings = settings
        self.log = Log(settings.logging)
        if settings.insecure_host is not None:
            self.log.write(Record("warn", "insecure_base_url", {"host": settings.insecure_host}))
        self.projects: dict[str, str] = {}
        """The key's project, once it is known."""
        self._is_own = http_client is None
        self._http = http_client or httpx.Client(limits=LIMITS, verify=certificates(), follow_redirects=False)
        self._last: Reply | None = None
        self._waiting = Waiting()
        self._pause: Callable[[float], None] = pause_for
        self._random: Callable[[], float] = random.random

    def call(self, call: Call[T]) -> T:
        """The result of a call."""
        answered = self.send(call, self.prepared(call))
        return answered.value

    def prepared(self, call: Call[T]) -> Attempt:
        """A call that is ready to be sent."""
        return Attempt(self._http, prepare(call, self.settings, USER_AGENT), self.settings)

    def send(self, call: Call[T], attempt: Attempt) -> Answered[T]:
        """Runs an exchange. A streaming response stays open."""
        if self._http.is_closed:
            raise ConfigurationError("This client is closed. Make a new one.")
        steps = exchange(call, attempt.prepared, self.settings, self._random, self._waiting)
        outcome: Outcome = None
        try:
            while True:
                try:
                    step = steps.send(outcome)
                except StopIteration as end:
                    answered: Answered[T] = end.value
                    self._last = answered.reply
                    return answered
                outcome = self._do(step, attempt)
        except BaseException:
            steps.close()
            attempt.close()
            raise

    def _do(self, step: Step, attempt: Attempt) -> Outcome:
        if isinstance(step, Record):
            self.log.write(step)
            return None
        if isinstance(step, Pause):
            self._pause(step.ms)
            return None
        if isinstance(step, Begin):
            return attempt.begin(step.attempt)
        if isinstance(step, Arrived):
            return attempt.arrived(step.attempt, step.head)
        return (attempt.read() if isinstance(step, Read) else attempt.send())

    def recording(self) -> Transport:
        """The same transport, for one call that returns its result with the response."""
        return copy.copy(self)

    def with_response(self, data: T) -> WithResponse[T]:
        """A result with the last response."""
        reply = self._last
        if reply is None:
            raise PosternError("No response was received.")
        body = None if reply.body is None else reply.body.decode("utf-8", "replace")
        return WithResponse(data, ResponseInfo(reply.status, reply.headers, body), reply.meta)

    def close(self) -> None:
        """Closes the connections, unless they belong to the caller's own httpx client."""
        if self._is_own:
            self._http.close()

    def __repr__(self) -> str:
        return f"Transport(base_url={self.settings.base_url!r})"


class Attempt:
    """The HTTP request that is in progress."""

    def __init__(self, http: httpx.Client, prepared: Prepared, settings: Settings) -> None:
        self.prepared = prepared
        self._http = http
        self._settings = settings
        self._key: Secret | None = None
        self._headers = prepared.headers
        self._response: httpx.Response | None = None
        self._deadline = 0.0

    def begin(self, number: int) -> Secret:
        """Gets the key for an attempt and calls the request hook."""
        self._key = key = self._current_key()
        self._headers = self.prepared.headers
        hook = self._settings.on_request
        if hook is not None:
            request = self.prepared.outgoing(number)
            called("on_request", hook, self.prepared.timeout_ms, request)
            self._headers = checked_headers("on_request", request.headers)
        return key

    def _current_key(self) -> Secret:
        source = self._settings.api_key
        if isinstance(source, Secret):
            return source
        try:
            value = called("api_key", source, self.prepared.timeout_ms)
        except Exception as error:
            reason = type(error).__name__
        else:
            return key_of_function(value, self._settings)
        # Raised outside the except block, so that nothing refers to the function's error, whose message may contain a
        # secret.
        raise ConfigurationError(f"The function api_key failed ({reason}).")

    def arrived(self, number: int, head: Head) -> None:
        """Calls the response hook. The time that the hook takes is not attributed to the gateway."""
        hook = self._settings.on_response
        if hook is not None:
            started = time.monotonic()
            response = self.prepared.incoming(number, head.status, head.headers, head.took_ms)
            called("on_response", hook, self.prepared.timeout_ms, response)
            self._deadline += time.monotonic() - started

    def send(self) -> Outcome:
        """Sends the request and waits for the headers of the response."""
        prepared, key = self.prepared, self._key
        assert key is not None
        started = time.monotonic()
        self._deadline = started + prepared.timeout_ms / 1000
        request = self._http.build_request(
            prepared.method,
            prepared.url,
            headers={**self._headers, "x-api-key": key.reveal()},
            content=prepared.content,
            timeout=prepared.timeout_ms / 1000,
        )
        try:
            # The empty auth keeps httpx 0.23 from sending a password from ~/.netrc.
            response = self._http.send(request, auth=httpx.Auth(), stream=True, follow_redirects=False)
        except FAILURES as error:
            return failed(error)
        self._response = response
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Head(response.status_code, headers, (time.monotonic() - started) * 1000, time.time() * 1000)

    def read(self) -> Outcome:
        """Reads the entire body within the rest of the attempt's time."""
        response = self._response
        assert response is not None
        body = bytearray()
        try:
            # httpcore looks up the timeout when it starts to read the body.
            extensions = cast(Any, response.request).extensions
            extensions["timeout"]["read"] = max(self._deadline - time.monotonic(), 0.001)
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    return TooLarge()
                if time.monotonic() > self._deadline:
                    return Failed("timeout", TimeoutError("The body took too long."))
            return bytes(body)
        except FAILURES as error:
            return failed(error)
        finally:
            self.close()

    def chunks(self) -> Iterator[bytes]:
        """The body of a stream, in pieces."""
        response = self._response
        assert response is not None
        return response.iter_bytes()

    def drain(self, chunks: Iterator[bytes]) -> None:
        """Reads the rest of the body after the last event of a stream."""
        if self._response is not None:
            drain(self._response, chunks)

    def close(self) -> None:
        """Closes the response. A body that was not read to its end closes the connection."""
        response, self._response = self._response, None
        if response is not None:
            response.close()
