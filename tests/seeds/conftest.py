"""One reader behind a crowd of IPs, so that limits are in the way only where a test wants them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from gna import ids
from gna.db import Database
from gna.outside import wire
from tests.cli.commands import running
from tests.seeds.owner import Owner
from tests.seeds.reader import Reader
from tests.servers import certificates
from tests.servers.certificates import Certificate
from tests.servers.dovecot import Dovecot
from tests.servers.dovecot import why_missing as dovecot_is_missing
from tests.servers.web import Web


@pytest.fixture
def reader(crowd: TestClient, db: Database) -> Reader:
    """Somebody who signs up, reads mail and clicks."""
    return Reader(crowd, db)


@pytest.fixture(scope="session")
def dovecot(certificate: Certificate) -> Iterator[Dovecot]:
    """A mail server where everybody has a mailbox, over TLS."""
    if reason := dovecot_is_missing():
        pytest.skip(reason)
    with Dovecot(certificate=certificate) as server:
        yield server


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Of this machine."""
    return certificates.make(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def shop(certificate: Certificate) -> Iterator[Web]:
    """A shop on the web, over https."""
    with Web("localhost", tls=certificate.for_server()) as website:
        yield website


@pytest.fixture
def owner(
    dovecot: Dovecot,
    certificate: Certificate,
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Iterator[Owner]:
    """Somebody whose mailbox is known, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "DATABASE_URL": database_url,
        "HOME": str(tmp_path),
        "INBOX_PASSWORD": dovecot.password,
        "INBOX_ALLOW_PRIVATE_HOSTS": "127.0.0.1,localhost",
        "INBOX_REQUEST_DELAY": "0",
        "SSL_CERT_FILE": str(certificate.file),
    }.items():
        monkeypatch.setenv(name, value)
    # Whom a process trusts is read once, and an earlier test may have asked already.
    wire._trust.cache_clear()
    for gna in running("inbox", monkeypatch, capfd):
        owner = Owner(gna, dovecot, monkeypatch, f"{ids.new()}@example.org")
        assert owner.adds().code == 0
        yield owner
    wire._trust.cache_clear()
