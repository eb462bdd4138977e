"""The library's connection with a buffer of our own, in which mails that are there as a whole are found at once."""

import imaplib
import re
import select
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from gna.errors import Unreachable

# Bytes; what a server has sent meanwhile is taken with one call, up to what may wait.
AT_ONCE, MOST = 262_144, 4_000_000
# Bytes. A line may name every mail of a folder; and we ask for no more of a mail than half a megabyte, or its header.
LONGEST_LINE, LARGEST = 32_000_000, 64_000_000
# Seconds that one answer may take, whatever the server says meanwhile.
LONGEST_ANSWER = 900.0
UNREAD = "The mail server gave an answer that cannot be understood"
# As servers answer that keep the order in which they were asked.
MAIL = re.compile(rb'\* \d+ FETCH \(UID (\d{1,10}) INTERNALDATE "([^"]+)" BODY\[[^\]]*\](?:<0>)? \{(\d{1,8})\}\r\n')


def patiently() -> Iterator[None]:
    """A turn for each line of an answer, as long as there is time for it."""
    until = time.monotonic() + LONGEST_ANSWER
    while time.monotonic() < until:
        yield
    raise Unreachable("The mail server goes on and on without an answer; try again later")


class Fetched(NamedTuple):
    """What a server gave of one mail."""

    uid: int
    received: bytes
    content: bytes


class _Buffered:
    """How both kinds of connection read."""

    sock: socket.socket
    _held = b""
    _at = 0
    _held_of: socket.socket | None = None
    _later: list[bytes]
    _drained = 0

    def read(self, size: int) -> bytes:
        """So many bytes; fewer only at the end of the connection."""
        if size > LARGEST:
            raise Unreachable(UNREAD)
        self._begin_anew()
        while len(self._held) - self._at < size and self._more(size):
            pass
        start, self._at = self._at, min(self._at + size, len(self._held))
        return self._held[start : self._at]

    def readline(self) -> bytes:
        """A line with its end; nothing at the end of the connection."""
        self._begin_anew()
        looked = self._at
        while (end := self._held.find(b"\n", looked)) < 0:
            looked = len(self._held) - self._at
            if looked > LONGEST_LINE:
                raise Unreachable(UNREAD)
            if not self._more(AT_ONCE):
                end = len(self._held) - 1
                break
        start, self._at = self._at, end + 1
        return self._held[start : self._at]

    def whole(self) -> Iterator[Fetched]:
        """The mails that are here already, up to anything else."""
        held = self._held
        while found := MAIL.match(held, self._at):
            start = found.end()
            end = start + int(found[3])
            if held[end : end + 3] != b")\r\n":
                return
            self._at = end + 3
            yield Fetched(int(found[1]), found[2], held[start:end])

    def drain(self) -> None:
        """Take what has come without waiting: a server whose words nobody takes stops to work."""
        # That the connection is lost is told to whoever waits for more.
        with suppress(OSError):
            if self._drained < MOST and select.select((self.sock,), (), (), 0)[0]:
                data = self.sock.recv(AT_ONCE)
                self._later.append(data)
                self._drained += len(data)

    def _begin_anew(self) -> None:
        """What came before a connection was encrypted is no part of it."""
        if self._held_of is not self.sock:
            self._held, self._at, self._held_of = b"", 0, self.sock
            self._later, self._drained = [], 0

    def _more(self, size: int) -> bool:
        """Take what has come; False at the end."""
        if self._later:
            data = b"".join(self._later)
            self._later, self._drained = [], 0
        else:
            data = self.sock.recv(max(AT_ONCE, size))
        self._held = self._held[self._at :] + data
        self._at = 0
        return bool(data)


class Plain(_Buffered, imaplib.IMAP4):
    """A connection in the clear, or one that is encrypted later."""


class Encrypted(_Buffered, imaplib.IMAP4_SSL):
    """A connection that is encrypted from the start."""
