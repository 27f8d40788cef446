"""A server on loopback that sends exactly the bytes it is told, for faults that no well-behaved server makes."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

HOLD = "hold"
"""A step: keep the connection open and silent."""
RESET = "reset"
"""A step: close by a TCP reset."""

Step = bytes | str | float
Reply = Sequence[Step]


def response(status: int, body: bytes = b"", content_type: str = "application/json", **headers: str) -> Reply:
    """One answer with its length."""
    told = {"content-type": content_type, "content-length": str(len(body)), **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in told.items())
    return [f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body]


def stream(*steps: Step, content_type: str = "text/event-stream", close: bool = True) -> Reply:
    """An event stream, its pieces as chunks of the transfer; without `close` its proper end follows."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    chunks = [b"%x\r\n%b\r\n" % (len(step), step) if isinstance(step, bytes) else step for step in steps]
    return [head, *chunks, *([] if close else [b"0\r\n\r\n"])]


class RawServer:
    """Answers request after request with the next reply; the last one repeats. Use as an asynchronous context."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self._open: set[asyncio.StreamWriter] = set()
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.connections = 0
        self.base_url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in list(self._open):
            writer.close()

    @property
    def bodies(self) -> list[Any]:
        return [body for _, _, body in self.requests]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone, or the test is over
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.requests.append((head[0].split(" ")[1], headers, json.loads(body or b"null")))
        for step in reply:
            if step == HOLD:
                await asyncio.sleep(60)
            elif step == RESET:
                sock: socket.socket = writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
                return False
            elif isinstance(step, float):
                await asyncio.sleep(step)
            else:
                assert isinstance(step, bytes)
                writer.write(step)
                await writer.drain()
        return (reply[0].startswith(b"HTTP/1.1 ") and b"content-length" in reply[0]) or reply[-1] == b"0\r\n\r\n"  # type: ignore[union-attr]
