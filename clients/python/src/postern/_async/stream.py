"""A streamed completion."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Generic, TypeVar

from .._calls import Call, parsed
from .._chat import ChatState
from .._errors import APIAbortedError, PosternError, StreamError
from .._exchange import failed_record
from ..types import ChatEvent, Completion, Meta, ParsedCompletion, ResponseInfo, Usage
from .transport import FAILURES, AsyncAttempt, AsyncTransport, failed

Self = TypeVar("Self", bound="AsyncChatStream")
T = TypeVar("T")


class AsyncChatStream:
    """The events of a streamed completion, as they arrive: `delta` with a piece of the text, tool call events, then
    one `done`.

    You can iterate over the events once. Leaving the loop or the `with` block closes the connection, which ends the
    request.
    """

    def __init__(self, transport: AsyncTransport, attempt: AsyncAttempt, state: ChatState) -> None:
        self._transport = transport
        self._attempt = attempt
        self._state = state
        self._chunks = None if state.is_json else attempt.chunks()
        self._is_closed = False
        self._is_logged = False
        self._is_read = False

    @classmethod
    async def open(cls: type[Self], transport: AsyncTransport, call: Call[ChatState]) -> Self:
        """Sends the call and waits for the headers of its response."""
        attempt = transport.prepared(call)
        answered = await transport.send(call, attempt)
        return cls(transport, attempt, answered.value)

    @property
    def meta(self) -> Meta:
        """The gateway's metadata from the headers. The cost comes at the end: see `usage()`."""
        return self._state.reply.meta

    @property
    def response(self) -> ResponseInfo:
        """The status and headers of the response."""
        return ResponseInfo(self._state.reply.status, self._state.reply.headers)

    def __aiter__(self) -> AsyncIterator[ChatEvent]:
        if self._is_read:
            raise PosternError("The stream was read before; final() has the whole completion.")
        return self._events()

    async def _events(self) -> AsyncIterator[ChatEvent]:
        self._is_read = True
        try:
            for event in self._state.whole():
                yield event
            while not self._state.is_over:
                for event in self._state.feed(await self._chunk()):
                    yield event
                    if self._is_closed and self._state.done is None:
                        raise self._aborted()
            self._state.raise_failure()
            self._end()
            if self._chunks is not None:
                await self._attempt.drain(self._chunks)
        except StreamError as error:
            self._fail(error)
            raise
        finally:
            await self.close()

    async def text(self) -> str:
        """Reads to the end and returns the complete text, including the part that was read before."""
        return (await self._whole()).text

    async def usage(self) -> Usage:
        """Reads to the end and returns tokens and cost."""
        return (await self._whole()).usage

    async def final(self) -> Completion:
        """Reads to the end and returns the complete result."""
        return await self._whole()

    async def _whole(self) -> Completion:
        async for _ in self._events():
            pass
        return self._state.completion()

    async def close(self) -> None:
        """Closes the connection. Later reads raise APIAbortedError, unless the completion is complete."""
        self._is_closed = True
        await self._attempt.close()

    async def _chunk(self) -> bytes:
        """The next piece of the body. It is b"" at the end."""
        chunks = self._chunks
        if self._is_closed or chunks is None:
            if self._state.done is None:
                raise self._aborted()
            return self._state.end()
        try:
            async for chunk in chunks:
                return chunk
            return self._state.end()
        except FAILURES as error:
            if self._is_closed:
                raise self._aborted() from error
            return self._state.broke(failed(error))

    def _aborted(self) -> APIAbortedError:
        return APIAbortedError("The stream was closed before its end.")

    def _end(self) -> None:
        """Logs a stream the first time it is read to its end."""
        if not self._is_logged:
            self._is_logged = True
            for record in self._state.end_records(self._transport.settings.logging.content):
                self._transport.log.write(record)

    def _fail(self, error: StreamError) -> None:
        if not self._is_logged:
            self._is_logged = True
            reply = self._state.reply
            self._transport.log.write(failed_record(self._attempt.prepared, error, reply.attempts, reply.status))

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncChatStream(request_id={self.meta.request_id!r}, model={self.meta.model!r})"


class AsyncParsedChatStream(AsyncChatStream, Generic[T]):
    """A streamed completion that `schema` validates. Its events are those of any stream, and they arrive before the
    validation.
    """

    async def data(self) -> T:
        """Reads to the end and returns the result of `schema`; None if the completion has tool calls but no text.

        Raises:
            OutputValidationError: The output is not JSON, or `schema` rejected it.
        """
        return (await self.final()).data

    async def final(self) -> ParsedCompletion[T]:
        """Reads to the end and returns the complete result with `data`.

        Raises:
            OutputValidationError: The output is not JSON, or `schema` rejected it.
        """
        check: Any = self._state.check
        return parsed(await self._whole(), check)
