"""A long way to a server: every byte arrives, each so many seconds later, and what is said is written down."""

import socket
import threading
import time
from contextlib import suppress
from queue import SimpleQueue
from typing import Self

from tests.servers import HOST

CHUNK = 262_144


class Distance:
    """Listens on a port of its own and passes on to another, both ways, as if that were far away."""

    def __init__(self, port: int, *, delay: float = 0, cut_after: int | None = None, remembers: bool = True) -> None:
        self._to, self._delay, self._remembers = port, delay, remembers
        # So many bytes of the server's come through; then the connection is lost, once.
        self._cut_after = cut_after
        self.said = bytearray()
        self.heard = 0
        self.connections = 0
        self._server = socket.create_server((HOST, 0))
        self.port: int = self._server.getsockname()[1]
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # A thread that waits in accept would otherwise keep the port.
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for one in self._open:
            one.close()

    def serve(self) -> None:
        """Pass on until the end."""
        with suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection((HOST, self._to))
                self.connections += 1
                self._open += [near, far]
                for one in (near, far):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._pass(near, far, is_client=True)
                self._pass(far, near, is_client=False)

    def cut(self) -> None:
        """Lose every connection."""
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _pass(self, source: socket.socket, target: socket.socket, *, is_client: bool) -> None:
        if not self._delay:
            threading.Thread(target=self._straight, args=(source, target, is_client), daemon=True).start()
            return
        on_the_way: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
        threading.Thread(target=self._take, args=(source, on_the_way, is_client), daemon=True).start()
        threading.Thread(target=self._give, args=(target, on_the_way), daemon=True).start()

    def _straight(self, source: socket.socket, target: socket.socket, is_client: bool) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                target.sendall(self._let_through(data, is_client))
                self._cut_if_due()
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def _take(self, source: socket.socket, on_the_way: "SimpleQueue[tuple[float, bytes]]", is_client: bool) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                on_the_way.put((time.monotonic() + self._delay, self._let_through(data, is_client)))
                self._cut_if_due()
        on_the_way.put((time.monotonic() + self._delay, b""))

    def _give(self, target: socket.socket, on_the_way: "SimpleQueue[tuple[float, bytes]]") -> None:
        with suppress(OSError):
            while True:
                due, data = on_the_way.get()
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                time.sleep(max(0, due - time.monotonic()))
                target.sendall(data)

    def _let_through(self, data: bytes, is_client: bool) -> bytes:
        if is_client:
            self.said += data if self._remembers else b""
            return data
        if self._cut_after is not None:
            data = data[: self._cut_after - self.heard]
        self.heard += len(data)
        return data

    def _cut_if_due(self) -> None:
        if self._cut_after is not None and self.heard >= self._cut_after:
            self._cut_after = None
            self.cut()
