"""Which addresses may be gone to: the seed's "Safety Validation Rules", case by case."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gna.inbox import dangers
from gna.inbox.safety import LONGEST, judge, why_not_host

# All domains are as good as each other, and what honest senders write is not suspected.
HONEST = [
    "https://shop.example/unsubscribe?u=1",
    "https://some-unheard-of-domain.museum/leave",
    "https://shop.example/?action=unsubscribe",
    "https://shop.example/confirm-unsubscribe",
    "https://shop.example/u?domain=shop.example",
    "https://shop.example/u?email=ana%40example.org",
    "https://shop.example/u?email=delete@example.org",
    "https://shop.example/remove-me",
    "https://shop.example/remove?list=3",
    "https://shop.example/deleted-items",
    "https://shop.example/undelete",
    "https://shop.example/account/unsubscribe",
    "https://shop.example/accounts/preferences?remove=1",
    "https://shop.example/u?deleted=0",
    "https://shop.example/u?campaign=drop-2026",
    "https://shop.example/u?commander=ana",
    "https://shop.example/executive-news/unsubscribe",
    "https://shop.example/unsubscribe.php?x=1",
    "https://shop.example/cgi-bin/unsubscribe.pl",
    "https://shop.example/unsubscribe.com",
    "https://exe.zip.example/unsubscribe",
    "https://download.example/u/ana@site.zip",
    "https://notbit.ly.example/u",
    "https://abit.ly/u",
    "https://shop.example/u?text=you+may+delete+this+mail+after+you+have+read+it",
    "https://xn--bcher-kva.example/u",
    "https://bücher.example/u",
    "https://u1234.ct.sendgrid.net/ls/click?upn=u001." + "A" * 2000,
    "https://shop.example:8443/u",
    "HTTPS://SHOP.EXAMPLE/u",
    "https://shop.example./u",
    "https://shop.example/u#delete",
    "https://my_list.shop.example/u",
]


@pytest.mark.parametrize("url", HONEST, ids=range(len(HONEST)))
def test_what_honest_senders_write_is_not_suspected(url: str) -> None:
    assert judge(url).error is None


DANGERS = [
    ("https://bit.ly/3xYz", "shortens"),
    ("https://www.tinyurl.com/abc", "shortens"),
    ("https://BIT.LY/3xYz", "shortens"),
    ("https://bit.ly./3xYz", "shortens"),
    ("https://t.co/x", "shortens"),
    ("https://shop.example/setup.exe", "download (.exe)"),
    ("https://shop.example/files.ZIP", "download (.zip)"),
    ("https://shop.example/Installer.dmg?u=1", "download (.dmg)"),
    ("https://shop.example/a/setup.msi/unsubscribe", "download"),
    ("https://shop.example/setup%2Eexe", "download"),
    ("https://shop.example/setup%252Eexe", "download"),
    ("https://shop.example/setup.exe;v=1", "download"),
    ("https://shop.example/app.apk", "download"),
    ("https://shop.example/u?cmd=unsubscribe", "suspicious parameter"),
    ("https://shop.example/u?CMD=1", "suspicious parameter"),
    ("https://shop.example/u?%63md=1", "suspicious parameter"),
    ("https://shop.example/u?%2563md=1", "suspicious parameter"),
    ("https://shop.example/u?a=1;cmd=2", "suspicious parameter"),
    ("https://shop.example/u?exec=1", "suspicious parameter"),
    ("https://shop.example/u?delete=1", "suspicious parameter"),
    ("https://shop.example/u?delete_user=1", "suspicious parameter"),
    ("https://shop.example/u?deleteUser=1", "suspicious parameter"),
    ("https://shop.example/u?destroy", "suspicious parameter"),
    ("https://shop.example/u?action=delete", "suspicious parameter"),
    ("https://shop.example/u?action=destroy-all", "suspicious parameter"),
    ("https://shop.example/u?do=remove_account", "suspicious parameter"),
    ("https://shop.example/u?do=closeAccount", "suspicious parameter"),
    ("https://shop.example/u?id=1%3Bdrop%20table%20users", "suspicious parameter"),
    ("https://shop.example/u?q=%3Cscript%3Ealert(1)", "suspicious parameter"),
    ("https://shop.example/u?next=javascript:alert(1)", "suspicious parameter"),
    ("https://shop.example/u?f=..%2F..%2Fetc%2Fpasswd", "suspicious parameter"),
    ("https://shop.example/u?x=$(reboot)", "suspicious parameter"),
    ("https://shop.example/u?x=1%26curl%20evil", "suspicious parameter"),
    ("https://shop.example/u?x=1%26+sh", "suspicious parameter"),
    ("https://shop.example/u?%25252563md=1", "suspicious parameter"),
    ("https://shop.example/delete", "dangerous action (delete)"),
    ("https://shop.example/users/5/destroy", "dangerous action (destroy)"),
    ("https://shop.example/remove-account", "dangerous action (remove-account)"),
    ("https://shop.example/remove_account?u=1", "dangerous action"),
    ("https://shop.example/removeAccount", "dangerous action"),
    ("https://shop.example/account-delete", "dangerous action"),
    ("https://shop.example/DELETE/me", "dangerous action"),
    ("https://shop.example/dElEtE", "dangerous action"),
    ("https://shop.example/%64elete", "dangerous action"),
    ("https://shop.example/%2564elete", "dangerous action"),
    ("https://user:password@shop.example/u", "user name or password"),
    ("https://shop.example@other.example/u", "user name or password"),
    ("https://shop.example\\@other.example/u", "backslash"),
    ("https://shop.example/" + "a" * LONGEST, "longer than"),
]


@pytest.mark.parametrize(("url", "reason"), DANGERS, ids=range(len(DANGERS)))
def test_harmful_patterns_are_refused(url: str, reason: str) -> None:
    verdict = judge(url)
    assert not verdict.safe
    assert not verdict.malformed
    assert reason in (verdict.error or "")


MALFORMED = [
    "",
    "unsubscribe",
    "shop.example/u",
    "//shop.example/u",
    "token@shop.example",
    "shop.example:443/u",
    "https:",
    "https://",
    "https:///u",
    "https://?u=1",
    "https://:443/u",
    "https:shop.example",
    "https://shop.example:port/u",
    "https://shop.example:99999/u",
    "https://[::1/u",
    "https://[shop.example]/u",
    "https://shop .example/u",
    "https://shop.exa\tmple/u",
    "https://shop.example/u\r\nHost: other.example",
    "https://shop.example/\0",
    "https://exa%6dple.com/u",
    "https://127%2e0.0.1/u",
    "https://sh<op.example/u",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    " javascript:alert(1)",
    "javascript://shop.example/%0aalert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "ftp://shop.example/u",
    "gopher://shop.example/u",
    "ws://shop.example/u",
    "tel:+40123",
    "about:blank",
    "blob:https://shop.example/u",
    "view-source:https://shop.example/u",
]


@pytest.mark.parametrize("url", MALFORMED, ids=range(len(MALFORMED)))
def test_what_is_no_whole_web_address_is_malformed(url: str) -> None:
    verdict = judge(url)
    assert not verdict.safe
    assert verdict.malformed


def test_a_javascript_address_says_so() -> None:
    assert judge("javascript:alert(1)").error == "javascript: addresses are never opened"


def test_the_fields_of_a_form_are_looked_at_too() -> None:
    assert judge("https://shop.example/u", fields=(("token", "1"), ("action", "unsubscribe"))).safe
    assert "cmd" in (judge("https://shop.example/u", fields=(("cmd", "x"),)).error or "")
    assert not judge("https://shop.example/u", fields=(("action", "delete_account"),)).safe


WARNINGS = [
    ("http://shop.example/u", "", "prefer HTTPS"),
    ("https://shop.example:8443/u", "", "unusual port (8443)"),
    ("https://xn--bcher-kva.example/u", "", "letters beyond ASCII (bücher.example)"),
    ("https://bücher.example/u", "", "letters beyond ASCII"),
    ("https://раypal.example/u", "", "mixes letters"),
    ("https://tracker.example/u", "shop.test", "leads to tracker.example, not to the sender's domain shop.test"),
]


@pytest.mark.parametrize(("url", "sender", "warning"), WARNINGS, ids=range(len(WARNINGS)))
def test_odd_addresses_are_warned_of_and_not_refused(url: str, sender: str, warning: str) -> None:
    verdict = judge(url, sender=sender)
    assert verdict.safe
    assert any(warning in said for said in verdict.warnings)


def test_a_plain_address_of_the_sender_has_no_warning() -> None:
    assert judge("https://click.news.shop.co.uk/u?x=1", sender="mail.shop.co.uk").warnings == ()


def test_hosts_that_are_allowed_are_spared_the_rules_on_addresses_and_no_other() -> None:
    allowed = frozenset({"localhost", "127.0.0.1", "[::1]", "Nas.Local"})
    for url in ("https://localhost:1234/u", "https://127.0.0.1:9/u", "https://[::1]:9/u", "https://nas.local./u"):
        assert judge(url, allowed=allowed) == judge("https://shop.example/u")
    assert not judge("https://127.0.0.2/u", allowed=allowed).safe
    assert not judge("https://other.local/u", allowed=allowed).safe
    assert not judge("https://localhost/delete", allowed=allowed).safe
    assert not judge("https://x@localhost/u", allowed=allowed).safe


def test_a_private_name_is_no_public_one() -> None:
    for host in ("localhost", "printer", "nas.local", "db.internal", "x.onion", "a.localhost", "router.lan"):
        assert why_not_host(host)
    assert why_not_host("shop.example") is None
    assert why_not_host("") is not None


@given(st.text(max_size=200))
def test_any_text_gets_a_verdict(text: str) -> None:
    verdict = judge(text)
    assert verdict.safe or verdict.error


@given(st.from_regex(r"https?://[^\s/?#]{1,40}(/[^\s]{0,40})?(\?[^\s]{0,60})?", fullmatch=True))
def test_what_is_called_safe_names_a_public_looking_host(url: str) -> None:
    from gna.outside.place import parse

    if judge(url).safe:
        host = parse(url.strip()).host
        assert "." in host
        assert ":" not in host
        assert not host.rpartition(".")[2].isdigit()


PIECES = (
    *("delete", "Destroy", "remove", "account", "cmd", "eval", "drop", "table", "union", "select", "from", "all"),
    *("?x=1", "&curl", "& sh ", "&+rm", "javascr\u0131pt:", "union \u017felect", "delete from"),
    *(
        "java",
        "script",
        "curl",
        "sh",
        "rm",
        "passwd",
        "etc",
        "exe",
        "zip",
        "k\u0131ll",
        "\u017fh",
        "\u212aill",
        "a",
        "1",
    ),
    *("&", "=", ";", "|", "?", "/", ".", "..", "-", "_", " ", "+", ":", "<", "$", "(", "`", "@", "%", "\u00a0"),
)


def escaped(text: str, times: int) -> str:
    """Every letter as bytes, over and over."""
    for number in range(times):
        text = text.replace("%", "%25") if number else "".join(f"%{byte:02x}" for byte in text.encode())
    return text


@settings(max_examples=1500)
@given(st.lists(st.builds(escaped, st.sampled_from(PIECES), st.sampled_from([0, 0, 1, 2, 3, 4])), max_size=12))
def test_the_short_look_misses_nothing_that_the_long_one_finds(pieces: list[str]) -> None:
    url = f"https://shop.example/{''.join(pieces)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dangers, "HINT", re.compile(""))
        thorough = judge(url)
    assert judge(url) == thorough
