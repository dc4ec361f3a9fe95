# pyright: basic, reportPrivateUsage=none
"""Errors that are passed to another process."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import httpx
import pytest

import postern
from postern import OutputValidationError, Postern, PosternError, StreamError

from .scripted import KEY


def _refused() -> None:
    """The work of another process: a call with an unknown key."""
    answer = httpx.Response(401, json={"error": "Invalid API key", "code": "unauthorized", "requestId": "req_1"})
    transport = httpx.MockTransport(lambda request: answer)
    with httpx.Client(transport=transport) as http_client:
        Postern(api_key=KEY, http_client=http_client, logging={"level": "off"}).health.get()


def test_an_error_crosses_from_a_worker_process() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        error = pool.submit(_refused).exception(timeout=60)
    assert isinstance(error, postern.AuthenticationError)
    assert (error.status, error.code, error.request_id) == (401, "unauthorized", "req_1")
    assert error.headers["content-type"] == "application/json"


def test_every_error_survives_pickle_and_copy() -> None:
    finding = postern.types.Finding("personal.email", "personal", "medium", "block", "messages[0].content", 0, 5)
    fields: Any = {"text": "Blocked", "status": 422, "code": "c", "findings": (finding,), "headers": {"retry-after": "2"}}
    usage = postern.types.Usage(1, 2, 3, 0.5)
    completion = postern.types.Completion("{}", "p", "m", False, usage)
    issues: Any = [postern.types.Issue("is not JSON")]
    made: dict[type, PosternError] = {
        postern.InvalidResponseError: postern.InvalidResponseError("no", status=200, request_id="req_1"),
        OutputValidationError: OutputValidationError("no", issues=issues, completion=completion),
        postern.WebhookVerificationError: postern.WebhookVerificationError("no", code="invalid_signature"),
        StreamError: StreamError("no", code="connection_lost", request_id=None, text="Hel"),
    }
    for name in dir(postern):
        cls = getattr(postern, name)
        if not (inspect.isclass(cls) and issubclass(cls, PosternError)):
            continue
        error = made.get(cls) or (cls("no", **fields) if issubclass(cls, postern.APIError) else cls("no"))
        for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            assert type(again) is cls
            assert (str(again), vars(again)) == (str(error), vars(error))


def test_a_key_does_not_leave_its_process() -> None:
    client = Postern(api_key=KEY)
    for value in (client, client.ai, client._transport, client._transport.settings, client._transport.settings.api_key):
        with pytest.raises(TypeError):
            pickle.dumps(value)
        assert KEY.removeprefix("sk_test_") not in repr(value)
    settings = copy.deepcopy(client._transport.settings)
    assert settings == client._transport.settings
    client.close()
