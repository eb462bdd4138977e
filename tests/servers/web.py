"""A website that does as it is told: one answer for each path, and it remembers who asked for what."""

import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from tests.servers import HOST


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Page:
    """What a path answers."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


# A path may also be answered by a function: with a page, or by hand, then it returns nothing.
Answer = Page | Callable[[BaseHTTPRequestHandler], Page | None]


class Web:
    """Listens on loopback, in threads of its own, for as long as the `with` block lasts."""

    def __init__(self, host: str = HOST, *, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self._answers: dict[str, Answer] = {}
        self._server = ThreadingHTTPServer((host, 0), self._handler())
        self._server.daemon_threads = True
        if tls:
            # The handshake is the business of the connection's own thread: nobody waits for one that fails.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://{host}:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Nobody answers any more."""
        self._server.shutdown()
        self._server.server_close()

    def at(self, path: str) -> str:
        """The whole address of a path."""
        return self.url + path

    def serves(
        self,
        path: str,
        body: bytes | str = b"",
        *,
        status: int = 200,
        kind: str = "application/rss+xml",
        **headers: str,
    ) -> str:
        """From now on the path answers this; a header is written `last_modified="…"`. Says the whole address."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        said = body.encode() if isinstance(body, str) else body
        self._answers[path] = Page(said, status, {"Content-Type": kind} | named)
        return self.at(path)

    def answers(self, path: str, answer: Callable[[BaseHTTPRequestHandler], Page | None]) -> str:
        """From now on this function answers the path."""
        self._answers[path] = answer
        return self.at(path)

    def forgets(self, path: str) -> None:
        """The path answers 404 again."""
        self._answers.pop(path, None)

    def times(self, path: str) -> int:
        """How often a path was asked for."""
        return sum(1 for asked in self.asked if asked.path == path)

    def _handler(web) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                # Whoever asks may hang up at any time, and that is no news.
                with suppress(OSError):
                    super().handle()

            def finish(self) -> None:
                with suppress(OSError):
                    super().finish()

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                path = self.path.partition("?")[0]
                web.asked.append(Asked(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                answer = web._answers.get(path, Page(b"there is nothing here", 404))
                page = answer(self) if callable(answer) else answer
                if page is not None:
                    self._send(page)

            do_POST = do_GET  # noqa: N815

            def _send(self, page: Page) -> None:
                self.send_response(page.status)
                for name, value in page.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(page.body)))
                self.end_headers()
                self.wfile.write(page.body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
