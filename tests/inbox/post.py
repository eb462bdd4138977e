"""A mailbox full of mails as people have them: newsletters, notifications, and other people."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime
from random import Random

WORDS = """the a of in for with our your this week new how what people garden music code market letter city water house
    light paper story question answer year winter train coffee bread river mountain""".split()  # noqa: SIM905
KINDS = (*["newsletter"] * 6, "person", "person", "shop", "machine")
# People write less than others, as a part of what these write.
SHARE = {"newsletter": 1.0, "shop": 1.0, "machine": 0.3, "person": 0.1}
MARKETING = ("Big sale this weekend", "An offer for you", "Our newsletter", "Free shipping until Friday", "A discount")


@dataclass(frozen=True)
class Sender:
    """Somebody who writes: of which kind, and under which name."""

    number: int

    @property
    def kind(self) -> str:
        """Most senders are newsletters; the others people, machines, and shops whose way out is in the body alone."""
        return KINDS[self.number % len(KINDS)]

    @property
    def address(self) -> str:
        """Their address, each at a domain of their own."""
        return f"{self.kind}{self.number}@{self.kind}{self.number}.example"


@dataclass(frozen=True)
class Letter:
    """A mail, and when it arrived."""

    sender: Sender
    raw: bytes
    received: datetime


def letters(
    count: int, *, until: datetime, days: int = 25, senders: int = 300, size: int = 25_000, seed: int = 7
) -> Iterator[Letter]:
    """So many mails, evenly over the days before `until`, always the same ones."""
    chance = Random(seed)
    filler = "".join(f"<p style='margin:0'>{_sentence(chance, 14)}.</p>\r\n" for _ in range(1 + size // 40))
    for number in range(count):
        received = until - timedelta(days=days) * ((count - number) / count)
        sender = Sender(chance.randrange(senders))
        body = _body(chance, filler, int(size * SHARE[sender.kind]))
        yield Letter(sender, _mail(sender, number, received, body, chance), received)


def _mail(sender: Sender, number: int, received: datetime, body: str, chance: Random) -> bytes:
    token = f"{chance.getrandbits(128):032x}"
    host = sender.address.partition("@")[2]
    marketing = sender.kind in ("newsletter", "shop") and chance.random() < 0.3
    subject = chance.choice(MARKETING) if marketing else _sentence(chance, 7)
    lines = [
        f"Return-Path: <bounce-{token[:12]}@{host}>",
        "Delivered-To: reader@example.org",
        f"Received: from mail.{host} by mx.example.org with ESMTPS id {token[:16]}; {format_datetime(received)}",
        f'From: "{sender.kind.title()} {sender.number}" <{sender.address}>',
        "To: reader@example.org",
        f"Subject: {subject} {number}",
        f"Date: {format_datetime(received - timedelta(seconds=chance.randrange(60)))}",
        f"Message-ID: <{number}.{token[:16]}@{host}>",
        "MIME-Version: 1.0",
        "Content-Type: text/html; charset=utf-8",
        *_more(sender, host, token, number),
    ]
    foot = f'<p><a href="https://{host}/unsubscribe?u={token}">Unsubscribe</a></p>' if sender.kind != "person" else ""
    return ("\r\n".join(lines) + f"\r\n\r\n<html><body>{body}{foot}</body></html>\r\n").encode()


def _more(sender: Sender, host: str, token: str, number: int) -> list[str]:
    """The fields that tell the kinds apart."""
    if sender.kind == "newsletter":
        return [
            f"List-Id: Letters of {sender.number} <letters.{host}>",
            f"List-Unsubscribe: <https://{host}/u/{token}>,\r\n <mailto:leave+{token}@{host}>",
            "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
            f"Feedback-ID: {number}:{sender.number}:news",
            "Precedence: bulk",
        ]
    if sender.kind == "machine":
        return ["Auto-Submitted: auto-generated"]
    return [f"In-Reply-To: <{token[16:]}@example.org>"] if sender.kind == "person" and number % 2 else []


def _body(chance: Random, filler: str, size: int) -> str:
    """Something to read, of about this size."""
    length = int(size * chance.uniform(0.4, 1.6))
    start = chance.randrange(max(1, len(filler) - length))
    return filler[start : start + length]


def _sentence(chance: Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words)).capitalize()
