from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna import config
from gna.mail.compose import Envelope, compose
from gna.mail.content import SLOT, Content, letter
from tests.factories import HELLO, NOW

ENVELOPE = Envelope(id="0195", sender="The Quiet Web <news@example.org>", to="ana@example.org", date=NOW)
# What a person may put into a name: anything but control characters and halves of characters.
names = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1)


class Reader(HTMLParser):
    """Collects the text of a page, as a person reads it."""

    text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(content: Content, slots: dict[str, str], envelope: Envelope = ENVELOPE) -> EmailMessage:
    return message_from_bytes(compose(content, slots, envelope), _class=EmailMessage, policy=default)


def text_of(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


@given(names)
def test_a_merged_mail_parses_back_to_what_was_meant(name: str) -> None:
    mail = parsed(HELLO, {"name": name})
    assert " ".join(str(mail["Subject"]).split()) == " ".join(f"Hello {name}".split())
    assert text_of(mail, "plain").rstrip("\n") == f"Hello {name}".rstrip("\n")
    assert _text_in(text_of(mail, "html")).rstrip("\n") == f"Hello {name}".rstrip("\n")


@pytest.mark.parametrize("name", ["0¡" + "ࠀ" * 11 + " ¡ ¡", "=?utf-8?q?x?=", "x" * 900, "ă " * 200])
def test_a_long_or_odd_subject_keeps_every_space(name: str) -> None:
    assert str(parsed(HELLO, {"name": name})["Subject"]).rstrip() == f"Hello {name}".rstrip()


@pytest.mark.parametrize("evil", ["x\r\nBcc: eve@example.org", "x\nSubject: other", "\r\n\r\n<script>"])
def test_a_value_cannot_add_a_header(evil: str) -> None:
    mail = parsed(HELLO, {"name": evil})
    assert mail["Bcc"] is None
    assert len(mail.get_all("Subject", [])) == 1


def test_a_value_cannot_add_html() -> None:
    assert "<script>" not in text_of(parsed(HELLO, {"name": "<script>alert(1)</script>"}), "html")


def test_a_value_that_looks_like_a_slot_stays_text() -> None:
    assert "{{ name }}" in text_of(parsed(HELLO, {"name": "{{ name }}"}), "plain")


def test_the_envelope_becomes_headers() -> None:
    mail = parsed(HELLO, {"name": "Ana"})
    assert mail["From"] == "The Quiet Web <news@example.org>"
    assert mail["To"] == "ana@example.org"
    assert mail["Message-ID"] == "<0195@example.org>"
    assert mail["Date"].datetime == NOW
    assert mail["Auto-Submitted"] == "auto-generated"


def test_an_international_domain_is_written_in_ascii() -> None:
    to_books = Envelope(id="0195", sender="a@b.org", to="ana@bücher.example", date=NOW)
    assert parsed(HELLO, {"name": "Ana"}, to_books)["To"] == "ana@xn--bcher-kva.example"


@pytest.mark.parametrize(
    ("sender", "written"),
    [
        ("news@example.org", "news@example.org"),
        ("Ziarul Liniștit <news@example.org>", "Ziarul Liniștit <news@example.org>"),
        ('"Doe, Jane" <jane@example.org>', '"Doe, Jane" <jane@example.org>'),
        ("Bücher <news@bücher.example>", "Bücher <news@xn--bcher-kva.example>"),
    ],
)
def test_every_sender_that_the_settings_take_can_write(sender: str, written: str) -> None:
    assert config.load({"EMAIL_FROM_ADDRESS": sender}, dotenv=Path("none")).email_from_address == sender
    envelope = Envelope(id="0195", sender=sender, to="ana@example.org", date=NOW)
    assert str(parsed(HELLO, {"name": "Ana"}, envelope)["From"]) == written


def test_the_same_content_has_the_same_hash_and_another_one_another() -> None:
    assert HELLO.hash == Content(HELLO.subject, HELLO.html, HELLO.text).hash
    assert HELLO.hash != Content(HELLO.subject, HELLO.html, HELLO.text + " ").hash
    assert Content("ab", "c", "").hash != Content("a", "bc", "").hash


def test_the_confirmation_letter_has_its_link_in_both_parts() -> None:
    confirm = letter("confirm")
    assert "confirm_url" in SLOT.findall(confirm.html)
    assert "confirm_url" in SLOT.findall(confirm.text)


def test_a_link_can_be_read_in_the_file_itself() -> None:
    url = "http://127.0.0.1:8000/confirm?token=" + "x" * 43
    raw = compose(letter("confirm"), {"site": "Gna", "confirm_url": url}, ENVELOPE)
    assert url.encode() in raw


def _text_in(html: str) -> str:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader.text
