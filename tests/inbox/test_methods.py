"""How ways out are classified: the seed's "Method Classification", "Link Extraction" and "Error Handling" rules."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.inbox import methods
from gna.inbox.method import Errand
from gna.inbox.methods import email_reply
from gna.inbox.ways import Form, Link, Offers, Source, Way

URL = "https://shop.example/u?id=1"
PROMISE = "List-Unsubscribe=One-Click"
POST = Link("https://shop.example/form", Source.HTML, Form("post", (("token", "t"), ("list", "3"))))
GET = Link("https://shop.example/page?id=1", Source.HTML)
TEXT = Link("https://shop.example/text?id=1", Source.TEXT)


def the_only(offers: Offers) -> Way:
    """The way that the offers are, if they are one."""
    (way,) = methods.ways(offers)
    return way


def names(ways: tuple[Way, ...]) -> list[str]:
    return [way.method for way in ways]


# One-click


def test_one_click_needs_both_fields() -> None:
    assert the_only(Offers((f"<{URL}>",), (PROMISE,))) == Way("one_click", URL, Source.HEADER)
    assert the_only(Offers((f"<{URL}>",))).method == "http_get"
    assert methods.ways(Offers((), (PROMISE,))) == ()


@pytest.mark.parametrize("value", [f" {PROMISE}", f"{PROMISE} ", f"\t{PROMISE}\r\n"], ids=range(3))
def test_space_around_the_promise_is_not_part_of_it(value: str) -> None:
    assert the_only(Offers((f"<{URL}>",), (value,))).method == "one_click"


NOT_ONE_CLICK = [
    (Offers((f"<{URL}>", "<https://evil.example/u>"), (PROMISE,)), "List-Unsubscribe is there 2 times"),
    (Offers((f"<{URL}>", f"<{URL}>"), (PROMISE,)), "List-Unsubscribe is there 2 times"),
    (Offers((f"<{URL}>",), (PROMISE, PROMISE)), "List-Unsubscribe-Post is there 2 times"),
    (Offers((f"<{URL}>",), ("ListUnsubscribe=One-Click",)), "says something else"),
    (Offers((f"<{URL}>",), ("list-unsubscribe=one-click",)), "says something else"),
    (Offers((f"<{URL}>",), ("List-Unsubscribe=One-Click&x=1",)), "says something else"),
    (Offers((f"<{URL}>",), (f"{PROMISE}, {PROMISE}",)), "says something else"),
    (Offers((f"<{URL}>",), ("",)), "says something else"),
    (Offers((f"<{URL}>, <https://shop.example/2>",), (PROMISE,)), "2 https addresses"),
    (Offers(("<http://shop.example/u?id=1>",), (PROMISE,)), "no https addresses"),
]


@pytest.mark.parametrize(("offers", "reason"), NOT_ONE_CLICK, ids=range(len(NOT_ONE_CLICK)))
def test_a_doubtful_promise_is_a_page_with_a_warning(offers: Offers, reason: str) -> None:
    found = methods.ways(offers)
    assert set(names(found)) == {"http_get"}
    assert all(any(reason in warning for warning in way.warnings) for way in found)


def test_a_mail_address_beside_it_leaves_one_click_as_it_is() -> None:
    ways = methods.ways(Offers((f"<mailto:leave@shop.example>, <{URL}>",), (PROMISE,)))
    assert names(ways) == ["one_click", "email_reply"]


def test_one_click_is_never_unencrypted() -> None:
    way = methods.rejudged(Way("one_click", "http://localhost/u", Source.HEADER), allowed={"localhost"})
    assert (way.safe, way.error) == (False, "One-click needs an encrypted address (https)")


def test_one_click_is_recorded_as_http_post() -> None:
    recorded = {method.name: method.recorded for method in methods.known()}
    assert recorded == {
        "one_click": "http_post",
        "http_post": "http_post",
        "http_get": "http_get",
        "email_reply": "email_reply",
    }


# HTTP POST and GET


def test_http_post_needs_a_form_that_says_so() -> None:
    way = the_only(Offers(body=(POST,)))
    assert (way.method, way.url, way.fields) == ("http_post", POST.url, (("token", "t"), ("list", "3")))
    assert way.shown()["fields"] == {"token": "t", "list": "3"}


def test_every_value_is_shown_of_fields_that_have_one_name() -> None:
    way = Way("http_post", POST.url, Source.HTML, fields=(("list", "1"), ("u", "7"), ("list", "2")))
    assert way.shown()["fields"] == {"list": ["1", "2"], "u": "7"}
    assert Way.restored(way.stored()) == way


@pytest.mark.parametrize("method", ["POST", "post", " Post "], ids=range(3))
def test_the_method_of_a_form_is_read_in_any_case(method: str) -> None:
    assert the_only(Offers(body=(Link(POST.url, Source.HTML, Form(method, ())),))).method == "http_post"


@pytest.mark.parametrize("method", ["get", "", "dialog"], ids=["get", "none", "dialog"])
def test_a_form_of_another_kind_opens_a_page_with_its_fields(method: str) -> None:
    way = the_only(Offers(body=(Link("https://shop.example/f?x=1", Source.HTML, Form(method, (("a", "b c"),))),)))
    assert (way.method, way.url) == ("http_get", "https://shop.example/f?a=b+c")
    assert way.fields == (("a", "b c"),)


def test_a_url_with_parameters_is_http_get_and_says_them() -> None:
    way = the_only(Offers(body=(Link("https://shop.example/u?token=a%2Bb&id=1&x", Source.HTML),)))
    assert way == Way(
        "http_get",
        "https://shop.example/u?token=a%2Bb&id=1&x",
        Source.HTML,
        fields=(("token", "a+b"), ("id", "1"), ("x", "")),
    )


def test_a_url_without_any_context_defaults_to_http_get_and_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="gna.inbox.methods.http_get"):
        assert the_only(Offers(body=(Link("https://shop.example/leave", Source.TEXT),))).method == "http_get"
    assert "opening it is assumed" in caplog.text
    assert "shop.example" not in caplog.text


def test_plain_http_is_permitted_with_a_warning() -> None:
    way = the_only(Offers(("<http://shop.example/u>",)))
    assert way.safe
    assert "prefer HTTPS" in way.warnings[0]


# Email


MAILTO = [
    ("mailto:leave@shop.example", "leave@shop.example", "Unsubscribe", email_reply.BODY),
    ("MAILTO:leave@shop.example", "leave@shop.example", "Unsubscribe", email_reply.BODY),
    ("mailto:leave@shop.example?subject=Stop%20it", "leave@shop.example", "Stop it", email_reply.BODY),
    ("mailto:leave@shop.example?subject=&body=", "leave@shop.example", "Unsubscribe", email_reply.BODY),
    ("mailto:leave@shop.example?SUBJECT=x&Body=y", "leave@shop.example", "x", "y"),
    ("mailto:leave@shop.example?subject=x&amp;body=y", "leave@shop.example", "x", "y"),
    ("mailto:a+b=c%2Bd@shop.example?subject=1+2%2B3", "a+b=c+d@shop.example", "1+2+3", email_reply.BODY),
    ("mailto:leave@shop.example?subject=Dezabonare%20%C8%99i%20gata", "leave@shop.example", "Dezabonare și gata", None),
    ("mailto:leave@shop.example?body=one%0D%0Atwo%0Athree", "leave@shop.example", "Unsubscribe", "one\ntwo\nthree"),
    ("mailto:%6Ceave@shop.example", "leave@shop.example", "Unsubscribe", None),
    ("mailto:leave@bücher.example", "leave@xn--bcher-kva.example", "Unsubscribe", None),
    ("mailto:leave@shop.example?subject=100%25%20off", "leave@shop.example", "100% off", None),
    ("mailto:leave@shop.example?subject=a%253Db", "leave@shop.example", "a%3Db", None),
    ("mailto:leave@shop.example?subject=a=b#fragment", "leave@shop.example", "a=b", None),
]


@pytest.mark.parametrize(("url", "to", "subject", "body"), MAILTO, ids=range(len(MAILTO)))
def test_a_mailto_address_is_read_by_rfc_6068(url: str, to: str, subject: str, body: str | None) -> None:
    way = the_only(Offers(body=(Link(url, Source.HTML),)))
    assert way == Way(
        "email_reply", url, Source.HTML, to=to, subject=subject, body=email_reply.BODY if body is None else body
    )


def test_whatever_else_it_wants_to_set_is_left_out_with_a_warning() -> None:
    url = "mailto:leave@shop.example?cc=a@x.example&bcc=b@x.example&to=c@x.example&subject=x&subject=y&In-Reply-To=z"
    way = the_only(Offers(body=(Link(url, Source.HTML),)))
    assert (way.to, way.subject) == ("leave@shop.example", "x")
    (warning,) = way.warnings
    assert "cc, bcc, to, subject, in-reply-to" in warning


NO_MAIL = [
    ("mailto:", "no recipient"),
    ("mailto:?to=leave@shop.example", "no recipient"),
    ("mailto:leave", "not an email address"),
    ("mailto:leave@", "not an email address"),
    ("mailto:a@b@shop.example", "not an email address"),
    ("mailto:a@x.example,b@y.example", "several recipients"),
    ("mailto:a@x.example%2Cb@y.example", "several recipients"),
    ("mailto:a@x.example;b@y.example", "several recipients"),
    ("mailto:a@x.example%0D%0ABcc:b@y.example", "line break"),
    ("mailto:a@x.example?subject=x%0D%0ABcc:%20b@y.example", "subject holds a line break"),
    ("mailto:a@x.example?subject=x%0AY:z", "subject holds a line break"),
    ("mailto:a@x.example?subject=x%E2%80%A8y", "subject holds a line break"),
    ("mailto:a@x.example?subject=x%00", "subject holds a line break"),
    ("mailto:a@x.example?body=x%00", "body holds a control character"),
    ("mailto:a@x.example?body=" + "x" * 1025, "longer than 1024"),
    ("mailto:a@x.example?subject=" + "x" * 1025, "longer than 1024"),
    ("mailto:root@localhost", "no public name"),
    ("mailto:root@127.0.0.1", "number instead of a name"),
    ("mailto:root@[127.0.0.1]", "not an email address"),
    ('mailto:"a b"@x.example', "not an email address"),
    ("mailto:Ana <a@x.example>", "not an email address"),
]


@pytest.mark.parametrize(("url", "reason"), NO_MAIL, ids=range(len(NO_MAIL)))
def test_a_mail_that_would_reach_others_is_refused(url: str, reason: str) -> None:
    way = the_only(Offers(body=(Link(url, Source.HTML),)))
    assert not way.safe
    assert reason in (way.error or "")
    assert way.to is None


# Order


def test_the_method_decides_first_then_the_source_then_the_order_in_the_mail() -> None:
    header = "<mailto:a@shop.example>, <http://shop.example/1?x>, <https://shop.example/2>"
    ways = methods.ways(Offers((header,), body=(TEXT, GET, POST, Link("mailto:b@shop.example", Source.HTML))))
    assert [(way.method, way.source) for way in ways] == [
        ("http_post", Source.HTML),
        ("http_get", Source.HEADER),
        ("http_get", Source.HEADER),
        ("http_get", Source.HTML),
        ("http_get", Source.TEXT),
        ("email_reply", Source.HEADER),
        ("email_reply", Source.HTML),
    ]
    assert [way.url for way in ways[1:3]] == ["http://shop.example/1?x", "https://shop.example/2"]


def test_one_click_is_the_best_of_all() -> None:
    ways = methods.ways(Offers((f"<mailto:a@shop.example>, <{URL}>",), (PROMISE,), (POST, GET)))
    assert names(ways) == ["one_click", "http_post", "http_get", "email_reply"]


def test_a_safe_way_comes_before_one_that_must_not_be_gone() -> None:
    header = "<https://bit.ly/x>, <mailto:a@shop.example>, <ftp://shop.example/>"
    ways = methods.ways(Offers((header,), (PROMISE,), (Link("https://10.0.0.1/u?x", Source.HTML), TEXT)))
    assert names(ways) == ["http_get", "email_reply", "one_click", "http_get", "invalid"]
    assert [way.safe for way in ways] == [True, True, False, False, False]


def test_the_same_address_in_header_and_body_is_one_way() -> None:
    ways = methods.ways(Offers((f"<{URL}>",), body=(Link(URL, Source.HTML), Link(URL, Source.TEXT))))
    assert [(way.method, way.source) for way in ways] == [("http_get", Source.HEADER)]


# What goes wrong


def test_a_malformed_url_is_invalid_says_why_and_stops_no_other() -> None:
    broken = (Link("https://", Source.HTML), Link("javascript:x", Source.HTML), Link("tel:1", Source.TEXT))
    ways = methods.ways(Offers(body=(*broken, GET)))
    assert names(ways) == ["http_get", "invalid", "invalid", "invalid"]
    assert all(way.error and not way.safe for way in ways[1:])


def test_an_unsafe_address_keeps_its_method_and_says_why() -> None:
    way = the_only(Offers(("<https://bit.ly/x>",), (PROMISE,)))
    assert (way.method, way.safe) == ("one_click", False)
    assert "bit.ly" in (way.error or "")


def test_an_empty_mail_offers_nothing() -> None:
    assert methods.ways(Offers()) == ()


def test_a_way_survives_the_database() -> None:
    for way in methods.ways(Offers((f"<{URL}>, <mailto:a@b.example?cc=x>",), (PROMISE,), (POST, GET))):
        assert Way.restored(way.stored()) == way


def test_no_address_breaks_a_database_or_a_terminal() -> None:
    fields = (("a\0", "b\ud800\n"),)
    for url in ("https://shop.example/\0", "https://shop.example/\x1b[2J", "https://shop.example/\ud800", "\0"):
        for form in (None, Form("post", fields)):
            way = the_only(Offers(body=(Link(url, Source.HTML, form),)))
            assert way.method == "invalid"
            assert way.url.replace("\ufffd", "x").isprintable()
            assert way.fields in ((), (("a\ufffd", "b\ufffd\n"),))


def test_hosts_that_are_allowed_make_a_way_safe_again() -> None:
    for url in ("https://localhost:8443/u", "mailto:leave@localhost"):
        way = the_only(Offers(body=(Link(url, Source.HTML),)))
        assert not way.safe
        assert methods.rejudged(way, allowed={"localhost"}).safe
        assert methods.ways(Offers(body=(Link(url, Source.HTML),)), allowed={"localhost"})[0].safe


def test_what_is_safe_again_keeps_its_warnings_and_gets_those_that_were_not_said() -> None:
    field = "<http://localhost/u>"
    way = the_only(Offers((field, field), (PROMISE,)))
    again = methods.rejudged(way, allowed={"localhost"})
    assert [warning.split(":")[0].split(";")[0] for warning in again.warnings] == [
        "Not one-click",
        "The address is not encrypted (plain http)",
    ]
    assert methods.rejudged(again, allowed={"localhost"}) == again


def test_the_senders_domain_is_compared_if_it_is_known() -> None:
    (way,) = methods.ways(Offers(body=(GET,)), sender="bank.test")
    assert "not to the sender's domain bank.test" in way.warnings[0]


def test_a_new_method_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "phone_call.py").write_text(
        "from gna.inbox.method import Method, Outcome, What\n"
        "from gna.inbox.ways import Way\n"
        "def recognise(link, mail):\n"
        "    return Way('phone_call', link.url, link.source) if link.url.startswith('tel:') else None\n"
        "async def carry_out(errand):\n"
        "    return Outcome(What.ACCEPTED, 'They hung up')\n"
        "METHOD = Method('phone_call', 9, 'phone_call', recognise, lambda errand: 'call', carry_out)\n"
    )
    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(tmp_path)])
    methods.known.cache_clear()
    methods.find.cache_clear()
    try:
        ways = methods.ways(Offers(body=(Link("tel:+40123", Source.TEXT), GET)))
        assert names(ways) == ["http_get", "phone_call"]
    finally:
        monkeypatch.undo()
        sys.modules.pop("gna.inbox.methods.phone_call", None)
        methods.known.cache_clear()
        methods.find.cache_clear()


@pytest.mark.parametrize(
    ("link", "plan"),
    [
        (POST, "send a POST to https://shop.example/form with token, list"),
        (GET, "request https://shop.example/page?id=1"),
        (Link("mailto:a@b.example", Source.HTML), "send an email to a@b.example with the subject 'Unsubscribe'"),
    ],
    ids=["post", "get", "mail"],
)
def test_each_method_says_what_it_would_do(link: Link, plan: str) -> None:
    way = the_only(Offers(body=(link,)))
    method = methods.find(way.method)
    assert method
    assert method.plan(Errand(way, "ana@example.org")) == plan


@given(
    st.lists(st.text(max_size=80), max_size=3),
    st.lists(st.text(max_size=40), max_size=2),
    st.lists(st.text(max_size=80), max_size=3),
)
def test_no_text_stops_the_classification(fields: list[str], post: list[str], urls: list[str]) -> None:
    body = tuple(Link(url, Source.HTML) for url in urls)
    for way in methods.ways(Offers(tuple(fields), tuple(post), body)):
        assert way.safe is (way.error is None)
        assert way.method != "invalid" or way.error


def test_a_field_without_any_address_is_invalid_and_says_so() -> None:
    [way] = methods.ways(Offers(("click  here\x07",)))
    assert (way.method, way.url, way.source, way.safe) == ("invalid", "click here\ufffd", Source.HEADER, False)
    assert way.error == "The List-Unsubscribe field holds no address"
    body = Link("https://shop.example/leave?u=1", Source.HTML)
    assert [way.method for way in methods.ways(Offers(("click here",), body=(body,)))] == ["http_get", "invalid"]
    assert methods.ways(Offers((" ", ""))) == ()
