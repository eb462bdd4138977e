"""A real IMAP server, and mailboxes on it."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from gna import clock
from gna.db import Database
from gna.inbox import accounts
from tests.conftest import settings_for
from tests.inbox.scanning import Box
from tests.servers import certificates, dovecot
from tests.servers.certificates import Certificate
from tests.servers.dovecot import Dovecot

_users = count(1)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """What the server shows."""
    return certificates.make(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session")
def imap(certificate: Certificate) -> Iterator[Dovecot]:
    """The IMAP server that all tests share."""
    if reason := dovecot.why_missing():
        pytest.skip(reason)
    with Dovecot(certificate=certificate, special=("Sent", "Drafts", "Trash", "Junk", "All")) as server:
        yield server


@pytest.fixture
def a_box(imap: Dovecot, db: Database, database_url: str, tmp_path: Path) -> Callable[..., Box]:
    """Makes mailboxes, each of a user of its own."""

    def make(tls: str = "none", **environ: str) -> Box:
        user = f"reader{next(_users)}@example.org"
        port = imap.tls_port if tls == "implicit" else imap.port
        wish = accounts.Wish(user, f"imap://127.0.0.1:{port}?tls={tls}")
        with db.write() as tx:
            account = accounts.add(tx, wish, now=clock.now())
        settings = settings_for(database_url, tmp_path, **{"INBOX_PASSWORD": imap.password} | environ)
        return Box(imap, db, settings, user, account)

    return make


@pytest.fixture
def box(a_box: Callable[..., Box]) -> Box:
    """A mailbox of its own."""
    return a_box()
