"""The mail that asks to leave goes out as the mailbox is read."""

from pathlib import Path

import pytest

from gna.db import Database
from gna.inbox import accounts, letter
from gna.inbox.method import Errand
from gna.inbox.ways import Source, Way
from gna.providers.smtp import Auth
from tests.inbox.leaving import a_reader, email
from tests.servers.smtp import ScriptedSmtp

WAY = Way("email_reply", "mailto:leave@shop.example", Source.HEADER, to="leave@shop.example")
# The URL to read by, the URL to write by, and who logs in how.
LOGINS = {
    "as the address says": ("imap://h", "smtp://h", ("ana@example.org", None)),
    "user of reading": ("imap://pop%40h@h", "smtp://h", ("pop@h", None)),
    "user of writing": ("imap://pop@h", "smtp://ana%2Fx@h", ("ana/x", None)),
    "token of reading": ("imap://h?auth=xoauth2", "smtp://h:587?tls=starttls", ("ana@example.org", Auth.XOAUTH2)),
    "token of reading, user of writing": ("imap://pop@h?auth=xoauth2", "smtp://ana@h", ("ana", Auth.XOAUTH2)),
    "password of writing": ("imap://h?auth=xoauth2", "smtp://h?auth=plain", ("ana@example.org", Auth.PLAIN)),
}


@pytest.mark.parametrize(("imap", "smtp", "expected"), LOGINS.values(), ids=LOGINS.keys())
def test_the_login_is_that_of_reading_unless_another_is_named(
    imap: str, smtp: str, expected: tuple[str, Auth | None]
) -> None:
    server = letter.server(Errand(WAY, "ana@example.org", imap_url=imap, smtp_url=smtp, secret="s:e/c@r%et"))
    assert (server.host, server.user, server.auth, server.password) == ("h", *expected, "s:e/c@r%et")


def test_whoever_reads_by_a_token_leaves_by_a_token(db: Database, database_url: str, tmp_path: Path) -> None:
    with ScriptedSmtp() as smtp:
        smtp.extensions.append("AUTH XOAUTH2")
        smtp.login = ("pop", "secret")
        reader = a_reader(db, database_url, tmp_path, smtp=f"{smtp.url}?tls=none")
        with db.write() as tx:
            accounts.change(tx, reader.account, imap="imap://pop@127.0.0.1?tls=none&auth=xoauth2")
        assert reader.leaves(reader.subscribes(email("mailto:leave@shop.example"))).outcome == "sent"
