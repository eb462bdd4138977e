"""What a server can do, by its answer to EHLO."""

from typing import NamedTuple

from gna.providers.smtp.replies import Reply

# Seen on old servers: "AUTH=PLAIN LOGIN".
OLD_AUTH = "AUTH="


class Offers(NamedTuple):
    """The extensions that concern us. `size` is None without SIZE, and 0 if no limit was told."""

    pipelining: bool = False
    eight_bit: bool = False
    international: bool = False
    starttls: bool = False
    size: int | None = None
    auth: frozenset[str] = frozenset()


def offers(reply: Reply) -> Offers:
    """Read the lines after the first, which is a greeting."""
    words = [line.replace(OLD_AUTH, "AUTH ").split() for line in _lines(reply)]
    said = {line[0]: line[1:] for line in words if line}
    ways = frozenset(way for line in words if line[:1] == ["AUTH"] for way in line[1:])
    return Offers(
        pipelining="PIPELINING" in said,
        eight_bit="8BITMIME" in said,
        international="SMTPUTF8" in said,
        starttls="STARTTLS" in said,
        size=_size(said["SIZE"]) if "SIZE" in said else None,
        auth=ways,
    )


def _lines(reply: Reply) -> list[str]:
    return reply.text.decode("ascii", "replace").upper().split("\n")[1:]


def _size(words: list[str]) -> int:
    return int(words[0]) if words and words[0].isdecimal() and len(words[0]) < 20 else 0
