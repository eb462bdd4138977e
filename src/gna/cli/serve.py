"""`gna serve`: the web server, and unless told otherwise the background work beside it."""

import errno
import socket
from typing import Annotated

import typer

from gna.cli import start
from gna.cli.server import run
from gna.cli.worker import work
from gna.config import Settings
from gna.errors import CannotStart


def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on (GNA_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on (GNA_PORT); 0 takes a free one.")] = None,
) -> None:
    """Answer requests, and run the background work beside it unless PROCESS_ROLE=api."""
    settings, db = start.begin(gna_host=host, gna_port=port)
    if settings.process_role == "worker":
        return work(settings, db)
    listener = _listen(settings)
    # Port 0 means a free one, and links must carry the port that it became.
    settings = settings.model_copy(update={"gna_port": listener.getsockname()[1]})
    run(settings, db, listener)
    return None


def _listen(settings: Settings) -> socket.socket:
    """Take the port before anything else, so that a second server fails at once and in plain words."""
    host, port = settings.gna_host, settings.gna_port
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except UnicodeError:
        raise CannotStart(f"Cannot listen on {host}: that is not a host.") from None
    except OSError as error:
        raise CannotStart(f"Cannot listen on {host} port {port}: {error.strerror}.{_advice(error)}") from None
    return listener


def _advice(error: OSError) -> str:
    if error.errno != errno.EADDRINUSE:
        return ""
    return " Choose another: gna serve --port 8001, or make run PORT=8001"
