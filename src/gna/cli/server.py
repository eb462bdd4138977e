"""The running server: uvicorn, wired to the application and the engine."""

import asyncio
import signal
import socket
import threading
from types import FrameType

import uvicorn

from gna import worker
from gna.cli import start
from gna.config import Settings
from gna.db import Database
from gna.errors import CannotStart
from gna.jobs.engine import Engine
from gna.web.app import create_app
from gna.web.ground import Ground
from gna.web.protocol import HttpProtocol, close_overdue

GRACE = 30


class Server(uvicorn.Server):
    """Says where to look once it listens."""

    welcome = ""
    leaving = threading.Event()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Stop, and return to `run`: uvicorn would raise the signal again, and nobody would close the database."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        self.leaving.set()

    async def on_tick(self, counter: int) -> bool:
        """Every tenth of a second; connections are looked at once a second."""
        if counter % 10 == 0:
            close_overdue(self.server_state.connections, asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then greet."""
        await super().startup(sockets)
        if self.started:
            print(self.welcome, flush=True)


def run(settings: Settings, db: Database, listener: socket.socket) -> None:
    """Bring the schema up to date and serve until a signal comes."""
    start.make_ready(db)
    runs_steps = settings.process_role == "both" and settings.jobs_enabled
    if runs_steps:
        start.refuse_to_rehearse(settings, db)
    provider = worker.provider_of(settings)
    asyncio.run(worker.meet(provider))
    engine = Engine(db, worker.steps(db, provider, settings)) if runs_steps else None
    ground = Ground(settings, db, engine.ring, engine.ring_soon) if engine else Ground(settings, db)
    # A Redis client that is missing, or a template that cannot be used, shall be told now, not to the first visitor.
    _ = ground.limits, ground.frame
    config = uvicorn.Config(
        create_app(ground, engine),
        http=HttpProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = Server(config)
    server.leaving = ground.leaving
    start.settle_down()
    server.welcome = welcome(settings, sends=runs_steps)
    try:
        server.run(sockets=[listener])
    finally:
        start.end(db)
    if not server.started:
        raise CannotStart("The server did not start; the lines above say why.")


def welcome(settings: Settings, *, sends: bool) -> str:
    """The addresses to open, and what an operator would otherwise wonder about."""
    here, closed = settings.own_url, settings.sign_in_lacks and not settings.disable_auth
    lines = ["", f"  Gna is running on {here}", "", f"    Sign up       {here}/subscribe"]
    if not closed:
        # Whoever signs in comes through the proxy, which is at the public address.
        lines.append(f"    Admin         {here if settings.disable_auth else settings.base_url}/admin")
    if settings.mailbox_is_open:
        lines.append(f"    Read mails    {here}/admin/mailbox")
    lines += [f"    API           {here}/docs", ""]
    if closed:
        missing = " and ".join(settings.sign_in_lacks)
        lines.append(f"  /admin is closed until sign-in is configured: set {missing} (docs/guides/access.md)")
    if settings.base_url != here:
        lines.append(f"  Links in mails start with {settings.base_url}")
    if not sends:
        lines.append("  This process sends no mail; a worker does: gna worker")
    return "\n".join([*lines, "  Stop it with Ctrl+C.", ""])
