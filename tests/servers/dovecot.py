"""Dovecot, a real IMAP server. Debian: `apt install dovecot-imapd`."""

import grp
import os
import pwd
import secrets
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from tests.servers import NOBODY, Server, free_port
from tests.servers.certificates import Certificate

BINARY = Path("/usr/sbin/dovecot")
SETTINGS = """
protocols = imap
listen = {host}
base_dir = {directory}/run
state_dir = {directory}/state
log_path = {log}
{ssl}
{more}
disable_plaintext_auth = no
auth_failure_delay = 0
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={directory}/mail/%u
}}
mail_location = maildir:~/Maildir:UTF-8

service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
  # Otherwise each wrong password makes the next answer to the same address slower, by up to 15 seconds.
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
"""
# The folders that a mailbox usually has, marked (RFC 6154).
SPECIAL = """
namespace inbox {{
  inbox = yes
  {folders}
}}
"""
WITH_TLS = """ssl = yes
ssl_cert = <{certificate}
ssl_key = <{key}
"""
# Without root all its processes run as us: they cannot change users, nor chroot. Verified with Dovecot 2.3.19 of
# Debian 12: as root (its processes are dovecot's and dovenull's, the mail nobody's) and as an ordinary user.
WITHOUT_ROOT = """
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
"""


def why_missing() -> str | None:
    """Return what to install before Dovecot can run, or None if it can."""
    return None if BINARY.exists() else "Dovecot is not installed: apt install dovecot-imapd"


class Dovecot(Server):
    """An IMAP server where every user exists, with the same password and an own Maildir."""

    greeting = b"* OK"
    password = "secret"

    def __init__(
        self, parent: Path | None = None, *, certificate: Certificate | None = None, special: Sequence[str] = ()
    ) -> None:
        super().__init__(parent)
        self._certificate = certificate
        self._special = special
        self.tls_port = free_port() if certificate else 0

    def configure(self) -> list[str | Path]:
        mail = self.directory / "mail"
        mail.mkdir(exist_ok=True)
        for directory in (self.directory, mail):  # several users meet in there
            directory.chmod(0o755)
        uid, gid = _owner()
        own = {"password": self.password, "uid": uid, "gid": gid, "tls_port": self.tls_port}
        settings = self.fill(SETTINGS, ssl=self._tls(), more=self._folders(), **own)
        if os.geteuid() != 0:
            settings += WITHOUT_ROOT.format(user=pwd.getpwuid(uid).pw_name, group=grp.getgrgid(gid).gr_name)
        file = self.directory / "dovecot.conf"
        file.write_text(settings)
        return [BINARY, "-F", "-c", file]

    def _tls(self) -> str:
        shown = self._certificate
        return WITH_TLS.format(certificate=shown.file, key=shown.key) if shown else "ssl = no"

    def _folders(self) -> str:
        marks = "\n  ".join(
            f"mailbox {name} {{\n    auto = create\n    special_use = \\{name}\n  }}" for name in self._special
        )
        return SPECIAL.format(folders=marks) if self._special else ""

    def maildir(self, user: str, folder: str = "INBOX") -> Path:
        """Where the mails of a folder are."""
        inbox = self.directory / "mail" / user / "Maildir"
        return inbox if folder == "INBOX" else inbox / f".{folder}"

    def deliver(
        self,
        user: str,
        raw: bytes,
        folder: str = "INBOX",
        *,
        received: datetime | None = None,
        flags: str | None = None,
    ) -> None:
        """Put a mail into a folder of the user, byte by byte as it is; with flags (`S`, seen) it is not recent."""
        home, inbox, maildir = self.directory / "mail" / user, self.maildir(user), self.maildir(user, folder)
        for directory in (home, inbox, maildir, maildir / "cur", maildir / "new", maildir / "tmp"):
            directory.mkdir(exist_ok=True)
            os.chown(directory, *_owner())
        file = maildir / "tmp" / f"{time.time_ns()}.{secrets.token_hex(8)}"
        file.write_bytes(raw)
        os.chown(file, *_owner())
        if received:
            os.utime(file, (received.timestamp(), received.timestamp()))
        place = maildir / "new" / file.name if flags is None else maildir / "cur" / f"{file.name}:2,{flags}"
        file.rename(place)  # in one step, so that nobody sees half a mail


def _owner() -> tuple[int, int]:
    """Return whom the mail belongs to: us, unless we are root, as whom Dovecot opens no mail."""
    return (NOBODY, NOBODY) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
