"""Which signature covers the fields that offer a way out, and what the reader's own server found."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.inbox import seals

BOTH = "From:Subject:List-Unsubscribe:List-Unsubscribe-Post"
NONE = {"covered": False, "passed": None, "by": None, "aligned": False, "over": False}


def signed(domain: str = "shop.example", h: str = BOTH) -> str:
    return f"v=1; a=rsa-sha256; c=relaxed/relaxed; d={domain}; s=k1; h={h}; bh=abc=; b=d=ef"


def passed(domain: str = "shop.example", result: str = "pass") -> str:
    return f"mx.reader.example; dkim={result} header.d={domain} header.s=k1; spf=pass smtp.mailfrom=x@y.example"


def header(*signatures: str, results: tuple[str, ...] = (), sender: str = "Shop <news@mail.shop.example>") -> Any:
    return {"dkim-signature": list(signatures), "authentication-results": list(results), "from": [sender]}


def test_a_signature_over_both_fields_that_was_checked() -> None:
    assert seals.read(header(signed(), results=(passed(),))) == {
        "covered": True,
        "passed": True,
        "by": "shop.example",
        "aligned": True,
        "over": False,
    }


CASES: list[tuple[Any, dict[str, Any]]] = [
    ({}, {"covered": False, "passed": None, "by": None}),
    (header(), {"covered": False}),
    (header(signed(h="From:List-Unsubscribe")), {"covered": False}),
    (header(signed(h="From:List-Unsubscribe-Post")), {"covered": False}),
    (header(signed(h="from : LIST-UNSUBSCRIBE :\r\n\tlist-unsubscribe-post")), {"covered": True}),
    (header(signed()), {"covered": True, "passed": None, "by": "shop.example"}),
    (header(signed(), results=(passed(result="fail"),)), {"covered": True, "passed": False}),
    (header(signed(), results=(passed(result="none"),)), {"passed": False}),
    # Somebody else's signature says nothing of this one.
    (header(signed(), results=(passed("other.example"),)), {"covered": True, "passed": None}),
    # Any of several may be the one; many services sign twice.
    (header(signed(h="From"), signed("esp.example"), results=(passed("esp.example"),)), {"by": "esp.example"}),
    (header(signed("esp.example"), signed()), {"by": "shop.example", "aligned": True}),
    (header(signed("esp.example"), signed(), results=(passed("esp.example"),)), {"by": "esp.example", "passed": True}),
    # What the sender wrote itself stands below what the reader's server wrote.
    (header(signed(), results=(passed(result="fail"), passed())), {"passed": False}),
    (header(signed(), results=("mx.reader.example; none", passed())), {"passed": None}),
    (header(signed(), results=("mx; dkim=pass (good (really)) header.i=@shop.example",)), {"passed": True}),
    (
        header(signed(), results=("mx (dkim=pass header.d=shop.example); dkim=fail header.d=shop.example",)),
        {"passed": False},
    ),
    (
        header(signed(), results=("mx; dkim=fail header.d=shop.example; dkim=pass header.d=shop.example",)),
        {"passed": True},
    ),
    (header(signed(h=f"{BOTH}:List-Unsubscribe:List-Unsubscribe-Post")), {"over": True}),
    (header(signed(h=f"{BOTH}:List-Unsubscribe")), {"over": False}),
    (header(signed("evil.test"), sender="news@shop.example"), {"covered": True, "aligned": False}),
    (header("h=List-Unsubscribe:List-Unsubscribe-Post"), {"covered": False}),
    (header(";;;=;d;h", results=(";;dkim;=",)), {"covered": False}),
]


@pytest.mark.parametrize(("fields", "expected"), CASES, ids=range(len(CASES)))
def test_what_a_header_says(fields: Any, expected: dict[str, Any]) -> None:
    found = seals.read(fields)
    assert {name: found[name] for name in expected} == expected


def test_the_doubt_in_words() -> None:
    assert "No signature" in (seals.why_not(None) or "")
    assert "No signature" in (seals.why_not(NONE) or "")
    assert "found the signature (DKIM) of shop.example wrong" in (
        seals.why_not(seals.read(header(signed(), results=(passed(result="fail"),)))) or ""
    )
    assert seals.why_not(seals.read(header(signed()))) is None
    assert seals.why_not(seals.read(header(signed(), results=(passed(),)))) is None


@given(st.lists(st.text(max_size=100), max_size=3), st.lists(st.text(max_size=100), max_size=3))
def test_no_header_stops_it(signatures: list[str], results: list[str]) -> None:
    assert set(seals.read({"dkim-signature": signatures, "authentication-results": results, "from": results})) == set(
        NONE
    )
