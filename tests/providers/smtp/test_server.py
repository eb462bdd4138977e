import pytest

from gna.errors import CannotStart
from gna.providers.smtp import Auth, Server, Tls, parse


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.org", Server("mail.example.org", 587, Tls.STARTTLS)),
        ("smtp://mail.example.org:2525", Server("mail.example.org", 2525, Tls.STARTTLS)),
        ("smtp://mail.example.org:465", Server("mail.example.org", 465, Tls.IMPLICIT)),
        ("smtp://mail.example.org:465?tls=none", Server("mail.example.org", 465, Tls.NONE)),
        ("smtp://mail.example.org?tls=implicit", Server("mail.example.org", 465, Tls.IMPLICIT)),
        ("smtp://mail.example.org/?tls=none", Server("mail.example.org", 25, Tls.NONE)),
        ("smtps://mail.example.org", Server("mail.example.org", 465, Tls.IMPLICIT)),
        ("smtps://mail.example.org:10465?tls=implicit", Server("mail.example.org", 10465, Tls.IMPLICIT)),
        ("smtp://localhost", Server("localhost", 25, Tls.NONE)),
        ("smtp://localhost:465", Server("localhost", 465, Tls.IMPLICIT)),
        ("smtp://127.0.0.1:1025", Server("127.0.0.1", 1025, Tls.NONE)),
        ("smtp://127.0.0.1?tls=starttls", Server("127.0.0.1", 587, Tls.STARTTLS)),
        ("smtp://[::1]:1025", Server("::1", 1025, Tls.NONE)),
        ("smtp://[2001:db8::1]", Server("2001:db8::1", 587, Tls.STARTTLS)),
        ("smtp://ana:p%40s%3As@m.example", Server("m.example", 587, Tls.STARTTLS, "ana", "p@s:s")),
        ("smtp://a%40b.example:x@m.example?tls=none", Server("m.example", 25, Tls.NONE, "a@b.example", "x")),
        ("smtp://a:x@m.example?auth=xoauth2", Server("m.example", 587, Tls.STARTTLS, "a", "x", Auth.XOAUTH2)),
    ],
)
def test_an_address_names_the_server_and_the_way_in(url: str, server: Server) -> None:
    assert parse(url) == server


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://mail.example.org", "must begin with smtp:// or smtps://"),
        ("smtp://", "cannot be read"),
        ("smtp://mail.example.org:port", "cannot be read"),
        ("smtp://mail.example.org:99999", "cannot be read"),
        ("smtp://mail.example.org:0", "cannot be read"),
        ("smtp://[::1", "cannot be read"),
        ("smtp://mail.example.org/path", "cannot be read"),
        ("smtp://ana:hun/ter2@mail.example.org", "as %40 %3A %2F"),
        ("smtp://ana:hun#ter2@mail.example.org", "as %40 %3A %2F"),
        ("smtp://ana@mail.example.org", "needs a user and a password, or neither"),
        ("smtp://:hunter2@mail.example.org", "needs a user and a password, or neither"),
        ("smtp://mail.example.org?tls=ssl", "Allowed are: none, starttls, implicit"),
        ("smtp://mail.example.org?tls=", "Allowed are: none, starttls, implicit"),
        ("smtp://a:hunter2@mail.example.org?auth=cram", "Allowed are: plain, login, xoauth2"),
        ("smtp://mail.example.org?auth=plain", "no user"),
        ("smtp://mail.example.org?verify=no", "may have tls and auth after its"),
        ("smtp://mail.example.org?tls=none&tls=starttls", "each once"),
        ("smtps://mail.example.org?tls=starttls", "contradicts itself"),
    ],
)
def test_a_wrong_address_is_refused_in_plain_words_without_the_password(url: str, says: str) -> None:
    with pytest.raises(CannotStart, match=says) as refused:
        parse(url)
    assert "ter2" not in str(refused.value)


def test_the_password_does_not_show_when_the_server_does() -> None:
    assert "hunter2" not in repr(parse("smtp://ana:hunter2@mail.example.org"))


def test_an_ipv6_address_is_shown_in_brackets() -> None:
    assert parse("smtp://[::1]:25").where == "[::1]:25"
