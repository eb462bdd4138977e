"""What a mail server says, and what it means for a mail. Nothing here touches the network."""

import re
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from gna.providers.protocol import Accepted, Outcome, RefusedForGood, TryLater

# More than this is no reply but a flood.
LONGEST_REPLY = 64 * 1024
LONGEST_REASON = 300

GARBAGE = 0  # the code of what is no reply at all
CODES = {str(code).encode(): code for code in range(200, 600)}
ENDS = (b" ", b"\r", b"")  # what may follow the code on the last line of a reply
ENHANCED = re.compile(rb"[245]\.(\d{1,3})\.(\d{1,3})(?!\d)")
REPEATED = re.compile(rb"[\r\n]+[245]\.\d{1,3}\.\d{1,3} ?")
QUEUED_AS = b"queued as "
PRINTABLE = re.compile(rb"[!-~]+").fullmatch
WAIT = re.compile(r"(?:try|again|wait|after)\D{0,30}\b(\d{1,5}) ?s(?:ec(?:ond)?s?)?\b", re.IGNORECASE)


class Reply(NamedTuple):
    """A code and what stands behind it; the lines of a longer reply are joined by LF."""

    code: int
    text: bytes


class Stage(Enum):
    """What a reply answers."""

    MAIL = "MAIL"
    RCPT = "RCPT"
    DATA = "DATA"
    CONTENT = "CONTENT"


class Reader:
    """Cuts what arrives into replies, however it was cut on its way."""

    def __init__(self) -> None:
        self._rest = b""
        self._earlier: list[bytes] = []
        self._length = 0

    @property
    def in_between(self) -> bool:
        """Whether the rest of a reply is still to come."""
        return bool(self._rest or self._earlier)

    def feed(self, data: bytes) -> list[Reply]:
        """The replies that are complete now. What is none has the code GARBAGE."""
        *lines, rest = (self._rest + data if self._rest else data).split(b"\n")
        replies = []
        for line in lines:
            if line[3:4] == b"-":
                self._earlier.append(line)
                self._length += len(line)
            else:
                replies.append(self._last(line) if self._earlier else _reply(line))
        self._rest = rest
        if len(rest) + self._length > LONGEST_REPLY:
            replies.append(Reply(GARBAGE, b"A reply without an end"))
            self._forget()
        return replies

    def _last(self, line: bytes) -> Reply:
        """The whole of a reply with several lines, which must all have the same code."""
        lines = [*self._earlier, line]
        self._forget(self._rest)
        if len({one[:3] for one in lines}) > 1 or line[3:4] not in ENDS:
            return Reply(GARBAGE, line)
        return Reply(CODES.get(line[:3], GARBAGE), b"\n".join(one[4:].rstrip(b"\r") for one in lines))

    def _forget(self, rest: bytes = b"") -> None:
        self._rest, self._earlier, self._length = rest, [], 0


# Most servers say the same to every mail.
@lru_cache(256)
def _reply(line: bytes) -> Reply:
    code = CODES.get(line[:3], GARBAGE)
    return Reply(code, line[4:]) if code and line[3:4] in ENDS else Reply(GARBAGE, line)


# Enhanced codes (RFC 3463) as (subject, detail), without their class.
ADDRESS_IS_WRONG = {(1, 1), (1, 2), (1, 3), (1, 6), (1, 10), (2, 1)}
SENDER_IS_WRONG = {(1, 7), (1, 8)}
MAILBOX_CANNOT_TAKE_IT = {(2, 2), (2, 3)}
ABOUT_THE_ADDRESS = {1, 2}
SAYS_NOTHING = 0
# Without an enhanced code these blame the address, if they answer RCPT.
BLAMES_THE_ADDRESS = {550, 551, 553}
# The server wants a login, a better one, or encryption: no mail of ours would be taken.
REFUSES_US = {530, 534, 535, 538}
# The server lost track of the conversation, or expects another step first: no mail is to blame for it.
OUT_OF_ORDER = 503
POLICY = 7
TOO_LARGE = 552


def outcome(stage: Stage, reply: Reply) -> Outcome:
    """What became of the mail, by the reply that decided it."""
    if reply.code < 300 and stage is Stage.CONTENT:
        return Accepted(queue_id(reply.text))
    if reply.code in REFUSES_US or (stage is Stage.MAIL and _is_about_us(reply)):
        # It refuses who we are, or has had enough of us for today: no other mail would fare better.
        return TryLater(reason(reply), away=True)
    if reply.code >= 500 and reply.code != OUT_OF_ORDER:
        return RefusedForGood(reason(reply), bad_address=_blames_the_address(stage, reply))
    return TryLater(reason(reply), after=_wish(reply))


def _is_about_us(reply: Reply) -> bool:
    """Whether a refusal at the very start is not about this mail's size, nor a confusion."""
    return reply.code >= 500 and reply.code not in (OUT_OF_ORDER, TOO_LARGE) and enhanced(reply) != (3, 4)


def queue_id(text: bytes) -> str | None:
    """The server's own name for the mail, as Postfix and others tell it."""
    _, found, rest = text.partition(QUEUED_AS)
    words = rest.split(None, 1) if found else None
    name = words[0][:100].rstrip(b".,;)") if words else b""
    return name.decode() if PRINTABLE(name) else None


def reason(reply: Reply) -> str:
    """The reply in one line that can be stored and shown."""
    text = REPEATED.sub(b" ", reply.text).decode("utf-8", "replace")
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    code = f"{reply.code} " if reply.code else ""
    return f"{code}{' '.join(shown.split())}"[:LONGEST_REASON].strip()


def enhanced(reply: Reply) -> tuple[int, int] | None:
    """Subject and detail of the enhanced code, if there is one."""
    found = ENHANCED.match(reply.text)
    return (int(found[1]), int(found[2])) if found else None


def _blames_the_address(stage: Stage, reply: Reply) -> bool:
    code = enhanced(reply)
    if stage is not Stage.RCPT:
        return code in ADDRESS_IS_WRONG
    if code is None or code[0] == SAYS_NOTHING:
        return reply.code in BLAMES_THE_ADDRESS
    return code[0] in ABOUT_THE_ADDRESS and code not in SENDER_IS_WRONG | MAILBOX_CANNOT_TAKE_IT


def _wish(reply: Reply) -> timedelta | None:
    """How long the server asks us to wait, if it says so."""
    code = enhanced(reply)
    if reply.code != 421 and (code is None or code[0] != POLICY):
        return None
    found = WAIT.search(reason(reply))
    return timedelta(seconds=int(found[1])) if found else None
