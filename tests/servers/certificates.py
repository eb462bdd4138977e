"""Certificates that nobody but a test trusts."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

NAMES = "DNS:localhost,IP:127.0.0.1"


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


def make(folder: Path, *, names: str = NAMES, expired: bool = False) -> Certificate:
    """Make a certificate that is valid for a day, or was until yesterday."""
    folder.mkdir(exist_ok=True)
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    subject = ["-subj", "/CN=localhost", "-addext", f"subjectAltName={names}"]
    files = ["-keyout", str(made.key), "-out", str(made.file)]
    _openssl("req", *kind, *subject, *files)
    if expired:
        _openssl("x509", "-in", str(made.file), "-signkey", str(made.key), "-days", "-1", "-out", str(made.file))
    return made


def _openssl(*command: str) -> None:
    subprocess.run(["openssl", *command], check=True, capture_output=True)
