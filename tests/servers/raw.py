"""A server that knows no protocol: a function does with each connection what it likes."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from tests.servers import HOST


class Raw:
    """Listens on loopback, in threads of its own, for as long as the `with` block lasts."""

    def __init__(self, does: Callable[[socket.socket], None]) -> None:
        self._does = does
        self._socket = socket.create_server((HOST, 0))
        self.port = self._socket.getsockname()[1]
        self.connections = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone does not wake up who waits for a connection.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def at(self, path: str, *, scheme: str = "http") -> str:
        """The whole address of a path."""
        return f"{scheme}://{HOST}:{self.port}{path}"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self._does(connection)


def says(*pieces: bytes) -> Callable[[socket.socket], None]:
    """Waits for a request, says this, and hangs up."""

    def does(connection: socket.socket) -> None:
        connection.recv(65536)
        for piece in pieces:
            connection.sendall(piece)

    return does
