"""What mails offer to whoever wants no more of them."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.inbox import markup
from gna.inbox.offers import FIELD_MAX, LINKS_MAX, fields, in_body, of_mail
from gna.inbox.ways import Form, Link, Source
from tests.inbox.kept import CASES, expected_of


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_kept_mail_offers_what_is_written_beside_it(case: Path) -> None:
    offers, opened = of_mail(case.read_bytes())
    expected = expected_of(case)
    assert fields(offers.list_unsubscribe) == expected["fields"]
    assert list(offers.list_unsubscribe_post) == expected["post"]
    assert [as_json(link) for link in offers.body] == expected["body"]
    assert opened.html or opened.text


def as_json(link: Link) -> dict[str, Any]:
    shown: dict[str, Any] = {"url": link.url, "source": link.source}
    if link.form:
        shown["form"] = {"method": link.form.method, "fields": [list(pair) for pair in link.form.fields]}
    return shown


def found(html: str, text: str = "") -> list[str]:
    return [link.url for link in in_body(html.encode(), text)]


URL = "https://example.com/u"


@pytest.mark.parametrize(
    ("value", "urls"),
    [
        (f"<{URL}>", [URL]),
        (f"<{URL}>, <mailto:u@example.com?subject=a,b>", [URL, "mailto:u@example.com?subject=a,b"]),
        (f"<mailto:u@example.com>,<{URL}>", ["mailto:u@example.com", URL]),
        (f"(Use this <one> (or that)) <{URL}> (thanks)", [URL]),
        ("<https://exa mple.com/\r\n\tu>", [URL]),
        (f" {URL}", [URL]),
        ("https://exam ple.com/u?a= 1", [f"{URL}?a=1"]),
        (f"{URL}?a=1, mailto:u@example.com", [f"{URL}?a=1", "mailto:u@example.com"]),
        (f"{URL} to leave", [URL]),
        (f"{URL}?list=a,b", [f"{URL}?list=a,b"]),
        (f"Unsubscribe: <{URL}>", [URL]),
        ("<abc@example.com>", ["abc@example.com"]),
        (f"<{URL}", [URL]),
        (f"<{URL}, <mailto:u@example.com>", [f"{URL},", "mailto:u@example.com"]),
        ("<>, < >, NO", []),
        ("example.com/u", []),
        ("", []),
        ("<javascript:alert(1)>", ["javascript:alert(1)"]),
        ("=?utf-8?q?=3Chttps=3A//example=2Ecom/u=3E?=", [URL]),
        ("=?us-ascii?B?PGh0dHBzOi8vZXhhbXBs?=\r\n =?us-ascii?B?ZS5jb20vdT4=?=", [URL]),
    ],
)
def test_the_addresses_of_a_field_are_read_from_left_to_right(value: str, urls: list[str]) -> None:
    assert fields([value]) == urls


def test_every_field_of_a_mail_is_read() -> None:
    assert fields([f"<{URL}>", "<mailto:u@example.com>"]) == [URL, "mailto:u@example.com"]


@given(value=st.text("<>(),\\ \t=?qQb:/.@abhtps", max_size=200))
def test_nothing_is_too_odd_for_a_field(value: str) -> None:
    assert all(url and not set(url) & set("<> \t") for url in fields([value]))


UNSUBSCRIBE = (
    "Unsubscribe",
    "UNSUBSCRIBE",
    "Click here to unsubscribe",
    "Opt-out",
    "Abmelden",
    "Vom Newsletter abmelden",
    "Newsletter abbestellen",
    "Newsletterabmeldung",
    "Se désabonner",
    "Se désinscrire",
    "Me désinscrire de cette liste",
    "Darse de baja",
    "Cancelar suscripción",
    "Anular la suscripción",
    "Disiscriviti",
    "Annulla l'iscrizione",
    "Cancellati",
    "Cancelar inscrição",
    "Cancelar subscrição",
    "Descadastrar",
    "Uitschrijven",
    "Afmelden",
    "Schrijf je uit",
    "Dezabonare",
    "Dezabonați-vă",
    "Wypisz się",
    "Zrezygnuj z subskrypcji",
    "Anuluj subskrypcję",
    "Avregistrera dig",
    "Avprenumerera",
    "Avsluta prenumerationen",
    "Afmeld nyhedsbrev",
    "Frameld",
    "Meld deg av",
    "Avmelding",
    "Peruuta tilaus",
    "Lopeta tilaus",
    "Odhlásit odběr",
    "Odhlášení",
    "Zrušit odběr",
    "Leiratkozás",
    "Leiratkozom",
    "Abonelikten çık",
    "Aboneliği iptal et",
    "Listeden çıkmak için",
    "Отписаться",
    "ОТПИСАТЬСЯ ОТ РАССЫЛКИ",
    "Отменить подписку",
    "Відписатися",
    "Скасувати підписку",
    "Διαγραφή",
    "ΚΑΤΆΡΓΗΣΗ ΕΓΓΡΑΦΉΣ",
    "Απεγγραφή",
    "配信停止",
    "購読を解除する",
    "退订",
    "取消訂閱",
    "取消订阅",
    "수신거부",
    "구독 취소",
)
PREFERENCES = (
    "Manage preferences",
    "Update your preferences",
    "Email settings",
    "Manage your subscription",
    "E-Mail-Einstellungen",
    "Gérer mes préférences",
    "Preferencias de correo",
    "Gestisci preferenze",
    "Gerir preferências",
    "Voorkeuren aanpassen",
    "Zarządzaj preferencjami",
    "Управление подпиской",
    "配信設定",
    "管理订阅",
    "구독 관리",
)


@pytest.mark.parametrize("words", UNSUBSCRIBE)
def test_a_link_says_it_in_many_languages(words: str) -> None:
    assert found(f'<p>News</p><a href="https://example.com/1">More</a> <a href="{URL}">{words}</a>') == [URL]
    assert found("", f"News\n\n{words}: {URL}\n") == [URL]


@pytest.mark.parametrize("words", PREFERENCES)
def test_where_nobody_can_leave_preferences_are_the_second_best(words: str) -> None:
    choose = f'<a href="https://example.com/choose">{words}</a>'
    assert found(choose) == ["https://example.com/choose"]
    assert found(f'<a href="{URL}">Abmelden</a> {choose}') == [URL]


@pytest.mark.parametrize(
    "sentence",
    [
        "To unsubscribe, click {here}.",
        "Click {here} to unsubscribe.",
        "You no longer wish to receive these emails? Click {here}.",
        "Wenn Sie diese E-Mail (an: a@example.org) nicht mehr empfangen möchten, können Sie diese {hier} abbestellen.",
        "Sie möchten keinen Newsletter mehr erhalten? {Klicken Sie hier}",
        "Pour ne plus recevoir nos e-mails, {cliquez ici}.",
        "Si no desea recibir más mensajes haga clic {aquí}",
        "Se non vuoi più ricevere le nostre e-mail {clicca qui}",
        "Klik {hier} om u af te melden",
        "Dacă nu mai doriți să primiți mesaje, click {aici}.",
        "Jeśli nie chcesz więcej wiadomości, kliknij {tutaj}.",
        "Чтобы отписаться, нажмите {здесь}.",
        "配信停止は{こちら}",
        "To unsubscribe visit {https://example.com/u}.",
    ],
)
def test_a_link_that_only_points_is_what_its_sentence_says(sentence: str) -> None:
    here = sentence.replace("{", f'<a href="{URL}">').replace("}", "</a>")
    assert found(f"<table><tr><td>Read it <a href=https://example.com/1>here</a></td><td>{here}</td></tr></table>") == [
        URL
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Click {here} to unsubscribe or [here] to view it online.",
        "To view it online click [here], to unsubscribe click {here}.",
        "View it [here]. To unsubscribe click {here}.",
        "Click [here] to view it or {here} to unsubscribe.",
    ],
)
def test_of_two_links_that_point_the_right_one_is_taken(sentence: str) -> None:
    for mark, url in (("{}", URL), ("[]", "https://example.com/online")):
        sentence = sentence.replace(mark[0], f"<a href={url}>").replace(mark[1], "</a>")
    assert found(f"<p>{sentence}</p>") == [URL]


@pytest.mark.parametrize(
    "html",
    [
        '<a href="https://example.com/1">Subscribe</a>',
        '<a href="https://example.com/1">A description</a>',
        '<a href="https://example.com/1">We will adopt outstanding ideas</a>',
        '<a href="https://example.com/2026/how-we-cut-our-unsubscribe-rate-in-half">Read</a>',
        '<p>You can unsubscribe at any time.</p><p>Click <a href="https://example.com/1">here</a> to read on.</p>',
        '<a href="/unsubscribe">Unsubscribe</a>',
        '<a href="">Unsubscribe</a> <a>Unsubscribe</a> <a href="#">Unsubscribe</a>',
        f'<!-- <a href="{URL}">Unsubscribe</a> -->',
        f"<script>var a = '<a href=\"{URL}\">Unsubscribe</a>'</script>",
        '<form action="https://example.com/search"><input name=q><input type=submit value=Search></form>',
        f'<blockquote type="cite"><a href="{URL}">Unsubscribe</a></blockquote>',
        f'<a href="{URL}?{"a" * 9000}">Unsubscribe</a>',
    ],
)
def test_what_only_looks_like_a_way_out_is_none(html: str) -> None:
    assert found(html) == []


@pytest.mark.parametrize(
    "html",
    [
        '<a href="{}" style="display:none">Unsubscribe</a>',
        '<div style="color:red; display: none"><div><p><a href="{}">Unsubscribe</a></p></div></div>',
        '<a href="{}" style="font-size:0">Unsubscribe</a>',
        '<a hidden href="{}">Unsubscribe</a>',
        '<td style="visibility:hidden"><a href="{}">Unsubscribe</a></td>',
    ],
)
def test_a_link_that_nobody_sees_is_a_trap(html: str) -> None:
    trap = html.format("https://trap.example.com")
    assert found(trap) == []
    assert found(f'{trap}<a href="{URL}">Unsubscribe</a>{trap}') == [URL]


def test_the_last_link_comes_first_and_each_once() -> None:
    html = "".join(f'<a href="{URL}/{number}">Unsubscribe</a>' for number in (1, 2, 1, 3))
    assert found(html) == [f"{URL}/3", f"{URL}/1", f"{URL}/2"]
    assert len(found("".join(f'<a href="{URL}/{number}">Unsubscribe</a>' for number in range(90)))) == LINKS_MAX


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("https://example.com/u?a=1&amp;b=2&copy=3&reg;=4", "https://example.com/u?a=1&b=2&copy=3®=4"),
        (" \n https://example.com/u\n/x ", "https://example.com/u/x"),
        ("HTTPS://Example.com/U", "HTTPS://Example.com/U"),
        ("https://example.com/a b", "https://example.com/a%20b"),
        ("mailto:u@example.com?subject=stop%20it", "mailto:u@example.com?subject=stop%20it"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("data:text/html,hello", "data:text/html,hello"),
    ],
)
def test_an_address_is_what_the_mail_has(href: str, url: str) -> None:
    assert found(f'<a href="{href}">Unsubscribe</a>') == [url]


def test_a_base_makes_a_part_of_an_address_whole() -> None:
    assert found('<base href="https://example.com/a/"><a href="../u">Unsubscribe</a>') == [URL]
    assert found('<!-- <base href="https://example.com/"> --><a href="u">Unsubscribe</a>') == []


def test_what_no_browser_opens_comes_last_and_stops_nobody_from_looking() -> None:
    html = f'<p>To leave this list click <a href="{URL}">here</a></p><a href="javascript:x()">Unsubscribe</a>'
    assert found(html) == ["javascript:x()", URL]
    assert found(f'<a href="javascript:x()">Unsubscribe</a><a href="{URL}">Unsubscribe</a>') == [URL, "javascript:x()"]


def test_a_picture_may_say_it() -> None:
    assert found(f'<a href="{URL}"><img src=a.png alt="Abmelden"></a>') == [URL]
    assert found(f'<map><area shape=rect href="{URL}" alt="Unsubscribe"></map> words') == [URL]
    assert found(f'<a href="{URL}" title="Se d&eacute;sabonner"><img src=a.png></a>') == [URL]


def test_an_address_may_say_it() -> None:
    assert found('<a href="https://example.com/abmelden?k=1">Ja</a>') == ["https://example.com/abmelden?k=1"]
    assert found('<a href="https://unsubscribe.example.com/1">x</a>') == ["https://unsubscribe.example.com/1"]


STORY = '<p style="color:#333">Words and <a href="https://example.com/story">more words</a></p>' * 200


@pytest.mark.parametrize("html", [f"{{}}{STORY}", f"{STORY}{{}}{STORY}", f"{STORY}{{}}"], ids=["top", "middle", "end"])
def test_a_link_that_says_it_in_words_is_found_anywhere(html: str) -> None:
    assert found(html.format(f'<a href="{URL}">Unsubscribe</a>')) == [URL]


@pytest.mark.parametrize(
    "link",
    [
        '<a href="https://example.com/unsubscribe">x</a>',
        '<p>To unsubscribe click <a href="https://example.com/unsubscribe">here</a></p>',
        '<a href="https://example.com/unsubscribe"><img src=a alt="Unsubscribe"></a>',
    ],
)
def test_a_link_that_says_it_otherwise_is_at_the_top_or_at_the_end(link: str) -> None:
    assert found(f"{link}{STORY}") == found(f"{STORY}{link}") == ["https://example.com/unsubscribe"]
    assert found(f"{STORY}{link}{STORY}") == []


def test_who_can_leave_by_a_page_or_by_a_mail_is_offered_both() -> None:
    mail = "mailto:unsubscribe@example.com"
    assert found(f'<a href="{URL}">Unsubscribe</a> or <a href="{mail}">write to us</a>') == [URL, mail]


def form(attributes: str, inside: str) -> str:
    return f'<table><form {attributes}><tr><td>{inside}</td></tr></form></table><p><a href="{URL}">More</a></p>'


def test_a_form_is_taken_with_what_it_sends() -> None:
    inside = (
        '<input type=hidden name=id value="1"><input name=email value="a@example.org"><input name=why>'
        "<input type=checkbox name=all checked><input type=checkbox name=some>"
        '<input type=submit name=no value="Keep me"><input type=submit name=go value="Unsubscribe">'
    )
    [link] = in_body(form('action="https://example.com/f" method=Post', inside).encode(), "")
    sent = (("id", "1"), ("email", "a@example.org"), ("all", "on"), ("go", "Unsubscribe"))
    assert link == Link("https://example.com/f", Source.HTML, Form("post", sent))


@pytest.mark.parametrize(
    ("attributes", "inside"),
    [
        ("action=https://example.com/unsubscribe", "<input type=submit>"),
        ("action=https://example.com/f", "<button>Abmelden</button>"),
        ("action=https://example.com/f", "<input type=hidden name=do value=unsubscribe><input type=submit value=OK>"),
        ("action=https://example.com/f", "You no longer want this? <input type=submit value=OK>"),
        ("action=https://example.com/f", "<input type=image src=a.png alt='Se désinscrire'>"),
    ],
)
def test_a_form_counts_if_something_about_it_speaks_of_leaving(attributes: str, inside: str) -> None:
    [link] = in_body(form(attributes, inside).encode(), "")
    assert link.form
    assert link.form.method == "get"


def test_a_form_without_an_address_leads_nowhere() -> None:
    assert found(form("method=post", "<button>Unsubscribe</button>")) == []


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        (f"Unsubscribe: {URL}.", [URL]),
        (f"Unsubscribe ({URL})", [URL]),
        (f"[Unsubscribe]({URL}), [Home](https://example.com/)", [URL]),
        (f"Unsubscribe <{URL}>", [URL]),
        ("Unsubscribe <https://exam\nple.com/u>", [URL]),
        # Whose label it is, only the sender knows.
        (f"{URL}\nUnsubscribe", []),
        (f"To unsubscribe from this list, please visit\nthis page: {URL}", [URL]),
        (f"Unsubscribe:\n\n{URL}", [URL]),
        (f"View online:\nhttps://example.com/1\nUnsubscribe:\n{URL}\nHome:\nhttps://example.com/", [URL]),
        (f"https://example.com/1 View\n{URL} Unsubscribe", [URL]),
        (f"Unsubscribe {URL} | Home https://example.com/", [URL]),
        (f"Unsubscribe {URL} \nflowed text goes on", [URL]),
        ("Unsubscribe: https://en.example.com/wiki/A_(b)", ["https://en.example.com/wiki/A_(b)"]),
        ("Send a mail to mailto:u@example.com?subject=unsubscribe", ["mailto:u@example.com?subject=unsubscribe"]),
        ("https://example.com/unsubscribe/1", ["https://example.com/unsubscribe/1"]),
        ("Manage preferences: https://example.com/p", ["https://example.com/p"]),
        (f"> Unsubscribe: {URL}", []),
        ("You can unsubscribe at any time.\n\n\nhttps://example.com/1", []),
        ("Unsubscribe", []),
        ("Unsubscribe: example.com/u", []),
    ],
)
def test_plain_text_is_read_line_by_line(text: str, urls: list[str]) -> None:
    assert found("", text) == urls
    assert all(link.source == Source.TEXT for link in in_body(b"", text))


def test_an_address_in_html_and_in_text_is_one() -> None:
    [link] = in_body(f'<a href="{URL}">Unsubscribe</a>'.encode(), f"Unsubscribe: {URL}")
    assert link.source == Source.HTML


LINK = '<p>%s <a href="https://example.com/u?%s">Se désabonner</a></p>'
WRITTEN = {
    "in UTF-8, as it says": ("utf-8", LINK.encode()),
    "in Latin-1, as it says": ("iso-8859-1", LINK.encode("latin-1")),
    "in Latin-1, which it does not say": ("utf-8", LINK.encode("latin-1")),
    "in Latin-1 without a word": ("", LINK.encode("latin-1")),
    "partly in each": ("utf-8", "<p>été</p>".encode() + LINK.encode("latin-1")),
    "in UTF-16": ("utf-16", LINK.encode("utf-16")),
    "cut off within a letter": ("utf-8", LINK.encode() + "é".encode()[:1]),
}


@pytest.mark.parametrize(("charset", "data"), WRITTEN.values(), ids=WRITTEN.keys())
def test_letters_are_read_however_they_are_written(charset: str, data: bytes) -> None:
    kind = f"text/html; charset={charset}" if charset else "text/html"
    offers, _ = of_mail(f"From: a@example.com\r\nContent-Type: {kind}\r\n\r\n".encode() + data)
    assert [link.url for link in offers.body] == ["https://example.com/u?%s"]


def _bordering(at: int) -> bytes:
    """A page of which the last part, that is looked at first, begins within a letter of a label."""
    label = LINK.encode() + b'<a href="https://example.com/x">' + "ж".encode() * 300
    after = markup.FOOTER - (len(label) - label.index("ж".encode()) - at)
    return label + b"</a>" + b"x" * (after - 4)


AFTER = '<a href="https://example.com/u?%s">Ici</a> pour vous désabonner'
HERE = '<p>%s <a href="https://example.com/u?%s">здесь</a></p>'
HALVES = {
    "in the words before": HERE.replace("%s", "ж" * 2000 + "! чтобы отписаться от рассылки, нажмите", 1).encode(),
    "in the words after": '<a href="https://example.com/u?%s">Ici</a> pour vous désabonner'.encode()
    + b"x\xc3\xa9" * 2000,
    "in the next label": LINK.encode() + b'<a href="https://example.com/x">Actualit\xc3',
    "in the next picture": LINK.encode() + b'<a href="https://example.com/x"><img alt="caf\xc3',
    "where the last part begins": _bordering(3),
    "where the last part begins, too": _bordering(4),
    "in another part": LINK.encode() + b'<p><a href="https://example.com/x">Soci\xe9t\xe9</a>',
}


@pytest.mark.parametrize("html", HALVES.values(), ids=HALVES.keys())
def test_half_a_letter_hides_nothing(html: bytes) -> None:
    assert [link.url for link in in_body(html, "")] == ["https://example.com/u?%s"]


@given(html=st.text("<>/a =\"'hrefimgtduns&;#-!0", max_size=300), text=st.text(max_size=200))
def test_nothing_is_too_broken_to_be_read(html: str, text: str) -> None:
    in_body(html.encode(), text)
    in_body(f"<a {html}unsubscribe</a>".encode(), text)


BIG = 400_000
HOSTILE = {
    "links": "<a href=x>here" * (BIG // 14),
    "links that speak": "<a href=https://e.example/>unsubscribe</a>" * (BIG // 42),
    "tags without an end": "<a " * (BIG // 3),
    "quotes without an end": "<a href=\"'" * (BIG // 10),
    "attributes": "<a " + "a=b " * (BIG // 4) + ">unsubscribe",
    "hidden in hidden": '<div style="display:none">' * (BIG // 26) + '<a href="https://e.example/">unsubscribe</a>',
    "comments": "<!--" * (BIG // 4) + '<a href="https://e.example/">unsubscribe</a>-->',
    "entities": '<a href="https://e.example/">unsubscribe' + "&amp" * (BIG // 4),
    "forms": "<form action=https://e.example/unsubscribe>" * (BIG // 43),
    "controls": "<form action=https://e.example/f>" + "<input name=a value=b>" * (BIG // 22),
    "an address with many words": f'<a href="https://e.example/{"unsub-" * (BIG // 6)}">x</a>',
    "brackets": "<" * BIG,
    "blanks": "<a" + " " * BIG + "href",
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_a_body_that_is_made_to_take_long_does_not(html: str) -> None:
    before = time.process_time()
    in_body(html.encode(), html)
    # They take some tenths of a second; what grows with the square of its length would take minutes.
    assert time.process_time() - before < 5


@pytest.mark.parametrize("value", ["(" * BIG, "<" * BIG, "=?a?q?b" * (BIG // 7), "https://a" + " b1" * (BIG // 3)])
def test_a_field_that_is_made_to_take_long_does_not(value: str) -> None:
    before = time.process_time()
    assert sum(map(len, fields([value]))) <= FIELD_MAX
    assert time.process_time() - before < 3
