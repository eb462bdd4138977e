"""Compiled mails parse back, with the standard library, to exactly what was meant."""

import re
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gna import config
from gna.mail.compile import Bulk, Compiled, Mail, Sender
from gna.mail.content import Content, Slot, letter, names_in, text_pieces
from tests.factories import HELLO

SENDER = Sender("The Quiet Web <news@example.org>", "https://news.example.org")
BULK = Bulk("42")
TOKEN = "t" * 43

# What can go wrong stands closer together here than in real mails.
SNIPPETS = (
    *(
        "a",
        " ",
        "\n",
        ".",
        "=",
        "\t",
        "=20",
        "From ",
        "\r\n",
        "x" * 90,
        "word " * 30,
        "é",
        "ș",
        "€",
        "中文",
        "😀",
        "\x00",
    ),
    *("<b>", "&amp;", "--", '<a href="https://x.example/?n=', '">', "\u2028", "\x0b", "\x85"),
)
statics = st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=8)), max_size=12).map("".join)
letters = st.characters(exclude_categories=["Cs"])
values = st.one_of(st.text(letters, max_size=40), statics)
slots = st.sampled_from(["{{ nickname }}", "{{ nickname | friend }}", "{{ email }}", "{{ greeting | Hi }}"])
templates = st.lists(st.one_of(statics, slots), max_size=8).map("".join)


def parsed(content: Content, bulk: Bulk | None = None, to: str = "ana@example.org", **values: str) -> EmailMessage:
    raw = composed(content, bulk, to, **values)
    return message_from_bytes(raw, _class=EmailMessage, policy=SMTPUTF8)


def composed(content: Content, bulk: Bulk | None = None, to: str = "ana@example.org", **values: str) -> bytes:
    return Mail(Compiled(content, SENDER, bulk), "0195", to, {"unsubscribe_token": TOKEN, **values}).raw()


def text_of(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    assert part is not None
    assert not part.defects
    data = part.get_payload(decode=True)
    assert isinstance(data, bytes)
    return data.decode().replace("\r\n", "\n")


@settings(max_examples=400)
@given(templates, templates, templates, values, values)
@example("", "{{ nickname }}", "{{ nickname }}.", "", "")
@example("a", "{{ nickname }}\n", ".{{ nickname }} \n", ".", "From x")
@example("x" * 90, " {{ nickname }}", "中文中文{{ nickname }}中{{ email }}", "é", "中")
def test_a_merged_mail_parses_back_to_exactly_what_was_meant(
    subject: str, html: str, text: str, nickname: str, email: str
) -> None:
    content = Content(subject=subject, html=html, text=text)
    raw = composed(content, nickname=nickname, email=email)
    meant = content.merged({"nickname": nickname, "email": email})
    mail = message_from_bytes(raw, _class=EmailMessage, policy=SMTPUTF8)
    assert str(mail["Subject"]) == meant.subject
    assert text_of(mail, "plain") == meant.text
    assert text_of(mail, "html") == meant.html
    assert mail["To"] == "ana@example.org"
    assert (len(mail.keys()), mail.defects) == (8, [])
    assert_ready_for_the_wire(raw)


@given(templates, values, values)
def test_a_bulk_mail_parses_back_too_with_its_links_and_headers(text: str, nickname: str, email: str) -> None:
    content = Content(subject="News for {{ nickname }}", html=f"<p>{text}</p>", text=text)
    raw = composed(content, BULK, nickname=nickname, email=email)
    mail = message_from_bytes(raw, _class=EmailMessage, policy=SMTPUTF8)
    meant = content.merged({"nickname": nickname, "email": email})
    link = f"https://news.example.org/api/unsubscribe?token={TOKEN}"
    assert text_of(mail, "plain").startswith(meant.text.rstrip())
    assert text_of(mail, "html").startswith(meant.html)
    for kind in ("plain", "html"):
        assert link in text_of(mail, kind)
        assert "https://news.example.org/profile" in text_of(mail, kind)
    assert mail["List-Unsubscribe"] == f"<{link}>"
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mail["List-Id"] == "<news.example.org>"
    assert mail["Feedback-ID"] == "42:gna:bulk:example.org"
    assert_ready_for_the_wire(raw)


def assert_ready_for_the_wire(raw: bytes) -> None:
    lines = raw.split(b"\r\n")
    assert raw.endswith(b"\r\n")
    assert not any(b"\r" in line or b"\n" in line or line.startswith((b".", b"From ")) for line in lines)
    assert max(map(len, lines)) <= 998
    head = raw.partition(b"\r\n\r\n")[0]
    assert max(len(line) for line in head.split(b"\r\n") if not line.startswith(b"List-Unsubscribe:")) <= 78
    assert raw.isascii()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Hello {{ nickname }}\n", "7bit"),
        ("Salut {{ nickname }}, ești bine?\n" + "x" * 40, "quoted-printable"),
        ("Dots:\n.\n{{ nickname }}", "quoted-printable"),
        ("x" * 2000, "quoted-printable"),
        ("Здравствуйте, {{ nickname }}!", "base64"),
    ],
)
def test_each_part_travels_in_the_encoding_that_suits_it(text: str, encoding: str) -> None:
    content = Content(subject="x", html="<p>x</p>", text=text)
    part = parsed(content, nickname="Ana").get_body(("plain",))
    assert part is not None
    assert part["Content-Transfer-Encoding"] == encoding
    assert text_of(parsed(content, nickname="Ana"), "plain") == content.merged({"nickname": "Ana"}).text


def test_a_value_that_cannot_travel_unencoded_encodes_the_parts() -> None:
    mail = parsed(HELLO, name="Zoë")
    assert [part["Content-Transfer-Encoding"] for part in mail.iter_parts()] == ["quoted-printable"] * 2


def test_a_link_can_be_read_in_the_file_itself() -> None:
    url = "http://127.0.0.1:8000/confirm?token=" + "x" * 43
    assert url.encode() in composed(letter("confirm"), site="Gna", confirm_url=url)


@pytest.mark.parametrize("evil", ["x\r\nBcc: eve@example.org", "x\nSubject: other", "\r\n\r\n<script>"])
def test_a_value_cannot_add_a_header_or_markup(evil: str) -> None:
    mail = parsed(HELLO, name=evil)
    assert mail["Bcc"] is None
    assert len(mail.get_all("Subject", [])) == 1
    assert "<script>" not in text_of(mail, "html")


@pytest.mark.parametrize(
    "to", ["a@b.org>\r\nRCPT TO:<eve@x.org", "a b@c.org", "a@b.org>", "<a@b.org", "a", "a@b\x00.org"]
)
def test_an_address_cannot_add_a_command(to: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a mail"):
        composed(HELLO, to=to, name="Ana")


@pytest.mark.parametrize("token", ["", "a b", 'x"><script>', "x\r\n"])
def test_a_token_that_is_none_is_not_mailed(token: str) -> None:
    with pytest.raises(ValueError, match="token"):
        composed(HELLO, BULK, name="Ana", unsubscribe_token=token)


def test_a_value_in_a_link_is_a_part_of_it() -> None:
    content = Content("x", "<a href=\"https://x.example/?n={{ name }}\">{{ name }}</a> <a href='{{ name }}'>x</a>", "x")
    html = text_of(parsed(content, name='a&b="javascript:"'), "html")
    assert html == (
        '<a href="https://x.example/?n=a%26b%3D%22javascript%3A%22">a&amp;b=&quot;javascript:&quot;</a> '
        "<a href='a%26b%3D%22javascript%3A%22'>x</a>"
    )


def test_who_has_no_name_is_greeted_with_the_fallback() -> None:
    content = Content("Hi {{ name | friend }}", "<p>{{name|you & me}}</p>", "{{ name | friend }}")
    mail = parsed(content, name="")
    assert mail["Subject"] == "Hi friend"
    assert text_of(mail, "html") == "<p>you &amp; me</p>"
    assert text_of(mail, "plain") == "friend"


@pytest.mark.parametrize(("nickname", "greeted"), [("Ana <3", "Hi, Ana <3"), ("", "Hi")])
def test_a_greeting_has_the_name_of_those_who_have_one(nickname: str, greeted: str) -> None:
    content = Content(
        "{{ greeting | Hi }}", '<p title="{{greeting|Hi}}">{{ greeting | Hi }}</p>', "{{ greeting | Hi }}!"
    )
    merged = content.merged({"nickname": nickname})
    mail = parsed(content, BULK, nickname=nickname)
    assert mail["Subject"] == merged.subject == greeted
    assert text_of(mail, "plain").startswith(f"{merged.text}\n")
    assert merged.text == f"{greeted}!"
    escaped = greeted.replace("<", "&lt;")
    assert text_of(mail, "html").startswith(f'<p title="{escaped}">{escaped}</p>')


def test_equal_greetings_are_equal_slots() -> None:
    _, first, _, second, _ = text_pieces("{{ greeting | Hi }}{{ greeting | Hi }}")
    assert first == second
    assert isinstance(first, Slot)
    assert (first.name, first.fallback) == ("nickname", "")


def test_a_value_that_looks_like_a_slot_stays_text() -> None:
    assert "{{ name }}" in text_of(parsed(HELLO, name="{{ name }}"), "plain")


def test_the_same_message_has_the_same_id_and_every_other_another() -> None:
    assert parsed(HELLO, name="Ana")["Message-ID"] == "<0195@example.org>"
    assert parsed(HELLO, name="Ana")["Auto-Submitted"] == "auto-generated"


def test_links_that_the_writer_placed_are_not_placed_again() -> None:
    content = Content(
        "x", '<a href="{{ unsubscribe_url }}">go</a> <a href="{{ profile_url }}">me</a>', "{{ unsubscribe_url }}"
    )
    mail = parsed(content, BULK)
    assert text_of(mail, "html").count("/api/unsubscribe?token=") == 1
    assert text_of(mail, "html").count("/profile") == 1
    assert text_of(mail, "plain").count("/api/unsubscribe?token=") == 1
    assert "Manage your profile: https://news.example.org/profile" in text_of(mail, "plain")


@pytest.mark.parametrize(("language", "words"), [("en", "Unsubscribe"), ("ro", "Dezabonare"), ("xx", "Unsubscribe")])
def test_the_footer_stands_before_the_end_of_the_page_in_the_language_of_the_mail(language: str, words: str) -> None:
    content = Content("x", "<html><body><p>Hi</p></body></html>", "Hi")
    html = text_of(parsed(content, Bulk("1", language)), "html")
    assert re.search(rf"<p>Hi</p><p .*>{words}</a>.*</p>\n</body></html>$", html)


def test_an_international_domain_is_written_in_ascii_and_a_local_part_as_it_is() -> None:
    assert parsed(HELLO, to="ana@bücher.example", name="Ana")["To"] == "ana@xn--bcher-kva.example"
    assert "To: zoë@xn--bcher-kva.example".encode() in composed(HELLO, to="zoë@bücher.example", name="Ana")


@pytest.mark.parametrize(
    ("sender", "written"),
    [
        ("news@example.org", "news@example.org"),
        ("Ziarul Liniștit <news@example.org>", "Ziarul Liniștit <news@example.org>"),
        ('"Doe, Jane" <jane@example.org>', '"Doe, Jane" <jane@example.org>'),
        ("Bücher <news@bücher.example>", "Bücher <news@xn--bcher-kva.example>"),
        ("A name that goes on and on and then some more until the line is full <a@example.org>", None),
    ],
)
def test_every_sender_that_the_settings_take_can_write(sender: str, written: str | None) -> None:
    assert config.load({"EMAIL_FROM_ADDRESS": sender}, dotenv=Path("none")).email_from_address == sender
    compiled = Compiled(HELLO, Sender(sender, "https://news.example.org"), BULK)
    raw = Mail(compiled, "0195", "ana@example.org", {"name": "Ana", "unsubscribe_token": TOKEN}).raw()
    mail = message_from_bytes(raw, _class=EmailMessage, policy=SMTP)
    assert str(mail["From"]).replace('"', "") == (written or sender).replace('"', "")


def test_a_link_with_letters_beyond_ascii_is_ascii_in_the_header_alone() -> None:
    sender = Sender("news@example.org", "https://știri.example/ană")
    content = Content("x", "<p>x</p>", "{{ unsubscribe_url }}")
    raw = Mail(Compiled(content, sender, BULK), "0195", "ana@example.org", {"unsubscribe_token": TOKEN}).raw()
    mail = message_from_bytes(raw, _class=EmailMessage, policy=SMTP)
    link = f"https://xn--tiri-pxb.example/an%C4%83/api/unsubscribe?token={TOKEN}"
    assert mail["List-Unsubscribe"] == f"<{link}>"
    assert f"https://știri.example/ană/api/unsubscribe?token={TOKEN}" in text_of(mail, "plain")
    assert_ready_for_the_wire(raw)


def test_the_same_content_has_the_same_hash_and_another_one_another() -> None:
    assert HELLO.hash == Content(HELLO.subject, HELLO.html, HELLO.text).hash
    assert HELLO.hash != Content(HELLO.subject, HELLO.html, HELLO.text + " ").hash
    assert Content("ab", "c", "").hash != Content("a", "bc", "").hash


def test_the_confirmation_letter_has_its_link_in_both_parts() -> None:
    confirm = letter("confirm")
    assert "confirm_url" in names_in(confirm.html)
    assert "confirm_url" in names_in(confirm.text)


class Reader(HTMLParser):
    """Collects the text of a page, as a person reads it."""

    text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(letters, min_size=1))
def test_a_person_reads_their_name_in_html_as_they_typed_it(name: str) -> None:
    reader = Reader()
    reader.feed(text_of(parsed(HELLO, name=name), "html"))
    reader.close()
    assert reader.text == "Hello " + name.replace("\r\n", "\n").replace("\r", "\n")
