"""Postfix, a real SMTP server, and its `smtp-sink`. Debian: `apt install postfix`."""

import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from tests.servers import HOST, NOBODY, Server

MASTER = Path("/usr/lib/postfix/sbin/master")
SINK = Path("/usr/sbin/smtp-sink")
QUEUES = ("active", "bounce", "defer", "deferred", "incoming", "private", "public", "trace")

# There is no service that speaks SMTP to others: nothing can leave, whatever a setting says.
SERVICES = """
{host}:{port} inet n - n - - smtpd
postlog unix-dgram n - n - 1 postlogd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
virtual unix - n n - - virtual
error unix - - n - - error
retry unix - - n - - error
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
anvil unix - - n - 1 anvil
tlsmgr unix - - n 1000? 1 tlsmgr
"""
SETTINGS = """
compatibility_level = 3.6
queue_directory = {directory}/queue
data_directory = {directory}/data
maillog_file = {log}
maillog_file_prefixes = {directory}
inet_interfaces = {host}
inet_protocols = ipv4
myhostname = mail.example.org
smtpd_peername_lookup = no

virtual_mailbox_domains = example.org
virtual_mailbox_base = {directory}
virtual_mailbox_maps = static:mail/
virtual_uid_maps = static:{nobody}
virtual_gid_maps = static:{nobody}

mydestination =
local_recipient_maps =
mynetworks =
smtpd_relay_restrictions = reject_unauth_destination
default_transport = error:5.1.2 only mail to example.org is delivered here
"""


TO, MESSAGE_ID = re.compile(rb"^To: (.+)$", re.MULTILINE), re.compile(rb"^Message-ID: <(.+)>$", re.MULTILINE)
QUEUE_ID = re.compile(rb"^Received: .+\n\s.+\n?.* id (\w+)", re.MULTILINE)


class Arrival(NamedTuple):
    """A mail that was accepted once; the same mail accepted again has another id in the queue."""

    to: str
    message_id: str
    queue_id: str


def why_missing() -> str | None:
    """Return what has to be done before Postfix can run, or None if it can."""
    if not MASTER.exists():
        return "Postfix is not installed: apt install postfix"
    return None if os.geteuid() == 0 else "Postfix needs root: run the tests as root"


def why_sink_missing() -> str | None:
    """Return what to install before `smtp_sink` can run, or None if it can; it needs no root."""
    return None if SINK.exists() else "smtp-sink is not installed: apt install postfix"


class Postfix(Server):
    """An SMTP server that takes mail for any address of example.org, and no other. Only root can run it."""

    greeting = b"220"

    def __init__(self, **settings: object) -> None:
        super().__init__()
        self._settings = settings

    def configure(self) -> list[str | Path]:
        self.directory.chmod(0o755)  # its parts run as other users and meet in there
        self._make_directories()
        etc = self.directory / "etc"
        (etc / "master.cf").write_text(self.fill(SERVICES))
        main = etc / "main.cf"
        further = "".join(f"{name} = {value}\n" for name, value in self._settings.items())
        main.write_text(self.fill(SETTINGS, nobody=NOBODY) + further)
        # Postfix waits until the file is two seconds old, in case someone is still editing it.
        os.utime(main, (0, 0))
        return [MASTER, "-c", etc]

    def received(self) -> list[bytes]:
        """Return the mails delivered so far, in any order, with the headers that Postfix added."""
        return [file.read_bytes() for file in (self.directory / "mail/new").glob("*")]

    def count(self) -> int:
        """How many mails were delivered so far."""
        return sum(1 for _ in (self.directory / "mail/new").glob("*"))

    def is_empty(self) -> bool:
        """Whether everything that it took was delivered; half a mail is not taken, and its file not executable."""
        queues = (self.directory / "queue" / name for name in ("incoming", "active", "deferred"))
        return not any(file.is_file() and os.access(file, os.X_OK) for queue in queues for file in queue.rglob("*"))

    def arrivals(self) -> set[Arrival]:
        """What was accepted so far and delivered.

        Postfix itself delivers a mail again if it was ended in between: in its queue it was one.
        """
        return {Arrival._make(_found(what, mail) for what in (TO, MESSAGE_ID, QUEUE_ID)) for mail in self.received()}

    def _make_directories(self) -> None:
        queue = self.directory / "queue"
        for directory in (self.directory / "etc", queue, queue / "pid"):
            directory.mkdir(exist_ok=True)
            directory.chmod(0o755)
        for directory in (self.directory / "data", *(queue / name for name in QUEUES)):
            directory.mkdir(mode=0o700, exist_ok=True)
            shutil.chown(directory, "postfix")
        mail = self.directory / "mail"
        mail.mkdir(exist_ok=True)
        os.chown(mail, NOBODY, NOBODY)


def _found(what: re.Pattern[bytes], mail: bytes) -> str:
    match = what.search(mail)
    assert match, mail[:500]
    return match[1].decode()


class SmtpSink(Server):
    """An SMTP server that takes every mail as fast as it can, and throws it away."""

    greeting = b"220"

    def configure(self) -> list[str | Path]:
        user = ["-u", "nobody"] if os.geteuid() == 0 else []
        return [SINK, *user, f"{HOST}:{self.port}", "1000"]


def smtp_sink() -> SmtpSink:
    """Return a sink, to be used in `with`."""
    return SmtpSink()
