"""A trap: it listens on every address of this machine, on one port and on those of the web, and counts who comes."""

import socket
import threading
from contextlib import suppress
from typing import Self

from tests.servers import free_port

WEB = (80, 443)


class Trap:
    """Nobody may ever connect to it, for as long as the `with` block lasts."""

    def __init__(self) -> None:
        self.port = free_port()
        self.caught: list[str] = []
        self._sockets = [self._listening(socket.AF_INET, "", self.port)]
        for family, address in ((socket.AF_INET, ""), (socket.AF_INET6, "::")):
            for port in (self.port, *WEB):
                # Not everybody has IPv6, or may listen below 1024; and others may be there already.
                with suppress(OSError):
                    self._sockets.append(self._listening(family, address, port))

    def __enter__(self) -> Self:
        for listening in self._sockets:
            threading.Thread(target=self._accept, args=(listening,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for listening in self._sockets:
            # Closing alone does not wake up who waits for a connection.
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                self.caught.append(str(connection.getsockname()))
                connection.close()

    @staticmethod
    def _listening(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
        listening = socket.socket(family)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listening.bind((address, port))
            listening.listen()
        except OSError:
            listening.close()
            raise
        return listening
