"""How sure a subscription is, point by point; and what kind of sender it looks like."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.inbox import domains, signs
from gna.inbox.detect import ADVICE, Evidence, Kind, kind, score
from gna.inbox.ways import Source, Way

SHOP = "news@shop.example"
EVERY_WORD = sum(signs.BIT.values())


def evidence(email_count: int = 1, sender_email: str = SHOP, **rest: Any) -> Evidence:
    return Evidence(sender_email=sender_email, email_count=email_count, **rest)


SCORES = [
    ("one email and nothing else", evidence(), 17),
    ("two points an email", evidence(14), 15 + 28),
    ("thirty points for fifteen emails", evidence(15), 15 + 30),
    ("and no more for a thousand", evidence(1000), 15 + 30),
    ("ten points a keyword", evidence(keywords=signs.keywords_in("sale and offer")), 17 + 20),
    ("fifteen points for the header", evidence(has_header=True), 17 + 15),
    ("ten points for a link in the body", evidence(has_body_link=True), 17 + 10),
    ("five points for the same domain", evidence(same_domain=True), 17 + 5),
    ("all but keywords", evidence(15, has_header=True, has_body_link=True, same_domain=True), 75),
    ("exactly a hundred", evidence(15, keywords=0b1111, has_header=True), 100),
    ("everything", evidence(15, keywords=EVERY_WORD, has_header=True, has_body_link=True, same_domain=True), 195),
]


@pytest.mark.parametrize(("case", "total"), [one[1:] for one in SCORES], ids=[one[0] for one in SCORES])
def test_each_factor_has_its_points(case: Evidence, total: int) -> None:
    assert score(case).confidence == min(total, 100)


def test_the_reasons_say_where_each_point_is_from() -> None:
    told = evidence(3, keywords=signs.keywords_in("Big SALE, last offer"), has_header=True, same_domain=True)
    assert score(told).reasons == [
        "15: every sender starts here",
        "+6: 3 emails",
        "+20: sale, offer in subjects",
        "+15: List-Unsubscribe in the header",
        "+5: the link is on the sender's own domain",
    ]


def test_what_is_above_a_hundred_is_taken_away_again() -> None:
    told = score(evidence(20, keywords=EVERY_WORD))
    assert (told.confidence, told.reasons[-1]) == (100, "-65: 100 is the most")


@given(
    st.builds(
        Evidence,
        sender_email=st.just(SHOP),
        email_count=st.integers(1, 10**6),
        keywords=st.integers(0, EVERY_WORD),
        has_header=st.booleans(),
        has_body_link=st.booleans(),
        same_domain=st.booleans(),
    )
)
def test_scores_are_from_15_to_100_and_the_sum_of_their_reasons(told: Evidence) -> None:
    found = score(told)
    assert 15 <= found.confidence <= 100
    assert found.confidence == sum(int(reason.partition(":")[0]) for reason in found.reasons)
    assert score(dataclasses.replace(told)) == found


SUBJECTS = [
    ("SALE!", ["sale"]),
    ("The wholesale catalogue", []),
    ("Offers and deals", []),
    ("An offer, a deal", ["offer", "deal"]),
    ("Ideal dealers", []),
    ("Free Shipping for a limited time", ["free shipping", "limited time"]),
    ("Free of shipping", []),
    ("sale sale SALE", ["sale"]),
    ("Our newsletter: savings, coupon, promotion", ["promotion", "coupon", "savings", "newsletter"]),
    ("pre-sale", ["sale"]),
    ("Marketing & advertisement, discount", ["discount", "marketing", "advertisement"]),
    ("", []),
]


@pytest.mark.parametrize(("subject", "words"), SUBJECTS, ids=[subject or "nothing" for subject, _ in SUBJECTS])
def test_keywords_are_whole_words_in_any_case(subject: str, words: list[str]) -> None:
    assert list(signs.keywords_of(signs.keywords_in(subject))) == words


KINDS = [
    (Kind.NEWSLETTER, "a header", evidence(has_header=True)),
    (Kind.NEWSLETTER, "a header beats an order", evidence(has_header=True, subjects=("Your order 7",))),
    (Kind.NEWSLETTER, "its owner alone may write", evidence(announcements=1)),
    (Kind.NEWSLETTER, "bulk and marketing", evidence(bulk=1, keywords=1)),
    (Kind.NEWSLETTER, "a link in the body", evidence(has_body_link=True)),
    (Kind.NEWSLETTER, "automatic, but it sells", evidence(2, automatic=2, has_header=True, keywords=1)),
    (Kind.NEWSLETTER, "by its address alone", evidence(sender_email="newsletter@shop.example")),
    (Kind.DISCUSSION, "everybody may write", evidence(discussion=1, has_header=True, list_id="talk.example")),
    (Kind.DISCUSSION, "people answer there", evidence(3, discussion=3, reply=3)),
    (Kind.NOTIFICATION, "sent by a machine", evidence(2, automatic=2, sender_email="build@ci.example")),
    (Kind.NOTIFICATION, "a machine with a way out", evidence(2, automatic=2, has_header=True)),
    (Kind.NOTIFICATION, "nobody reads answers", evidence(sender_email="no-reply@forum.example")),
    (Kind.NOTIFICATION, "nor here", evidence(sender_email="accounts.donotreply@bank.example")),
    (Kind.NOTIFICATION, "bulk", evidence(bulk=1, sender_email="hello@app.example")),
    (Kind.TRANSACTIONAL, "an order", evidence(subjects=("Your order 1234 has shipped",))),
    (Kind.TRANSACTIONAL, "a password, from a machine", evidence(automatic=1, subjects=("Reset your password",))),
    (Kind.TRANSACTIONAL, "in German", evidence(sender_email="service@laden.example", subjects=("Ihre Rechnung",))),
    (Kind.TRANSACTIONAL, "half of them", evidence(2, subjects=("Verify your address", "Hello"))),
    (Kind.PERSONAL, "a person", evidence(sender_email="maria@firm.example", subjects=("Lunch?",))),
    (Kind.PERSONAL, "a person at a large provider", evidence(sender_email="news.maria@gmail.com", keywords=1)),
    (Kind.PERSONAL, "an answer", evidence(sender_email="maria@firm.example", reply=1, keywords=1)),
    (Kind.PERSONAL, "an order among much else", evidence(3, "maria@firm.example", subjects=("Hi", "receipt", "Ho"))),
]


@pytest.mark.parametrize(("wanted", "told"), [(one[0], one[2]) for one in KINDS], ids=[one[1] for one in KINDS])
def test_the_kind_is_told_from_the_signs(wanted: Kind, told: Evidence) -> None:
    assert kind(told) == wanted


def test_there_is_advice_for_every_kind() -> None:
    assert set(ADVICE) == set(Kind)


OWN = [
    ("shop.example", "https://shop.example/u", True),
    ("shop.example", "https://links.mail.shop.example/u", True),
    ("mail.shop.example", "https://shop.example/u", True),
    ("shop.co.uk", "https://other.co.uk/u", False),
    ("news.shop.co.uk", "http://shop.co.uk/u", True),
    ("shop.example", "https://shop.example.evil.test/u", False),
    ("münchen.de", "https://news.xn--mnchen-3ya.de/u", True),
    ("shop.example", "mailto:leave@shop.example", False),
    ("10.0.0.1", "https://10.0.0.1/u", False),
    ("shop.example", "https://[::1/u", False),
    ("", "https://shop.example/u", False),
    ("com", "https://com/", False),
]


@pytest.mark.parametrize(("domain", "url", "is_own"), OWN, ids=[f"{domain} {url}" for domain, url, _ in OWN])
def test_a_web_link_of_the_senders_registrable_domain_is_its_own(domain: str, url: str, is_own: bool) -> None:
    assert domains.is_own(domain, [Way("http_get", url, Source.HEADER)]) is is_own


def test_any_of_several_links_may_be_the_senders_own() -> None:
    urls = ("https://elsewhere.test/u", "https://shop.example/u")
    assert domains.is_own("shop.example", [Way("http_get", url, Source.HTML) for url in urls])


def test_an_invalid_link_is_nobodys() -> None:
    assert not domains.is_own("shop.example", [Way("invalid", "https://shop.example/u", Source.HEADER)])
