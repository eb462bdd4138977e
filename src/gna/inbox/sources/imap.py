"""A mailbox on an IMAP server, only ever read: EXAMINE instead of SELECT, PEEK in every FETCH.

The library opens the door; headers and bodies we ask for ourselves, several commands at once, so that the distance to
the server is paid for once and not for each command.
"""

import imaplib
import socket
import ssl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import count
from types import TracebackType
from typing import NamedTuple, Self

from gna.errors import NotFound, Refused, Unreachable
from gna.inbox.heads import FIELDS
from gna.inbox.moments import MONTHS
from gna.inbox.server import Auth, Server
from gna.inbox.sources.fetches import Answer, Dropped, Fetches
from gna.inbox.sources.folder_names import numbers, on_the_wire, worth_a_look
from gna.inbox.sources.wire import Encrypted, Plain, patiently
from gna.providers.smtp import Tls

# Seconds without a byte from the server.
PATIENCE = 60.0
# How many mails one command asks for, and how many bodies.
HEADS, BODIES = 500, 20
# How many folders are named to whoever asks for one that is not there.
NAMED = 20
# Of a body that is larger, the beginning.
LONGEST_BODY = 524_288
# More than any folder has.
MOST_MAILS = 10_000_000
HEAD_ITEMS = f"UID INTERNALDATE BODY.PEEK[HEADER.FIELDS ({' '.join(name.upper() for name in FIELDS)})]"
BODY_ITEMS = f"UID INTERNALDATE BODY.PEEK[]<0.{LONGEST_BODY}>"
WHAT_TO_DO = (
    "The mail server does not let us in with this user name and password. Gmail, Yahoo, iCloud and others want an app "
    "password, made in the settings of the mailbox; Microsoft wants an access token (auth=xoauth2, "
    "--password-command). To type it again: gna inbox account password EMAIL"
)


class Folder(NamedTuple):
    """A folder that is open for reading."""

    uid_validity: int
    exists: int


class Mailbox:
    """One connection, logged in."""

    def __init__(
        self, server: Server, *, user: str, secret: str, patience: float | None = None, within: float = PATIENCE
    ) -> None:
        """Connect and log in, for which a server has less time (`within`) than for a long answer."""
        self.server = server
        patience = patience or PATIENCE
        with _told(server, hint="; does tls= in its address fit the port?"):
            self._imap = _connected(server, min(patience, within))
            # The library writes an answer to the server in two parts; the second would wait for an acknowledgement.
            self._imap.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                _log_in(self._imap, server, user, secret)
                _hear_what_it_can(self._imap)
                self._imap.sock.settimeout(patience)
            except BaseException:
                with suppress(OSError):
                    self._imap.shutdown()
                raise
        self._tags = count(1)
        self._open: tuple[str, Folder] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            with suppress(OSError, imaplib.IMAP4.error):
                self._send("LOGOUT")  # whose answer nobody waits for
        with suppress(OSError, imaplib.IMAP4.error):
            self._imap.shutdown()

    def folders(self) -> list[str]:
        """All folders but those of sent, deleted and unwanted mail."""
        marked = {"SPECIAL-USE", "LIST-EXTENDED"} <= set(self._imap.capabilities)
        with _told(self.server):
            # With the option a server marks its folders; without, it may.
            command = ('""', '"*" RETURN (SPECIAL-USE)') if marked else ('""', '"*"')
            kind, lines = self._imap.list(*command)
        if kind != "OK":
            raise Unreachable("The mail server does not tell its folders")
        return worth_a_look(line for line in lines if line)

    def examine(self, folder: str) -> Folder:
        """Open a folder so that nothing in it can change, not even what counts as recent."""
        if self._open and self._open[0] == folder:
            return self._open[1]
        self._open = None
        with _told(self.server):
            kind, said = self._imap.select(on_the_wire(folder).decode(), readonly=True)
            if kind != "OK":
                raise NotFound(f'There is no folder "{folder}" in the mailbox, or it cannot be opened{self._named()}')
            validity = self._imap.response("UIDVALIDITY")[1][0]
        self._open = (folder, Folder(int(validity or 0), int(said[0] or 0)))
        return self._open[1]

    def _named(self) -> str:
        """Which folders there are, for whoever asked for another."""
        names: list[str] = []
        with suppress(Unreachable):  # a server that tells none
            names = self.folders()
        more = ", …" if len(names) > NAMED else ""
        return f"; it has: {', '.join(names[:NAMED])}{more}" if names else ""

    def search(self, criteria: str) -> list[int]:
        """The UIDs of the mails that match, in ascending order."""
        short = "ESEARCH" in self._imap.capabilities
        with _told(self.server):
            tag = self._send(f"UID SEARCH {'RETURN (ALL) ' if short else ''}{criteria}")
            found: list[int] = []
            patience = patiently()
            while True:
                next(patience)
                line = self._line()
                if line.startswith(b"* SEARCH"):
                    found += map(int, line[8:].split())
                elif line.startswith(b"* ESEARCH"):
                    _, _, all_of = line.partition(b" ALL ")
                    found += numbers(all_of.split()[0].decode(), most=MOST_MAILS) if all_of else []
                elif line.startswith(tag):
                    _check_ok(line, tag)
                    return sorted(set(found))
                if len(found) > MOST_MAILS:
                    raise ValueError("These are too many")

    def heads(self, chunks: Iterable[Sequence[int]]) -> Iterator[Answer]:
        """The headers of mails, one answer for each chunk."""
        return self._fetch(chunks, HEAD_ITEMS)

    def bodies(self, chunks: Iterable[Sequence[int]]) -> Iterator[Answer]:
        """Mails with their bodies, the longest of them cut off."""
        return self._fetch(chunks, BODY_ITEMS)

    def drain(self) -> None:
        """For whoever is busy with what came before: let the server go on."""
        self._imap.drain()

    def _fetch(self, chunks: Iterable[Sequence[int]], items: str) -> Iterator[Answer]:
        with _told(self.server):
            yield from Fetches(self._imap, self._send, items).answers(chunks)

    def _send(self, command: str) -> bytes:
        tag = b"G%d " % next(self._tags)
        self._imap.send(tag + command.encode("ascii") + b"\r\n")
        return tag

    def _line(self) -> bytes:
        line = self._imap.readline()
        if not line or line[:6].upper() == b"* BYE ":
            raise Dropped("The mail server ended the connection")
        return line


def _check_ok(line: bytes, tag: bytes) -> None:
    if line[len(tag) : len(tag) + 2].upper() != b"OK":
        raise Unreachable("The mail server does not understand what we search for")


def _connected(server: Server, patience: float) -> Plain | Encrypted:
    if server.tls == Tls.IMPLICIT:
        return Encrypted(server.host, server.port, ssl_context=ssl.create_default_context(), timeout=patience)
    imap = Plain(server.host, server.port, timeout=patience)
    if server.tls == Tls.STARTTLS:
        if "STARTTLS" not in imap.capabilities:
            imap.shutdown()
            raise Refused("The mail server does not offer STARTTLS; most have tls=implicit on port 993")
        try:
            imap.starttls(ssl.create_default_context())
        except BaseException:
            with suppress(OSError):  # the library has closed it where the certificate was wrong
                imap.shutdown()
            raise
    return imap


def _log_in(imap: imaplib.IMAP4, server: Server, user: str, secret: str) -> None:
    capabilities = set(imap.capabilities)
    if server.auth != Auth.XOAUTH2 and "LOGINDISABLED" in capabilities:
        raise Refused("The mail server takes no password on this connection; use tls=starttls or tls=implicit")
    try:
        if server.auth == Auth.XOAUTH2:
            token = f"user={user}\1auth=Bearer {secret}\1\1".encode()
            # A token that is refused is answered with a reason, to which nothing is said.
            imap.authenticate("XOAUTH2", lambda challenge: token if not challenge else b"")
        elif "AUTH=PLAIN" in capabilities:
            imap.authenticate("PLAIN", lambda _: f"\0{user}\0{secret}".encode())
        else:
            imap.login(user, secret)
    except imaplib.IMAP4.abort:
        raise
    except (imaplib.IMAP4.error, UnicodeEncodeError) as error:
        if "[UNAVAILABLE]" in str(error):
            raise Unreachable("The mail server cannot check passwords now; try again later") from None
        raise Refused(WHAT_TO_DO) from None


def _hear_what_it_can(imap: imaplib.IMAP4) -> None:
    """Most servers can more once somebody is logged in, and say so with their welcome."""
    if said := imap.response("CAPABILITY")[1][-1]:
        imap.capabilities = tuple(said.decode("ascii", "replace").upper().split())


@contextmanager
def _told(server: Server, *, hint: str = "") -> Iterator[None]:
    """What goes wrong on the way, in our words; those of a server may quote what we said."""
    where = f"The mail server {server.where}"
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise Unreachable(
            f"{where} shows a certificate that is not trusted ({error.verify_message}); if it is your own, "
            "name its authority in SSL_CERT_FILE"
        ) from None
    except ssl.SSLError:
        if not hint:
            raise Dropped(f"{where} ended the connection") from None
        raise Unreachable(f"{where} does not speak TLS here{hint}") from None
    except TimeoutError:
        raise Dropped(f"{where} did not answer in time{hint}") from None
    except socket.gaierror:
        raise Unreachable(f"{where} cannot be found; is its name right, and this machine online?") from None
    except imaplib.IMAP4.abort:
        raise Dropped(f"{where} ended the connection") from None
    except (imaplib.IMAP4.error, ValueError, IndexError):  # the latter where we read numbers
        raise Unreachable(f"{where} gave an answer that cannot be understood") from None
    except OSError as error:
        raise Dropped(f"{where} cannot be reached: {error.strerror or 'the connection ended'}") from None


def day(moment: datetime) -> str:
    """A day as SEARCH writes it: 16-Nov-2026."""
    return f"{moment.day}-{MONTHS[moment.month - 1]}-{moment.year}"
