"""The events of a streamed completion: chunks in, events out. No I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from ._calls import Call, CallOptions, Reply, chat_call, parse_json, read_completion, schema_check
from ._decode import Mismatch, decode
from ._errors import StreamError
from ._exchange import Failed, listed
from ._logs import Record
from ._sse import Decoder, EventTooLarge
from .types import (
    ChatEvent,
    Completion,
    DeltaEvent,
    DoneEvent,
    Finding,
    ToolCall,
    ToolCallDeltaEvent,
    ToolCallEvent,
)

DONE = "[DONE]"


def chat(params: Mapping[str, object], options: CallOptions) -> Call[ChatState]:
    """POST /api/ai/chat. With a schema, the complete output is validated at the end."""
    check = schema_check(params)

    def read(reply: Reply) -> ChatState:
        if reply.body is None:
            return ChatState(reply, check=check)
        if reply.media_type != "application/json":
            raise reply.invalid("The response is not a stream of events.")
        return ChatState(reply, read_completion(reply), check)

    return replace(chat_call("/api/ai/chat", params, options, read), is_stream=True)


class ChatState:
    """The part of a completion that has arrived."""

    def __init__(
        self, reply: Reply, completion: Completion | None = None, check: Callable[[Any], Any] | None = None
    ) -> None:
        self.reply = reply
        self.check = check
        """The function that turns the JSON output into data; None without a schema."""
        self._completion = completion
        self.is_json = completion is not None
        """Whether the response is a single JSON object."""
        self.done: DoneEvent | None = None
        self.is_over = False
        """Whether the completion is complete or has failed. Anything that follows does not matter."""
        self.error: StreamError | None = None
        self._decoder = Decoder()
        self._texts: list[str] = []
        self._tool_calls: dict[int, ToolCallEvent] = {}
        self._arguments: dict[int, list[str]] = {}

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._texts)

    def whole(self) -> list[ChatEvent]:
        """The events of a response that arrived as JSON. There are none for a stream."""
        completion = self._completion
        if completion is None or self.is_over:
            return []
        done = DoneEvent(
            "done",
            completion.provider,
            completion.model,
            completion.cache_hit,
            completion.usage,
            completion.governor,
            completion.finish_reason,
            completion.attempts,
            completion.latency_ms,
            completion.raw,
        )
        events: list[ChatEvent] = [DeltaEvent("delta", completion.text)] if completion.text else []
        for index, call in enumerate(completion.tool_calls):
            arguments = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
            events.append(ToolCallEvent("toolCall", index, call.id, call.name))
            events.append(ToolCallDeltaEvent("toolCallDelta", index, arguments))
        self._texts, self.done, self.is_over = [completion.text], done, True
        return [*events, done]

    def feed(self, chunk: bytes) -> Iterator[ChatEvent]:
        """The events that end in this chunk. A failed stream raises an error after the events that preceded the
        failure.
        """
        try:
            for data in self._decoder.feed(chunk):
                if self.is_over:
                    return
                if data == DONE:
                    self.end()
                    return
                event = self._event(data)
                if event is not None:
                    yield event
        except EventTooLarge:
            if not self.is_over:
                raise self._failed("An event of the stream is larger than 16 MiB.", "event_too_large") from None

    def end(self) -> bytes:
        """Handles the end of the body. Returns its last piece, b"", as `broke` does."""
        self.is_over = True
        if self.done is None:
            raise self._failed("The stream ended before the answer was whole.", "incomplete_stream")
        return b""

    def broke(self, failed: Failed) -> bytes:
        """Handles a failed connection, which is not an error once the completion is complete."""
        self.is_over = True
        if self.done is not None:
            return b""
        if failed.kind == "timeout":
            raise self._failed("The stream paused for too long.", "idle_timeout") from failed.cause
        raise self._failed("The connection broke during the stream.", "connection_lost") from failed.cause

    def raise_failure(self) -> None:
        """Raises the stream's error if it has already failed."""
        if self.error is not None:
            raise self.error

    def end_records(self, with_content: bool) -> list[Record]:
        """The log records of a stream that was read to its end. A JSON body has already been logged."""
        is_shown = with_content and not self.is_json
        return [Record("debug", "response_body", {"body": self.text})] if is_shown else []

    def completion(self) -> Completion:
        """The complete result. The stream must be complete."""
        done = self.done
        assert done is not None
        whole = self._completion
        return Completion(
            self.text,
            done.provider,
            done.model,
            done.cache_hit,
            done.usage,
            done.governor,
            self._calls() if whole is None else whole.tool_calls,
            done.finish_reason,
            done.attempts,
            done.latency_ms,
            self.reply.meta,
            done.raw,
        )

    def _calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of a stream, by their index."""
        begun = sorted(self._tool_calls.items())
        return tuple(ToolCall(call.id, call.name, _object("".join(self._arguments[i]))) for i, call in begun)

    def _tool_event(self, kind: str, members: dict[str, Any]) -> ChatEvent:
        for name in ("index", "id", "name") if kind == "toolCall" else ("index", "arguments"):
            if members.get(name) is None:
                raise Mismatch(f"{name} is missing")
        if kind == "toolCall":
            call = decode(ToolCallEvent, members)
            self._tool_calls[call.index], self._arguments[call.index] = call, []
            return call
        piece = decode(ToolCallDeltaEvent, members)
        if piece.index in self._arguments:
            self._arguments[piece.index].append(piece.arguments)
        return piece

    def _event(self, data: str) -> ChatEvent | None:
        value = parse_json(data.encode("utf-8", "replace"))
        if not isinstance(value, dict):
            raise self._failed("An event of the stream is not a JSON object.", "invalid_event")
        members = cast(dict[str, Any], value)
        kind = members.get("type")
        try:
            if kind == "delta":
                delta = decode(DeltaEvent, members)
                self._texts.append(delta.text)
                return delta if delta.text else None
            if kind in ("toolCall", "toolCallDelta"):
                return self._tool_event(kind, members)
            if kind == "done":
                self.done = decode(DoneEvent, members)
                self.is_over = True
                return self.done
        except Mismatch as mismatch:
            raise self._failed(f"An event of the stream is not as described: {mismatch}.", "invalid_event") from None
        if kind == "error":
            raise self._failed_by(members)
        return None

    def _failed_by(self, members: dict[str, Any]) -> StreamError:
        """The error for the server's error event."""
        text, code, request_id = members.get("error"), members.get("code"), members.get("requestId")
        return self._failed(
            text if isinstance(text, str) else "The stream failed.",
            code if isinstance(code, str) else "unknown",
            request_id if isinstance(request_id, str) else None,
            listed(Finding, members.get("findings")),
        )

    def _failed(
        self, message: str, code: str, request_id: str | None = None, findings: tuple[Finding, ...] = ()
    ) -> StreamError:
        self.is_over = True
        request_id = request_id or self.reply.headers.get("x-request-id")
        self.error = StreamError(message, code=code, request_id=request_id, findings=findings, text=self.text)
        return self.error


def _object(text: str) -> Mapping[str, Any]:
    """Arguments as the gateway returns them in a non-streaming response."""
    value: object = parse_json(text.encode("utf-8", "replace")) if text else {}
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {"_invalid": text}
