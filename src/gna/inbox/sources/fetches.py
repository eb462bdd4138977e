"""FETCH commands, several of them on their way at a time. Whatever a server says: only what was asked for is kept."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from gna.errors import Unreachable
from gna.inbox.sources.folder_names import ranges
from gna.inbox.sources.wire import Encrypted, Fetched, Plain, patiently

# How many commands are on their way at a time, and how much of a server's last word on one is kept.
AHEAD, STATUS = 16, 100
LITERAL = re.compile(rb"\{(\d+)\+?\}\r?\n$")
UID = re.compile(rb"[( ]UID (\d{1,10})\b")
RECEIVED = re.compile(rb'INTERNALDATE "([^"]{20,30})"')
INLINE = re.compile(rb'BODY\[[^\]]*\](?:<\d+>)? (?:"((?:[^"\\]|\\.)*)"|NIL)')
# RFC 5530: it is not because of these mails.
NOT_NOW = re.compile(rb"NO \[(?:UNAVAILABLE|LIMIT|INUSE)\b", re.IGNORECASE)


class Dropped(Unreachable):
    """The connection ended in the middle; another one may go on."""


class KeptBack(Unreachable):
    """The server gives no mails for now."""


class Answer(NamedTuple):
    """What one command brought: which mails were asked for, which came, and which were refused also one by one."""

    asked: Sequence[int]
    fetched: list[Fetched]
    refused: Sequence[int]


class Fetches:
    """Commands that ask for the same of many mails."""

    def __init__(self, imap: Plain | Encrypted, send: Callable[[str], bytes], items: str) -> None:
        self._imap, self._send, self._items = imap, send, items
        # What we wait for, and what came of it.
        self._uids: set[int] = set()
        self._tags: set[bytes] = set()
        self._found: dict[int, Fetched] = {}
        self._ended: dict[bytes, bytes] = {}

    def answers(self, chunks: Iterable[Sequence[int]]) -> Iterator[Answer]:
        """Ask for several chunks ahead; what belongs to a later one is kept until its turn."""
        waiting, sent = iter(chunks), deque[tuple[bytes, Sequence[int]]]()
        lost = self._ask_ahead(waiting, sent)
        while sent:
            tag, chunk = sent.popleft()
            try:
                refused = [] if self._came(tag, chunk) else self._refused(chunk)
            except KeptBack:
                # Up to the first that is missing they need not be asked for again.
                if came := list(takewhile(self._found.__contains__, chunk)):
                    yield Answer(came, self._taken(came), ())
                raise
            yield Answer(chunk, self._taken(chunk), refused)
            lost = lost or self._ask_ahead(waiting, sent)
        if lost:
            raise lost
        for tag in tuple(self._tags):
            self._end_of(tag)

    def _ask_ahead(self, waiting: Iterator[Sequence[int]], sent: deque[tuple[bytes, Sequence[int]]]) -> OSError | None:
        """Ask for more. That the connection is lost is told in the end: what came before that is read first."""
        try:
            sent.extend((self._ask(chunk), chunk) for chunk in islice(waiting, AHEAD - len(sent)))
        except OSError as error:
            return error
        return None

    def _ask(self, uids: Sequence[int]) -> bytes:
        tag = self._send(f"UID FETCH {ranges(uids)} ({self._items})")
        self._tags.add(tag)
        self._uids.update(uids)
        return tag

    def _taken(self, uids: Sequence[int]) -> list[Fetched]:
        self._uids.difference_update(uids)
        return [self._found.pop(uid) for uid in uids if uid in self._found]

    def _refused(self, uids: Sequence[int]) -> list[int]:
        """Those that a server cannot give. It may refuse all for the sake of one, so each is asked for alone."""
        left = [uid for uid in uids if uid not in self._found]
        refused: list[int] = []
        for start in range(0, len(left), AHEAD):
            alone = [(uid, self._ask([uid])) for uid in left[start : start + AHEAD]]
            refused += [uid for uid, tag in alone if not self._is_granted(tag)]
        return refused

    def _came(self, tag: bytes, uids: Sequence[int]) -> bool:
        """Read until these are here, or their command has ended: a server may end many together, and much later."""
        self._collect(tag, uids)
        return tag not in self._ended or self._is_granted(tag)

    def _is_here(self, uids: Sequence[int]) -> bool:
        # Nearly always the last of them is the last to come.
        return bool(uids) and uids[-1] in self._found and all(uid in self._found for uid in uids)

    def _is_granted(self, tag: bytes) -> bool:
        status = self._end_of(tag)
        if NOT_NOW.match(status):
            raise KeptBack("The mail server gives no mails for now; what it gave is kept, try again later")
        return status[:2].upper() == b"OK"

    def _end_of(self, tag: bytes) -> bytes:
        """Read until this command has ended; says how."""
        self._collect(tag)
        self._tags.discard(tag)
        return self._ended.pop(tag)

    def _collect(self, tag: bytes, wanted: Sequence[int] = ()) -> None:
        """Remember which mails came, and how commands ended, up to the end of this one or until all wanted are here."""
        uids, found, readline, read = self._uids, self._found, self._imap.readline, self._imap.read
        patience = patiently()
        while tag not in self._ended:
            next(patience)
            for mail in self._imap.whole():
                if mail.uid in uids:
                    found[mail.uid] = mail
            if self._is_here(wanted):
                return
            line = readline()
            literal = LITERAL.search(line)
            if literal is None:
                self._plain(line)
                continue
            size = int(literal[1])
            content = read(size)
            if len(content) != size:
                raise Dropped("The mail server ended the connection")
            rest = readline()
            while more := LITERAL.search(rest):  # another literal than we asked for
                read(int(more[1]))
                rest = readline()
            self._keep(UID.search(line) or UID.search(rest), RECEIVED.search(line) or RECEIVED.search(rest), content)

    def _plain(self, line: bytes) -> None:
        """A line without a literal: the end of a command, news of the folder, or a mail with nothing in it."""
        if not line or line[:6].upper() == b"* BYE ":
            raise Dropped("The mail server ended the connection")
        if not line.startswith(b"* "):
            tag, _, status = line.partition(b" ")
            if status[:3].upper() == b"BAD":
                raise Unreachable("The mail server does not understand how we ask for mails")
            if tag + b" " in self._tags:
                self._ended[tag + b" "] = status[:STATUS]
        elif content := INLINE.search(line):
            self._keep(UID.search(line), RECEIVED.search(line), re.sub(rb"\\(.)", rb"\1", content[1] or b""))

    def _keep(self, uid: re.Match[bytes] | None, received: re.Match[bytes] | None, content: bytes) -> None:
        if uid and (number := int(uid[1])) in self._uids:
            self._found[number] = Fetched(number, received[1] if received else b"", content)
