"""The running server: uvicorn, wired to the application and the engine."""

import asyncio
import json
import socket

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gna import worker
from gna.config import Settings
from gna.db import Database
from gna.jobs.engine import Engine
from gna.migrations import migrate
from gna.web.app import create_app
from gna.web.ground import Ground

GRACE = 30


class Protocol(HttpToolsProtocol):
    """HTTP; what is no HTTP at all is refused in the same shape as every other mistake."""

    def send_400_response(self, msg: str) -> None:
        """The application never sees such a request, so its own handler cannot answer."""
        body = json.dumps({"error": msg}).encode()
        head = f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
        self.transport.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()


class Server(uvicorn.Server):
    """Says where to look once it listens."""

    welcome = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then greet."""
        await super().startup(sockets)
        if self.started:
            print(self.welcome, flush=True)


def run(settings: Settings, db: Database, listener: socket.socket) -> None:
    """Bring the schema up to date and serve until a signal comes."""
    migrate(db)
    provider = worker.provider_of(settings)
    asyncio.run(provider.check())
    runs_steps = settings.process_role == "both" and settings.jobs_enabled
    engine = Engine(db, worker.steps(db, provider, settings)) if runs_steps else None
    ground = Ground(settings, db, engine.ring) if engine else Ground(settings, db)
    config = uvicorn.Config(
        create_app(ground, engine),
        http=Protocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = Server(config)
    server.welcome = welcome(settings)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # Ctrl+C is how one stops it; uvicorn has already shut down gracefully
    finally:
        db.close()


def welcome(settings: Settings) -> str:
    """The addresses to open."""
    base = settings.base_url
    lines = ["", "  Gna is running.", "", f"    Sign up       {base}/subscribe"]
    if settings.email_provider == "mailbox" and settings.disable_auth:
        lines.append(f"    Read mails    {base}/admin/mailbox")
    lines += [f"    API           {base}/docs", "", "  Stop it with Ctrl+C.", ""]
    return "\n".join(lines)
