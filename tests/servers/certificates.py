"""Certificates that nobody but a test trusts."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate for this machine, and its key."""

    file: Path
    key: Path

    def for_server(self) -> ssl.SSLContext:
        """What a server shows."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.file, self.key)
        return context

    def for_client(self) -> ssl.SSLContext:
        """What a client needs that trusts it."""
        return ssl.create_default_context(cafile=str(self.file))


def make(folder: Path) -> Certificate:
    """Make a certificate that is valid for a day."""
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=localhost", "-addext", NAMES]
    files = ["-keyout", str(made.key), "-out", str(made.file)]
    subprocess.run(["openssl", "req", *kind, *names, *files], check=True, capture_output=True)
    return made
