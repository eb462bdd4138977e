"""Dovecot, a real IMAP server. Debian: `apt install dovecot-imapd`."""

import grp
import os
import pwd
import secrets
import time
from pathlib import Path

from tests.servers import NOBODY, Server

BINARY = Path("/usr/sbin/dovecot")
# For TLS: ssl = yes, ssl_cert = <file, ssl_key = <file, and a port for imaps.
SETTINGS = """
protocols = imap
listen = {host}
base_dir = {directory}/run
state_dir = {directory}/state
log_path = {log}
ssl = no

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
    port = 0
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

    def configure(self) -> list[str | Path]:
        mail = self.directory / "mail"
        mail.mkdir(exist_ok=True)
        for directory in (self.directory, mail):  # several users meet in there
            directory.chmod(0o755)
        uid, gid = _owner()
        settings = self.fill(SETTINGS, password=self.password, uid=uid, gid=gid)
        if os.geteuid() != 0:
            settings += WITHOUT_ROOT.format(user=pwd.getpwuid(uid).pw_name, group=grp.getgrgid(gid).gr_name)
        file = self.directory / "dovecot.conf"
        file.write_text(settings)
        return [BINARY, "-F", "-c", file]

    def deliver(self, user: str, raw: bytes, folder: str = "INBOX") -> None:
        """Put a mail into a folder of the user, byte by byte as it is."""
        home = self.directory / "mail" / user
        inbox = home / "Maildir"
        maildir = inbox if folder == "INBOX" else inbox / f".{folder}"
        for directory in (home, inbox, maildir, maildir / "cur", maildir / "new", maildir / "tmp"):
            directory.mkdir(exist_ok=True)
            os.chown(directory, *_owner())
        file = maildir / "tmp" / f"{time.time_ns()}.{secrets.token_hex(8)}"
        file.write_bytes(raw)
        os.chown(file, *_owner())
        file.rename(maildir / "new" / file.name)  # in one step, so that nobody sees half a mail


def _owner() -> tuple[int, int]:
    """Return whom the mail belongs to: us, unless we are root, as whom Dovecot opens no mail."""
    return (NOBODY, NOBODY) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
