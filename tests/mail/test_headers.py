"""`From:` and `Subject:` come back as they were meant, read by Python, by Go and by Dovecot."""

import imaplib
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.policy import SMTP, compat32
from email.utils import parseaddr
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gna.kinds import NamedAddress
from gna.mail.compile import Sender
from gna.mail.encode import header
from tests.servers import HOST, dovecot
from tests.servers.dovecot import Dovecot

ORDINARY = [
    "",
    "Gna",
    "Les Amis de la Forêt de Fontainebleau",
    "The Society for Old Things and Bridges of Berlin",
    "Doe, Jane",
    "Doe, Jane; Roe, Richard; and everybody else who ever wrote a letter, a card or a note",
    "Dr. J. O'Neill & Sons, Ltd. (est. 1871)",
    'The "Quiet" Web',
    "back\\slash",
    "news@example.net",
    "Meet @ Berlin",
    "a <b> c",
    "=?utf-8?q?x?=",
    "=?utf-8?q?x?= and more",
    "ends in =?",
    "?=",
    "=",
    "_",
    "a_b c=20d",
    ". . .",
    "Les\xa0Amis",
    "👩‍👩‍👧‍👦 family",
    "שלום עולם",
    "مرحبا بالعالم",
    "e\u0301\u0323 n\u0303",
    "\u202eturned\u202c",
    "\u200d",
    "\ufeffmark",
    "𝒮𝒸𝓇𝒾𝓅𝓉",
]
ALPHABETS = {
    "letters": "abcdefghijklmnopqrstuvwxyz",
    "words": "the old bridge of ",
    "dots": "J. R. Tolkien, ",
    "quotes": 'a "b" ',
    "backslashes": "a\\b\\",
    "specials": '(),.:;<>@[]\\" ',
    "atoms": "!#$%&'*+-/=?^_`{|}~ ",
    "encoded": "=?utf-8?b?eA==?= ",
    "single": "a b ",
    "french": "Forêt de l'été à ",
    "romanian": "Știri și țară, ",
    "cyrillic": "Новости ",
    "chinese": "安静的网络",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈",
    "hebrew": "שלום ",
    "arabic": "مرحبا ",
    "combining": "e\u0301\u0323",
    "mixed": 'Ana, "é" 中 😀 ',
}
ADDRESSES = ["a@b.org", "newsletter@example.org", f"{'x' * 60}@mail.{'long-' * 6}name.example.org"]
GO_PROGRAM = """
package main

import ("bytes"; "encoding/json"; "fmt"; "io"; "mime"; "net/mail"; "os")

func main() {
    input, _ := io.ReadAll(os.Stdin)
    for _, raw := range bytes.Split(input, []byte{0}) {
        found := []string{}
        message, err := mail.ReadMessage(bytes.NewReader(raw))
        if err == nil {
            var list []*mail.Address
            list, err = message.Header.AddressList("From")
            for _, one := range list {
                found = append(found, one.Name, one.Address)
            }
            var subject string
            subject, _ = new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
            found = append(found, subject)
        }
        if err != nil {
            found = append(found, "error", err.Error())
        }
        line, _ := json.Marshal(found)
        fmt.Println(string(line))
    }
}
"""
# The beginning of an ENVELOPE: date, subject, and one sender (name, source route, local part, domain).
STRING = r'(?:NIL|"((?:[^"\\]|\\.)*)")'
ENVELOPE = re.compile(rf"ENVELOPE \({STRING} {STRING} \(\({STRING} {STRING} {STRING} {STRING}\)\)")


class Meant(NamedTuple):
    """What is written into a mail, and what a parser reads in it."""

    name: str
    address: str
    subject: str


Mails = list[tuple[Meant, bytes]]


def names() -> list[str]:
    """The ordinary ones, and each alphabet at each length up to 200."""
    repeated = [
        "".join(itertools.islice(itertools.cycle(alphabet), length))
        for alphabet in ALPHABETS.values()
        for length in range(1, 201)
    ]
    return [*ORDINARY, *map(tidied, repeated)]


def tidied(name: str) -> str:
    """The name without spaces around it and runs of them in it: readers join those."""
    return re.sub(r"\s\s+", " ", name.strip())


def everything() -> list[Meant]:
    """Each name as a sender, and as a subject."""
    addresses = itertools.cycle(ADDRESSES)
    return [Meant(name, next(addresses), name) for name in names()]


def quoted(name: str, address: str) -> str:
    """The setting that means this name, whatever is in it."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}" <{address}>'


def raw_mail(meant: Meant) -> bytes:
    """A mail with nothing but these two headers."""
    sender = Sender(quoted(meant.name, meant.address), "https://news.example.org")
    subject = header(meant.subject, len("Subject: "))
    return b"From: " + sender.from_header + b"\r\nSubject: " + subject + b"\r\n\r\n"


@pytest.fixture(scope="module")
def mails() -> Mails:
    return [(meant, raw_mail(meant)) for meant in everything()]


def misread(mails: Mails, read: list[Meant]) -> list[tuple[Meant, Meant]]:
    assert len(read) == len(mails)
    pairs = [(meant, found) for (meant, _), found in zip(mails, read, strict=True)]
    return [(meant, found) for meant, found in pairs if found != meant]


def by_todays_python(raw: bytes) -> Meant:
    mail = message_from_bytes(raw, _class=EmailMessage, policy=SMTP)
    [sender] = mail["From"].addresses
    return Meant(sender.display_name, sender.addr_spec, str(mail["Subject"]))


# Python without the fix of gh-128110 leaves a space between encoded words of a name.
SPLIT_NAME = b"From: =?utf-8?q?a?=\r\n =?utf-8?q?b?= <a@b.org>\r\nSubject: x\r\n\r\n"
LEAVES_A_SPACE = by_todays_python(SPLIT_NAME).name == "a b"


def by_todays_python_without_its_spaces(meant: Meant, raw: bytes) -> Meant:
    """What Python reads, apart from the spaces in a name that are its own mistake."""
    found = by_todays_python(raw)
    is_split = b"?=\r\n =?" in raw.partition(b"Subject:")[0]
    is_same = found.name.replace(" ", "") == meant.name.replace(" ", "")
    return found._replace(name=meant.name) if LEAVES_A_SPACE and is_split and is_same else found


def by_the_older_python(raw: bytes) -> Meant:
    mail = message_from_bytes(raw, policy=compat32)
    name, address = parseaddr(mail["From"])
    return Meant(decoded(name), address, decoded(re.sub(r"\r\n ", " ", mail["Subject"])))


def decoded(text: str) -> str:
    return str(make_header(decode_header(text)))


def test_todays_python_reads_everything(mails: Mails) -> None:
    read = [by_todays_python_without_its_spaces(meant, raw) for meant, raw in mails]
    assert misread(mails, read) == []


def test_the_older_python_reads_everything(mails: Mails) -> None:
    assert misread(mails, [by_the_older_python(raw) for _, raw in mails]) == []


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("go")
    if compiler is None:
        pytest.skip("Go is not installed, so its net/mail cannot be asked")
    folder = tmp_path_factory.mktemp("go")
    source = folder / "main.go"
    source.write_text(GO_PROGRAM)
    program = folder / "read-from"
    subprocess.run([compiler, "build", "-o", program, source], check=True, cwd=folder)
    return program


def test_go_reads_everything(mails: Mails, go: Path) -> None:
    sent = b"\0".join(raw for _, raw in mails)
    lines = subprocess.run([go], input=sent, capture_output=True, check=True).stdout.splitlines()
    assert misread(mails, [Meant(*json.loads(line)) for line in lines]) == []


@pytest.fixture(scope="module")
def imap() -> Iterator[Dovecot]:
    if reason := dovecot.why_missing():
        pytest.skip(reason)
    with Dovecot() as server:
        yield server


def test_dovecot_reads_everything(mails: Mails, imap: Dovecot) -> None:
    imap.deliver("ana", mails[0][1])  # makes the mailbox, too
    with imaplib.IMAP4(HOST, imap.port) as connection:
        connection.login("ana", imap.password)
        connection.select()
        append_all(connection, [raw for _, raw in mails[1:]])
        _, answers = connection.fetch(f"1:{len(mails)}", "(ENVELOPE)")
    assert misread(mails, [by_dovecot(line) for line in whole_lines(answers)]) == []


def append_all(connection: imaplib.IMAP4, raw_mails: list[bytes]) -> None:
    """One command for all of them (RFC 3502, RFC 7888)."""
    literals = [b"{%d+}\r\n%b" % (len(raw), raw) for raw in raw_mails]
    connection.send(b"append APPEND INBOX " + b" ".join(literals) + b"\r\n")
    line = connection.readline()
    while not line.startswith(b"append "):
        line = connection.readline()
    assert line.startswith(b"append OK"), line
    connection.noop()


def whole_lines(answers: Sequence[bytes | tuple[bytes, bytes] | None]) -> Iterator[str]:
    """Each answer on one line: a literal becomes a quoted string."""
    line = ""
    for part in answers:
        if isinstance(part, tuple):
            before = re.sub(r"\{\d+\}\Z", "", part[0].decode())
            literal = part[1].decode().replace("\\", "\\\\").replace('"', '\\"')
            line += f'{before}"{literal}"'
        elif part is not None:
            yield line + part.decode()
            line = ""


def by_dovecot(line: str) -> Meant:
    found = ENVELOPE.search(line)
    assert found, line
    strings = [re.sub(r"\\(.)", r"\1", part or "") for part in found.groups()]
    _, subject, name, _, local, domain = strings
    return Meant(decoded(name), f"{local}@{domain}", decoded(subject))


def test_every_line_is_short_and_every_encoded_word_may_stand_in_a_phrase(mails: Mails) -> None:
    for meant, raw in mails:
        assert raw.isascii()
        for line in raw.removesuffix(b"\r\n\r\n").split(b"\r\n"):
            assert line.strip(), raw
            # The address cannot be folded.
            assert len(line) <= 76 or line.strip() == f"<{meant.address}>".encode(), raw
        for word in re.findall(rb"=\?utf-8\?.*?\?=(?=\s)", raw):
            assert len(word) <= 75
            assert re.fullmatch(rb"=\?utf-8\?[qb]\?[A-Za-z0-9!*+/=_-]+\?=", word), raw


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=120))
@example("a" * 71)
@example("0 \xa0")
@example("a\xa0 \u2003b")
@example("=?")
def test_any_name_comes_back(name: str) -> None:
    meant = Meant(tidied(name), "news@example.org", tidied(name))
    raw = raw_mail(meant)
    assert by_todays_python_without_its_spaces(meant, raw) == by_the_older_python(raw) == meant
    assert NamedAddress.parse(quoted(name, meant.address)) == NamedAddress(meant.name, meant.address)


@pytest.mark.parametrize(
    ("setting", "name", "address"),
    [
        ("news@example.org", "", "news@example.org"),
        (" <news@example.org> ", "", "news@example.org"),
        ("The  Quiet Web  <news@example.org>", "The Quiet Web", "news@example.org"),
        ('" The  Quiet Web " <news@example.org>', "The Quiet Web", "news@example.org"),
        ('"  " <news@example.org>', "", "news@example.org"),
        ("Doe, Jane <jane@example.org>", "Doe, Jane", "jane@example.org"),
        ("News: Berlin (weekly); No. 1 <n@example.org>", "News: Berlin (weekly); No. 1", "n@example.org"),
        ('"The \\"Quiet\\" \\\\ Web" <n@example.org>', 'The "Quiet" \\ Web', "n@example.org"),
        ('"Ana <ana@b.org>, Bob" <n@example.org>', "Ana <ana@b.org>, Bob", "n@example.org"),
        ("a\\b <n@example.org>", "a\\b", "n@example.org"),
        ("=?utf-8?q?x?= <n@example.org>", "=?utf-8?q?x?=", "n@example.org"),
        ("Bücher <news@bücher.example>", "Bücher", "news@bücher.example"),
    ],
)
def test_a_setting_means_one_name_and_one_address(setting: str, name: str, address: str) -> None:
    assert NamedAddress.parse(setting) == NamedAddress(name, address)


@pytest.mark.parametrize(
    "setting",
    [
        "",
        "Ana",
        "a@example.org, b@example.org",
        "Ana <a@example.org>, Bob <b@example.org>",
        "a@example.org, Bob <b@example.org>",
        "Friends: a@example.org, b@example.org;",
        "a@example.org (Ana)",
        "Ana <a@example.org> (work)",
        "Ana <a@example.org",
        "Ana a@example.org",
        'The "Quiet" Web <a@example.org>',
        '"A" and "B" <a@example.org>',
        '"Ana <a@example.org>',
        '"Ana\\" <a@example.org>',
        "Ana <>",
        "Ana < a@example.org>",
        "Ana <a@[127.0.0.1]>",
        'Ana <"a b"@example.org>',
        "A\tna <a@example.org>",
        "A\x00na <a@example.org>",
        "A\x85na <a@example.org>",
        "A\u2028na <a@example.org>",
        "A\udce9na <a@example.org>",
        "A\r\nBcc: <a@example.org>",
    ],
)
def test_a_setting_that_cannot_be_understood_is_refused(setting: str) -> None:
    with pytest.raises(ValueError, match=r"^an address, or a name with an address"):
        NamedAddress.parse(setting)
