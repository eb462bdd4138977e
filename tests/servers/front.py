"""What stands before a server on the internet: it speaks HTTPS with the world, and plainly with the server."""

import re
import socket

from tests.servers import HOST
from tests.servers.certificates import Certificate
from tests.servers.raw import Raw

LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)


class Front(Raw):
    """Takes encrypted connections on loopback and passes one question of each on."""

    def __init__(self, certificate: Certificate) -> None:
        super().__init__(self._pass_on)
        self.url = f"https://localhost:{self.port}"
        self._tls = certificate.for_server()
        self._to = 0

    def leads_to(self, port: int) -> None:
        """From now on that server answers."""
        self._to = port

    def _pass_on(self, client: socket.socket) -> None:
        with self._tls.wrap_socket(client, server_side=True) as heard:
            question = heard.recv(65_536)
            while not _is_whole(question):
                question += heard.recv(65_536)
            heard.sendall(self._answer(question))

    def _answer(self, question: bytes) -> bytes:
        # The server is told to hang up, so that its answer has an end.
        said = question.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
        with socket.create_connection((HOST, self._to)) as server:
            server.sendall(said)
            return b"".join(iter(lambda: server.recv(65_536), b""))


def _is_whole(question: bytes) -> bool:
    head, end, body = question.partition(b"\r\n\r\n")
    length = LENGTH.search(head)
    return bool(end) and len(body) >= int(length[1] if length else 0)
