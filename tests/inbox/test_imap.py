"""What servers say on the wire, also the odd ones."""

import base64
import socket
import struct
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna import clock
from gna.errors import NotFound, Refused, Unreachable
from gna.inbox.moments import MONTHS, received
from gna.inbox.server import Auth, Server
from gna.inbox.sources import wire
from gna.inbox.sources.fetches import Dropped, Fetches, KeptBack
from gna.inbox.sources.folder_names import numbers, off_the_wire, on_the_wire, ranges, worth_a_look
from gna.inbox.sources.imap import Mailbox
from gna.providers.smtp import Tls
from tests.inbox.scripted import Answers, Script, a_server
from tests.servers.certificates import Certificate
from tests.servers.raw import Raw


def opened(raw: Raw, *, auth: Auth = Auth.PLAIN, tls: Tls = Tls.NONE, patience: float = 20) -> Mailbox:
    return Mailbox(Server("127.0.0.1", raw.port, tls, auth=auth), user="ana", secret="violet", patience=patience)


def nothing(_: str, __: str) -> None:
    return None


def fetched(*lines: str | bytes) -> Answers:
    """A server that answers every FETCH in this way."""

    def answers(tag: str, command: str) -> list[str | bytes] | None:
        return [*lines, f"{tag} OK done"] if command.startswith("UID FETCH") else None

    return answers


FORMS: dict[str, list[str | bytes]] = {
    "as asked": ['* 1 FETCH (UID 7 INTERNALDATE "16-Nov-2026 17:23:03 +0000" BODY[] {2}', b"hi)\r\n"],
    "another order": ['* 1 FETCH (INTERNALDATE "16-Nov-2026 17:23:03 +0000" BODY[] {2}', b"hi UID 7)\r\n"],
    "flags too": ['* 1 FETCH (FLAGS (\\Seen) UID 7 INTERNALDATE "16-Nov-2026 17:23:03 +0000" BODY[] {2}', b"hi)\r\n"],
    "quoted": ['* 1 FETCH (UID 7 INTERNALDATE "16-Nov-2026 17:23:03 +0000" BODY[] "hi")'],
    "news in between": [
        "* 5 EXISTS",
        "* 3 EXPUNGE",
        "* 2 FETCH (FLAGS (\\Seen))",
        '* 1 FETCH (UID 7 INTERNALDATE "16-Nov-2026 17:23:03 +0000" BODY[] {2}',
        b"hi)\r\n",
        "* OK still here",
    ],
    "another literal": [
        '* 1 FETCH (UID 7 INTERNALDATE "16-Nov-2026 17:23:03 +0000" BODY[] {2}',
        b"hi BODY[1] {3}\r\nabc)\r\n",
    ],
    "LITERAL+": ['* 1 FETCH (UID 7 INTERNALDATE "16-Nov-2026 17:23:03 +0000" BODY[] {2+}', b"hi)\r\n"],
}


@pytest.mark.parametrize("lines", FORMS.values(), ids=FORMS.keys())
def test_answers_are_understood_in_every_form(lines: list[str | bytes]) -> None:
    with a_server(fetched(*lines)) as raw, opened(raw) as mailbox:
        [answer] = mailbox.bodies([[7]])
    assert [(mail.uid, mail.content) for mail in answer.fetched] == [(7, b"hi")]
    assert received(answer.fetched[0].received) == "2026-11-16T17:23:03.000000Z"


def test_what_comes_for_a_later_command_is_kept_for_it() -> None:
    held: list[str] = []

    def answers(tag: str, command: str) -> list[str | bytes] | None:
        if not command.startswith("UID FETCH"):
            return None
        held.append(tag)
        if len(held) < 2:
            return []
        mails = [f'* {uid} FETCH (UID {uid} INTERNALDATE "" BODY[] {{2}}\r\nhi)' for uid in (2, 1)]
        return [*mails, f"{held[1]} OK", f"{held[0]} OK"]

    with a_server(answers) as raw, opened(raw) as mailbox:
        found = [(answer.asked, [mail.uid for mail in answer.fetched]) for answer in mailbox.bodies([[1], [2]])]
    assert found == [([1], [1]), ([2], [2])]


def test_mails_need_not_wait_for_the_end_of_their_command() -> None:
    held: list[str] = []

    def answers(tag: str, command: str) -> list[str | bytes] | None:
        if not command.startswith("UID FETCH"):
            return [*(f"{held.pop(0)} OK" for _ in [*held]), f"{tag} OK done"] if command.startswith("NOOP") else None
        held.append(tag)
        uid = command.split()[2]
        return [f'* {uid} FETCH (UID {uid} INTERNALDATE "" BODY[] {{2}}\r\nhi)']

    with a_server(answers) as raw, opened(raw) as mailbox:
        some = mailbox.bodies([[1], [2], [3]])
        assert [[mail.uid for mail in next(some).fetched] for _ in range(3)] == [[1], [2], [3]]
        # Then all the ends are waited for: the next command is answered by its own.
        mailbox._send("NOOP")
        assert not list(some)
        assert not held
        assert mailbox._line() == b"G4 OK done\r\n"


def test_a_connection_that_is_lost_while_more_is_asked_for_gave_what_it_gave() -> None:
    asked: list[str] = []

    def send(command: str) -> bytes:
        asked.append(command)
        if len(asked) == 3:
            raise BrokenPipeError
        return b"G%d " % len(asked)

    there, here = socket.socketpair()
    imap = wire.Plain.__new__(wire.Plain)
    imap.sock = here
    there.sendall(b"".join(b'* %d FETCH (UID %d INTERNALDATE "" BODY[] {2}\r\nhi)\r\n' % (n, n) for n in (1, 2)))
    came = Fetches(imap, send, "BODY.PEEK[]").answers([[1], [2], [3]])
    assert [next(came).asked, next(came).asked] == [[1], [2]]
    with pytest.raises(BrokenPipeError):
        next(came)
    there.close()
    here.close()


def test_an_encrypted_connection_that_is_lost_can_be_made_again(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))

    def does(connection: socket.socket) -> None:
        there = certificate.for_server().wrap_socket(connection, server_side=True)
        with there, there.makefile("rb") as lines:
            there.sendall(b"* OK hello\r\n")
            for line in lines:
                tag, _, command = line.rstrip().partition(b" ")
                if command.startswith(b"UID FETCH"):
                    there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                there.sendall(b"* CAPABILITY IMAP4rev1\r\n" * (command == b"CAPABILITY") + tag + b" OK done\r\n")

    with Raw(does) as raw, opened(raw, tls=Tls.IMPLICIT) as mailbox, pytest.raises(Dropped):
        list(mailbox.bodies([[1], [2]]))


def test_little_is_kept_of_a_servers_last_words() -> None:
    there, here = socket.socketpair()
    imap = wire.Plain.__new__(wire.Plain)
    imap.sock = here
    numbers = count(1)
    there.sendall(b'* 1 FETCH (UID 1 INTERNALDATE "" BODY[] {2}\r\nhi)\r\n')
    fetches = Fetches(imap, lambda _: b"G%d " % next(numbers), "BODY.PEEK[]")
    for number, _ in enumerate(fetches.answers([[1], [2], [3]]), start=1):
        there.sendall(b"G%d OK %s\r\n" % (number, b"x" * 50_000))
        there.sendall(b'* %d FETCH (UID %d INTERNALDATE "" BODY[] {2}\r\nhi)\r\n' % (number + 1, number + 1))
        assert sum(map(len, fetches._ended.values())) < 1000
    there.close()
    here.close()


WELCOMES = {
    "with its welcome": ("OK [CAPABILITY IMAP4rev1 ESEARCH] welcome", "* ESEARCH UID ALL 7,9:10"),
    "not at all": ("OK welcome", "* SEARCH 7 9 10"),
}


@pytest.mark.parametrize(("welcome", "found"), WELCOMES.values(), ids=WELCOMES.keys())
def test_a_server_tells_what_it_can_once_somebody_is_logged_in(welcome: str, found: str) -> None:
    said: list[str] = []

    def answers(tag: str, command: str) -> list[str | bytes] | None:
        said.append(command)
        if command.startswith("LOGIN"):
            return [f"{tag} {welcome}"]
        return [found, f"{tag} OK done"] if "SEARCH" in command else None

    with a_server(answers, capabilities="IMAP4rev1") as raw, opened(raw) as mailbox:
        assert mailbox.search("UID 1:*") == [7, 9, 10]
    assert any("RETURN (ALL)" in command for command in said) == ("ESEARCH" in welcome)


def test_a_server_that_refuses_some_mails_is_asked_for_each_that_did_not_come() -> None:
    script = Script(dict.fromkeys(range(1, 41), b"hi"))
    script.refused = {3, 27}
    with a_server(script) as raw, opened(raw) as mailbox:
        first, second = mailbox.heads([[*range(1, 31)], [*range(31, 41)]])
    assert ([mail.uid for mail in first.fetched], first.refused) == ([*{*range(1, 31)} - {3, 27}], [3, 27])
    assert (len(second.fetched), second.refused) == (10, [])
    assert len(script.fetches) == 2 + 30


@pytest.mark.parametrize("code", ["UNAVAILABLE", "LIMIT", "INUSE"])
def test_a_server_that_gives_nothing_for_now_is_not_asked_for_each(code: str) -> None:
    script = Script(dict.fromkeys(range(1, 31), b"hi"), no=f"[{code}] later")
    script.refused = {17}
    with a_server(script) as raw, opened(raw) as mailbox:
        answers = mailbox.heads([[*range(1, 11)], [*range(11, 31)]])
        assert len(next(answers).fetched) == 10
        with pytest.raises(KeptBack, match="later"):
            next(answers)
    assert len(script.fetches) == 2


def test_what_came_before_a_server_had_enough_counts() -> None:
    mails: list[str | bytes] = [f'* 1 FETCH (UID {uid} INTERNALDATE "" BODY[] {{2}}\r\nhi)' for uid in (1, 2, 4)]

    def answers(tag: str, command: str) -> list[str | bytes] | None:
        return [*mails, f"{tag} NO [LIMIT] enough"] if command.startswith("UID FETCH") else None

    with a_server(answers) as raw, opened(raw) as mailbox:
        came = mailbox.heads([[1, 2, 3, 4]])
        first = next(came)
        assert (first.asked, [mail.uid for mail in first.fetched]) == ([1, 2], [1, 2])
        with pytest.raises(KeptBack):
            next(came)


ENDLESS: dict[str, tuple[str, bytes]] = {
    "line": ("* OK ", b"x" * 1_000_000),
    "literal": ("* 1 FETCH (UID 7 BODY[] {999999999}", b""),
    "literal of many digits": (f"* 1 FETCH (UID 7 BODY[] {{{'9' * 5000}}}", b""),
    "second literal": ("* 1 FETCH (UID 7 BODY[] {2}\r\nhi BODY[1] {999999999}", b""),
}


@pytest.mark.parametrize(("begins", "goes_on"), ENDLESS.values(), ids=ENDLESS.keys())
def test_what_has_no_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch, begins: str, goes_on: bytes) -> None:
    monkeypatch.setattr(wire, "LONGEST_LINE", 3_000_000)

    def answers(tag: str, command: str) -> list[str | bytes] | None:
        if not command.startswith("UID FETCH"):
            return None
        return [begins.encode() + b"\r\n" * (not goes_on), *[goes_on] * 10, f"{tag} OK done"]

    with a_server(answers) as raw, pytest.raises(Unreachable, match="understood"), opened(raw, patience=2) as mailbox:
        list(mailbox.bodies([[7]]))


def test_what_the_library_reads_has_an_end_too() -> None:
    def answers(tag: str, command: str) -> list[str | bytes] | None:
        return ["* LIST () {999999999}"] if command.startswith("LIST") else None

    with a_server(answers) as raw, pytest.raises(Unreachable, match="understood"), opened(raw, patience=2) as mailbox:
        mailbox.folders()


def test_mails_that_nobody_asked_for_are_not_kept() -> None:
    others = [f'* 1 FETCH (UID {uid} INTERNALDATE "" BODY[] {{2}}\r\nhi)' for uid in range(1, 200)]

    def answers(tag: str, command: str) -> list[str | bytes] | None:
        return [*others, "X1 OK done", f"{tag} OK done"] if command.startswith("UID FETCH") else None

    with a_server(answers) as raw, opened(raw) as mailbox:
        fetches = Fetches(mailbox._imap, mailbox._send, "UID BODY.PEEK[]")
        [answer] = fetches.answers([[7]])
    assert [mail.uid for mail in answer.fetched] == [7]
    assert not any((fetches._found, fetches._ended, fetches._uids, fetches._tags))


@pytest.mark.parametrize("said", ["* SEARCH 1 x", "* ESEARCH (TAG x) UID ALL 1:4294967295", "* ESEARCH UID ALL "])
def test_a_search_that_finds_nonsense_is_said(said: str) -> None:
    def answers(tag: str, command: str) -> list[str | bytes] | None:
        return [said, f"{tag} OK done"] if command.startswith("UID SEARCH") else None

    with a_server(answers) as raw, opened(raw) as mailbox, pytest.raises(Unreachable, match="understood"):
        mailbox.search("ALL")


@pytest.mark.parametrize("last", ["* BYE for today", b"", b"* 1 FETCH (UID 7 BODY[] {100}\r\nhalf a ma"], ids=repr)
def test_the_end_of_a_connection_is_noticed(last: str | bytes) -> None:
    def does(tag: str, command: str) -> list[str | bytes] | None:
        if command.startswith("UID FETCH"):
            raise OSError
        return None

    def ends(tag: str, command: str) -> list[str | bytes] | None:
        return [last] if command.startswith("UID FETCH") else None

    answers = does if last == b"" else ends
    with a_server(answers) as raw, pytest.raises(Dropped), opened(raw, patience=0.5) as mailbox:
        list(mailbox.bodies([[7]]))


def _listens(connection: socket.socket) -> None:
    connection.recv(1000)


def test_a_server_that_only_talks_is_not_listened_to_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def goes_on(_: str, command: str) -> list[str | bytes] | None:
        return ["* OK still here"] * 1000 if command.startswith("UID") else None

    for asks in (lambda mailbox: mailbox.search("ALL"), lambda mailbox: list(mailbox.bodies([[7]]))):
        with a_server(goes_on) as raw, opened(raw) as mailbox:
            monkeypatch.setattr(wire, "LONGEST_ANSWER", 0.0)
            with pytest.raises(Unreachable, match="on and on"):
                asks(mailbox)


def test_a_silent_server_is_not_waited_for_for_ever() -> None:
    with Raw(_listens) as raw, pytest.raises(Unreachable, match="in time"):
        opened(raw, patience=0.2)


def test_a_server_that_waits_for_tls_has_less_time_and_a_hint_is_given() -> None:
    at = Server("127.0.0.1", 1, Tls.STARTTLS)
    with Raw(_listens) as raw, pytest.raises(Unreachable, match="in time; does tls= in its address fit the port"):
        Mailbox(replace(at, port=raw.port), user="ana", secret="violet", patience=600, within=0.2)


def test_once_logged_in_a_server_has_time_again() -> None:
    with a_server(nothing) as raw:
        at = Server("127.0.0.1", raw.port, Tls.NONE)
        with Mailbox(at, user="ana", secret="violet", patience=600, within=20) as mailbox:
            assert mailbox._imap.sock.gettimeout() == 600


def test_something_else_than_a_mail_server_is_noticed() -> None:
    with (
        Raw(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n")) as raw,
        pytest.raises(Unreachable),
    ):
        opened(raw, patience=2)


def test_a_server_without_tls_is_said_to_have_none() -> None:
    with a_server(nothing) as raw:
        with pytest.raises(Refused, match="STARTTLS"):
            opened(raw, tls=Tls.STARTTLS)
        with pytest.raises(Unreachable, match="TLS"):
            opened(raw, tls=Tls.IMPLICIT)


def test_a_password_is_not_sent_where_the_server_wants_none() -> None:
    with a_server(nothing, capabilities="IMAP4rev1 LOGINDISABLED") as raw, pytest.raises(Refused, match="tls=starttls"):
        opened(raw)


def test_without_plain_authentication_the_old_command_is_used() -> None:
    said: list[str] = []

    def answers(_: str, command: str) -> None:
        said.append(command)

    with a_server(answers, capabilities="IMAP4rev1") as raw, opened(raw):
        pass
    assert 'LOGIN ana "violet"' in said


def test_an_access_token_is_said_as_xoauth2_has_it() -> None:
    said: list[bytes] = []

    def does(connection: socket.socket) -> None:
        file = connection.makefile("rwb")
        for line in (b"* OK [CAPABILITY IMAP4rev1 AUTH=XOAUTH2] hello\r\n",):
            file.write(line)
        file.flush()
        while line := file.readline():
            tag, _, command = line.partition(b" ")
            if command.startswith(b"AUTHENTICATE"):
                said.append(command)
                file.write(b"+ \r\n")
                file.flush()
                said.append(base64.b64decode(file.readline()))
            elif command.startswith(b"CAPABILITY"):
                file.write(b"* CAPABILITY IMAP4rev1 AUTH=XOAUTH2\r\n")
            file.write(tag + b" OK done\r\n")
            file.flush()

    with Raw(does) as raw, opened(raw, auth=Auth.XOAUTH2):
        pass
    assert said == [b"AUTHENTICATE XOAUTH2\r\n", b"user=ana\1auth=Bearer violet\1\1"]


def test_a_refused_token_says_what_to_do_and_not_what_it_was() -> None:
    def does(connection: socket.socket) -> None:
        file = connection.makefile("rwb")
        file.write(b"* OK [CAPABILITY IMAP4rev1 AUTH=XOAUTH2] hello\r\n")
        file.flush()
        while line := file.readline():
            tag, _, command = line.partition(b" ")
            if command.startswith(b"AUTHENTICATE"):
                file.write(b"+ \r\n")
                file.flush()
                file.readline()
                file.write(b"+ " + base64.b64encode(b'{"status":"400"}') + b"\r\n")
                file.flush()
                assert file.readline() == b"\r\n"
                file.write(tag + b" NO [AUTHENTICATIONFAILED] violet\r\n")
            else:
                file.write(b"* CAPABILITY IMAP4rev1 AUTH=XOAUTH2\r\n" + tag + b" OK done\r\n")
            file.flush()

    with Raw(does) as raw, pytest.raises(Refused, match="xoauth2") as refused:
        opened(raw, auth=Auth.XOAUTH2)
    assert "violet" not in str(refused.value)


@pytest.mark.parametrize("short", [True, False])
def test_a_search_that_finds_much_is_one_line(short: bool) -> None:
    many = 300_000

    def answers(tag: str, command: str) -> list[str | bytes] | None:
        if not command.startswith("UID SEARCH"):
            return None
        assert ("RETURN (ALL)" in command) == short
        found = (
            f'* ESEARCH (TAG "{tag}") UID ALL 1:{many}'
            if short
            else f"* SEARCH {' '.join(map(str, range(1, many + 1)))}"
        )
        return [found, f"{tag} OK done"]

    with a_server(answers, capabilities="IMAP4rev1 AUTH=PLAIN" + " ESEARCH" * short) as raw, opened(raw) as mailbox:
        assert len(mailbox.search("ALL")) == many


def test_a_search_that_finds_nothing() -> None:
    def answers(tag: str, command: str) -> list[str | bytes] | None:
        return [f'* ESEARCH (TAG "{tag}") UID', f"{tag} OK done"] if command.startswith("UID SEARCH") else None

    with a_server(answers, capabilities="IMAP4rev1 AUTH=PLAIN ESEARCH") as raw, opened(raw) as mailbox:
        assert mailbox.search("ALL") == []


@given(st.sets(st.integers(1, 2**32 - 1), min_size=1), st.integers(1, 10_000))
def test_ranges_hold_what_was_put_in(uids: set[int], more: int) -> None:
    ordered = sorted(uids | set(range(more, more + 20)))
    assert numbers(ranges(ordered), most=20_000) == ordered


def test_ranges_are_short() -> None:
    assert ranges([1, 2, 3, 7, 9, 10]) == "1:3,7,9:10"


NAMES = {"Entwürfe": b'"Entw&APw-rfe"', "A & B": b'"A &- B"', "日本語": b'"&ZeVnLIqe-"', 'a"b\\c': rb'"a\"b\\c"'}


@pytest.mark.parametrize(("name", "wire"), NAMES.items(), ids=ascii)
def test_names_of_folders_on_the_wire(name: str, wire: bytes) -> None:
    assert on_the_wire(name) == wire


@given(st.text(st.characters(codec="utf-8", exclude_characters='"\\')))
def test_names_of_folders_come_back(name: str) -> None:
    assert off_the_wire(on_the_wire(name)[1:-1]) == name


@pytest.mark.parametrize("name", [b"&bad-", b"\xff&", b"&AP-"], ids=repr)
def test_names_that_break_the_rules_are_taken_as_they_are(name: bytes) -> None:
    assert off_the_wire(name)


def test_folders_worth_a_look() -> None:
    marked: list[bytes | tuple[bytes, bytes]] = [
        rb'(\HasNoChildren) "/" INBOX',
        rb'(\HasNoChildren \Sent) "/" "Gesendet"',
        rb'(\Noselect \HasChildren) "/" "[Gmail]"',
        rb'(\All) "/" "[Gmail]/Alle"',
        (rb'() "/" {5}', b"Lists"),
        rb"(\HasNoChildren) NIL Trash",
        b"nonsense",
    ]
    assert worth_a_look(marked) == ["INBOX", "Lists", "Trash"]
    assert worth_a_look([rb'() "." INBOX', rb'() "." "INBOX.Sent"', rb'() "." Spam']) == ["INBOX"]


@given(st.datetimes(datetime(1972, 1, 1), datetime(2098, 12, 31)), st.integers(-12 * 60, 14 * 60))  # noqa: DTZ001
def test_the_servers_dates(moment: datetime, minutes: int) -> None:
    there = moment.replace(microsecond=0) + timedelta(minutes=minutes)
    zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"
    written = f"{there.day:2}-{MONTHS[there.month - 1]}-{there:%Y %H:%M:%S} {zone}"
    for _ in range(2):  # the second time from what it remembers
        assert received(written.encode()) == clock.iso(moment.replace(microsecond=0, tzinfo=UTC))


NO_DATES = (b"", b"nonsense", b"1 -Nov-2026 17:23:03 +0000", b"99-Nov-2026 17:23:03 +0000", b"\xff" * 26)


@pytest.mark.parametrize("written", NO_DATES, ids=repr)
def test_a_date_that_is_none(written: bytes) -> None:
    assert received(written) is None


def test_what_came_before_a_connection_was_lost_is_read_first() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        there = socket.create_connection(listening.getsockname())
        here, _ = listening.accept()
    here.settimeout(5)
    imap = wire.Plain.__new__(wire.Plain)
    imap.sock = here
    there.sendall(b"one\r\ntwo\r\n")
    assert imap.readline() == b"one\r\n"
    # Reset instead of closed.
    there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    there.close()
    for _ in range(3):
        imap.drain()
    assert (imap.readline(), imap.readline()) == (b"two\r\n", b"")
    here.close()


def test_a_folder_that_is_not_there_is_named_beside_those_that_are() -> None:
    def answers(tag: str, command: str) -> list[str | bytes] | None:
        if command.startswith("LIST"):
            return [*(f'* LIST () "/" "F{number}"' for number in range(30)), f"{tag} OK done"]
        return [f"{tag} NO there is none"] if command.startswith("EXAMINE") else None

    with a_server(answers) as raw, opened(raw) as mailbox, pytest.raises(NotFound) as missing:
        mailbox.examine("Nope")
    said = str(missing.value)
    assert said.startswith('There is no folder "Nope" in the mailbox, or it cannot be opened; it has: F0, F1, ')
    assert said.endswith("F18, F19, …")
