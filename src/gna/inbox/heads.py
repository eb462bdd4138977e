"""What a mail's header says, in a few microseconds: a mailbox has tens of thousands of them, and some are broken."""

import re
from typing import NamedTuple

from gna.inbox import moments
from gna.inbox.encoded_words import decoded
from gna.inbox.signs import Sign, keywords_in

# What is asked of a server; a header may say much more.
FIELDS = (
    "From",
    "Sender",
    "Subject",
    "Date",
    "Message-ID",
    "In-Reply-To",
    "List-Id",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
    "List-Post",
    "Precedence",
    "Auto-Submitted",
    "Feedback-ID",
    "X-CSA-Complaints",
)
# As servers write them, so that the usual ones are found without a look at their letters.
NAMES = {name: name.lower() for name in FIELDS} | {name.lower(): name.lower() for name in FIELDS}
# Of these every one counts, up to so many; of others the first.
SEVERAL, MOST_FIELDS = frozenset(("list-unsubscribe", "list-unsubscribe-post")), 20
# Characters. A list may give each reader an address of a kilobyte; nobody reads a subject that long.
LONGEST_FIELD, LONGEST_TEXT, LONGEST_NAME, LONGEST_ADDRESS = 8192, 1000, 200, 320
# In place of a field that is longer: a comment, so it offers nothing, and it is still a field. Half of one could hold
# half an address; none at all could make another field the only one.
TOO_LONG = "(too long)"

# A line that begins with a space goes on with the one before it.
LINE_END = re.compile(r"\n(?![ \t])")
# One that does not end is matched as well, for no other ends after it: nobody has to look for that again.
QUOTED = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*)("?)', re.DOTALL)
PLAIN_FROM = re.compile(r'"?([^"<>@,;:\\()=]*)"? ?<([^\s<>@,;:"\\()]+@[^\s<>@,;:"\\()]+)>')
IN_ANGLES = re.compile(r"<\s*+([^<>\s@]*+@[^<>\s]*+)\s*+>")
BARE = re.compile(r"(?<![^\s<>()\",;:])[^\s<>()\",;:]+@[^\s<>()\",;:]+")
COMMENT = re.compile(r"\(([^()]*)\)")
REMEMBERED = 4096

DISCUSSION, ANNOUNCEMENTS, BULK = int(Sign.DISCUSSION), int(Sign.ANNOUNCEMENTS), int(Sign.BULK)
AUTOMATIC, REPLY = int(Sign.AUTOMATIC), int(Sign.REPLY)


class Broken(Exception):
    """Nothing can be learnt from this mail: nobody sent it, or at no time."""


class Head(NamedTuple):
    """What is kept of a mail, as the table has it; moments are text, for nobody reckons with them here."""

    sender_email: str
    sender_name: str
    subject: str
    date_sent: str
    received_at: str | None
    came_at: str
    message_id: str | None
    list_id: str | None
    list_unsubscribe: str | None
    list_unsubscribe_post: str | None
    keywords: int
    signs: int


def read(block: bytes, received_at: str | None) -> Head:
    """The header of a mail, or Broken. What it says wrongly is left out; without a date the server's counts."""
    fields = _fields(_text(block))
    get = fields.get
    sender_email, sender_name = sender(get("from")) or sender(get("sender")) or _nobody()
    date_sent = moments.sent(get("date", "")) or received_at
    if date_sent is None:
        raise Broken("It has no date")
    subject = get("subject", "")
    if "=?" in subject:
        subject = decoded(subject)
    subject = subject[:LONGEST_TEXT]
    list_id, message_id = get("list-id"), get("message-id")
    return Head(
        sender_email,
        sender_name,
        subject,
        date_sent,
        received_at,
        # Nothing comes from the future, whatever it says.
        date_sent if received_at is None or date_sent < received_at else received_at,
        message_id[:LONGEST_TEXT] if message_id else None,
        _list_id(list_id) if list_id else None,
        get("list-unsubscribe") or None,
        get("list-unsubscribe-post") or None,
        keywords_in(subject),
        _signs(fields),
    )


def _text(block: bytes) -> str:
    """The header as text. Letters beyond ASCII should not be there, and are mostly UTF-8."""
    try:
        text = block.decode()
    except UnicodeDecodeError:
        text = block.decode("latin-1")
    return text.replace("\0", "") if "\0" in text else text  # PostgreSQL keeps no such thing


def _fields(text: str) -> dict[str, str]:
    """The values of the fields that we know, by their names in lower case; a folded one is on one line again."""
    fields: dict[str, str] = {}
    for line in LINE_END.split(text):
        name, _, value = line.partition(":")
        key = NAMES.get(name) or NAMES.get(name.strip().lower())
        if key is None:
            if line in ("", "\r"):
                break
            continue
        value = value.strip()
        if "\n" in value:
            value = value.replace("\r", "").replace("\n", "")
        if len(value) > LONGEST_FIELD and key in SEVERAL:
            value = TOO_LONG
        if key not in fields:
            fields[key] = value
        elif key in SEVERAL and fields[key].count("\n") < MOST_FIELDS - 1:
            fields[key] = f"{fields[key]}\n{value}"
    return fields


def _list_id(value: str) -> str | None:
    """What is in the angle brackets names the list, in any case."""
    _, bracket, inside = value.rpartition("<")
    name = inside.partition(">")[0] if bracket else value
    return name.strip().lower()[:LONGEST_TEXT] or None


def _signs(fields: dict[str, str]) -> int:
    found = 0
    if "in-reply-to" in fields:
        found = REPLY
    if post := fields.get("list-post"):
        found |= ANNOUNCEMENTS if post[:2].upper() == "NO" else DISCUSSION
    if (
        "feedback-id" in fields
        or "x-csa-complaints" in fields
        or fields.get("precedence", "").lower() in ("bulk", "list", "junk")
    ):
        found |= BULK
    if "auto-submitted" in fields and fields["auto-submitted"].lower() != "no":
        found |= AUTOMATIC
    return found


def _nobody() -> tuple[str, str]:
    raise Broken("It has no sender")


# The same few senders write most mails.
_senders: dict[str, tuple[str, str] | None] = {}


def sender(value: str | None) -> tuple[str, str] | None:
    """The first address of a From field in lower case, and the name beside it."""
    if value is None:
        return None
    try:
        return _senders[value]
    except KeyError:
        found = _sender(value)
    if len(_senders) >= REMEMBERED:
        _senders.clear()
    if len(value) < LONGEST_TEXT:
        _senders[value] = found
    return found


def _sender(value: str) -> tuple[str, str] | None:
    if plain := PLAIN_FROM.fullmatch(value):
        return plain[2].lower()[:LONGEST_ADDRESS], plain[1].strip()[:LONGEST_NAME]
    value = value[:LONGEST_FIELD]
    return _addressed(value) or _addressed(decoded(value)) or _unaddressed(value)


def _addressed(value: str) -> tuple[str, str] | None:
    # An address in a quoted name is only a name.
    unquoted = QUOTED.sub(lambda quoted: " " * len(quoted[0]) if quoted[2] else quoted[0], value)
    if found := IN_ANGLES.search(unquoted):
        start = unquoted.rfind(",", 0, found.start()) + 1
        return found[1].lower()[:LONGEST_ADDRESS], _name(value[start : found.start()])
    if found := BARE.search(COMMENT.sub(lambda comment: " " * len(comment[0]), unquoted)):
        comment = COMMENT.search(value)
        return found[0].lower()[:LONGEST_ADDRESS], _name(comment[1]) if comment else ""
    return None


def _unaddressed(value: str) -> tuple[str, str] | None:
    """A machine of one's own may send as `root`."""
    name = _name(value.replace("<", " ").replace(">", " "))
    return (name.lower(), name) if name else None


def _name(text: str) -> str:
    """A name without the quotation marks, decoded."""
    text = QUOTED.sub(lambda quoted: re.sub(r"\\(.)", r"\1", quoted[1]) if quoted[2] else quoted[0], text)
    if "=?" in text:
        text = decoded(text)
    return " ".join(text.split())[:LONGEST_NAME]
