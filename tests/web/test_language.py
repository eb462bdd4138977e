"""Readers are answered in their language, and nothing is left untranslated."""

import ast
import io
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po
from starlette.testclient import TestClient

import gna
from gna import config
from gna.db import Database
from gna.inbox.meanings import MEANINGS
from gna.mail.authentication import SAYS
from gna.web.ground import Ground
from gna.web.language import LANGUAGES, LOCALE, REASONS, best_match, catalog, translated
from gna.web.pages.render import WEB, templates
from tests.conftest import settings_for, visitor

HTML = {"Accept": "text/html"}
PLACEHOLDER = re.compile(r"%\([a-z_]+\)s|</?[a-z]+[^>]*>")
SITE = SimpleNamespace(name="The Quiet & Web", base_url="http://127.0.0.1:8000")
ANA = SimpleNamespace(email="ana@example.org", nickname="Ana", pending_email="ana@example.com")
PROFILE = {"token": "t" * 43, "unsubscribe_token": "u" * 43, "person": ANA}
ISSUE = SimpleNamespace(
    id="42",
    url="http://127.0.0.1:8000/archive/42",
    title="News & more",
    excerpt="It <rained>.",
    published_at=datetime(2026, 5, 1, tzinfo=UTC),
)
NEIGHBOUR = SimpleNamespace(id="41", title="Before & after")
BUTTON = {"action": "/confirm", "token": "t" * 43}
PAGES: list[tuple[str, dict[str, Any]]] = [
    ("subscribe.html", {"problem": None, "typed": {}}),
    ("subscribe.html", {"problem": "Email is not a valid address", "typed": {"email": "ana@", "nickname": "A"}}),
    ("subscribe.html", {"problem": "Nickname must be 1–50 characters", "typed": {"email": "a@b.c", "nickname": " "}}),
    ("subscribe.html", {"problem": "The form cannot be read: its charset is wrong", "typed": {}}),
    ("check_inbox.html", {}),
    ("confirmed.html", {}),
    ("link_used.html", {}),
    ("link_expired.html", {}),
    ("address_taken.html", {}),
    ("press_button.html", {"what": "confirm", "list_key": None} | BUTTON),
    ("press_button.html", {"what": "leave", "list_key": None} | BUTTON),
    ("press_button.html", {"what": "leave_list", "list_key": "weekly"} | BUTTON),
    ("goodbye.html", {}),
    ("left_list.html", {"list_key": "weekly"}),
    ("unsubscribe_invalid.html", {}),
    ("profile_ask.html", {"problem": None, "typed": {}}),
    ("profile_ask.html", {"problem": "Email is required", "typed": {"email": ""}}),
    ("profile_link_sent.html", {}),
    ("profile_link_expired.html", {}),
    ("profile.html", {"problem": None, "typed": {}} | PROFILE),
    ("profile.html", {"problem": "Email already registered", "typed": {"email": "ion@example.org"}} | PROFILE),
    ("profile_saved.html", {"awaiting": False}),
    ("profile_saved.html", {"awaiting": True}),
    ("email_changed.html", {}),
    ("too_many.html", {"minutes": 1}),
    ("too_many.html", {"minutes": 20}),
    ("not_found.html", {}),
    ("archive.html", {"issues": [], "number": 1, "older": None}),
    ("archive.html", {"issues": [ISSUE], "number": 2, "older": 3}),
    ("issue.html", {"issue": ISSUE, "content": "", "older": NEIGHBOUR, "newer": NEIGHBOUR}),
    ("issue.html", {"issue": ISSUE, "content": "", "older": None, "newer": None}),
    ("try_later.html", {}),
    ("admin_closed.html", {"code": 401, "error": "Authentication required"}),
    ("admin_closed.html", {"code": 403, "error": "Token expired"}),
    ("admin_closed.html", {"code": 500, "error": "Server misconfiguration"}),
]


class Outline(HTMLParser):
    """The elements of a page with their attributes, and the ones left open or closed twice."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.wrong: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.wrong += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "img"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.wrong.append(f"/{tag}")

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def rendered(template: str, values: dict[str, Any], lang: str = "en", path: str = "/subscribe") -> str:
    shared = {"site": SITE, "path": path, "lang": lang, "contact": "hello@example.org"}
    return templates.get_template(template).render(**shared, **values)


def catalogs(language: str = "ro") -> list[Catalog]:
    return [
        read_po(io.BytesIO(file.read_bytes()), locale=language, abort_invalid=True)
        for file in sorted((LOCALE / language).glob("*.po"))
    ]


def every_message() -> list[Message]:
    return [message for ours in catalogs() for message in ours if message.id]


def in_templates() -> Iterator[str | tuple[str, ...]]:
    options = {"**.html": {"silent": "false"}}
    found = extract_from_dir(WEB / "templates", method_map=[("**.html", "jinja2")], options_map=options)
    for _, _, message, _, _ in found:
        yield message


def in_code() -> Iterator[str | tuple[str, ...]]:
    """What pages say that is not written in a template."""
    keywords = {"N_": None, "NN_": (1, 2)}
    for _, _, message, _, _ in extract_from_dir(WEB, method_map=[("**.py", "python")], keywords=keywords):
        yield message


def in_rooms() -> Iterator[str]:
    """What pages say in the words of other rooms: the settings, what is found in DNS, what became of a try to leave."""
    yield from (field.description or "" for field in config.names().values() if not config.is_later(field))
    yield from (text for _, text in SAYS.values())
    yield from (text for said in MEANINGS.values() for text in said)


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("ro", "ro"),
        ("ro-RO,ro;q=0.9,en-US;q=0.8,en;q=0.7", "ro"),
        ("en-US,en;q=0.9,ro;q=0.8", "en"),
        ("RO-md", "ro"),
        ("fr, de;q=0.9", "en"),
        ("fr, ro;q=0.1", "ro"),
        ("en;q=0.5, ro;q=0.6", "ro"),
        ("ro;q=0.5, en;q=0.5", "ro"),
        ("en , ro", "en"),
        ("*", "en"),
        ("ro, *;q=0.5", "ro"),
        ("ro;q=0.2, *;q=0.5", "en"),
        ("en;q=0, *", "ro"),
        ("ro;q=0", "en"),
        ("ro;q=0, en;q=0", "en"),
        ("ro ; q=0.9", "ro"),
        ("rom, root, ro_RO", "en"),
        ("ro;q=nan, ro;q=2, ro;q=-1, ro;q=1e9, ro;level=1", "en"),
        (",,;;q=,\x00,*-*,🙂", "en"),
        ("ro;q=x, en;q=0.1", "en"),
    ],
)
def test_the_best_language_for_a_browser(accepted: str, language: str) -> None:
    assert best_match(accepted) == language


def test_a_page_is_in_the_visitors_language(client: TestClient) -> None:
    romanian = client.get("/subscribe", headers={"Accept-Language": "ro-RO,ro;q=0.9,en;q=0.8"})
    assert '<html lang="ro">' in romanian.text
    assert "Abonare prin email" in romanian.text
    assert romanian.headers["Content-Language"] == "ro"
    assert romanian.headers["Vary"] == "Accept-Language"
    english = client.get("/subscribe", headers={"Accept-Language": "fr"})
    assert '<html lang="en">' in english.text
    assert english.headers["Content-Language"] == "en"


@pytest.mark.parametrize(("chosen", "asked"), [("ro", "en"), ("en", "ro")])
def test_the_operators_choice_beats_the_browsers(
    db: Database, database_url: str, tmp_path: Path, chosen: str, asked: str
) -> None:
    settings = settings_for(database_url, tmp_path, GNA_LANGUAGE=chosen)
    with visitor(Ground(settings, db)) as client:
        answer = client.get("/subscribe", headers={"Accept-Language": asked})
        assert f'<html lang="{chosen}">' in answer.text
        assert answer.headers["Content-Language"] == chosen
        assert "Vary" not in answer.headers


def test_the_reason_of_an_error_is_translated_on_a_page_and_not_in_the_api(client: TestClient) -> None:
    romanian = {"Accept-Language": "ro"}
    page = client.post("/api/subscribe", data={"email": "ana@"}, headers=HTML | romanian)
    assert "Adresa de email nu este validă." in page.text
    answer = client.post("/api/subscribe", json={"email": "ana@"}, headers=romanian)
    assert answer.json() == {"error": "Email is not a valid address"}


def test_the_page_for_programmers_stays_english(client: TestClient) -> None:
    answer = client.get("/docs", headers=HTML | {"Accept-Language": "ro"})
    assert (answer.status_code, answer.headers["Content-Language"]) == (200, "en")
    assert "Vary" not in answer.headers
    assert '<html lang="en">' in answer.text


@pytest.mark.parametrize(("lang", "written"), [("en", "May 1, 2026"), ("ro", "1 mai 2026")])
def test_a_day_is_written_out(lang: str, written: str) -> None:
    html = rendered("archive.html", {"issues": [ISSUE], "number": 1, "older": None}, lang)
    assert f'<time datetime="2026-05-01">{written}</time>' in html


def test_an_unknown_text_stays_as_it_is() -> None:
    assert translated("Nobody translated 100% of this", "ro") == "Nobody translated 100% of this"
    assert translated("Email is required", "en") == "Email is required"


def test_romanian_counts_in_its_own_way() -> None:
    texts = {n: rendered("too_many.html", {"minutes": n}, "ro") for n in (1, 2, 19, 20, 101, 120)}
    assert "Așteptați un minut," in texts[1]
    for n in (2, 19, 101):
        assert f"Așteptați {n} minute," in texts[n]
    for n in (20, 120):
        assert f"Așteptați {n} de minute," in texts[n]


def test_every_text_is_translated_and_no_translation_is_left_over() -> None:
    wanted = {_several(message)[0] for message in (*in_templates(), *in_code(), *REASONS, *in_rooms())}
    there = {_several(message.id)[0] for message in every_message()}
    assert wanted - there == set(), "missing in messages.po"
    assert there - wanted == set(), "no longer used"


def test_every_translation_is_finished() -> None:
    assert not any(ours.obsolete for ours in catalogs())
    assert {ours.num_plurals for ours in catalogs()} == {3}
    for message in every_message():
        assert not message.fuzzy, message.id
        strings = _several(message.string)
        assert all(strings), message.id
        assert len(strings) == (3 if message.pluralizable else 1), message.id


def test_no_text_has_two_translations() -> None:
    said: dict[str, Any] = {}
    for message in every_message():
        assert said.setdefault(_several(message.id)[0], message.string) == message.string


def test_translations_keep_the_placeholders_and_the_links() -> None:
    for message in every_message():
        ids, strings = _several(message.id), _several(message.string)
        # "One minute" may be said without its number.
        for text in strings if len(ids) == 1 else strings[1:]:
            assert sorted(PLACEHOLDER.findall(text)) == sorted(PLACEHOLDER.findall(ids[-1])), message.id
        assert set(PLACEHOLDER.findall(strings[0])) <= set(PLACEHOLDER.findall(ids[-1])), message.id


def test_romanian_is_written_with_commas_below_not_cedillas() -> None:
    text = "".join(file.read_text("utf-8") for file in (LOCALE / "ro").glob("*.po"))
    assert not set("şţŞŢ") & set(text)
    assert {"ș", "ț", "ă", "î"} <= set(text)


def test_every_reason_that_a_reader_can_meet_is_listed() -> None:
    root = Path(gna.__file__).parent
    files = [root / "mail" / "address.py", *(root / "subscribers" / f"{name}.py" for name in ("signup", "profile"))]
    said = [reason for file in files if file.exists() for reason in _refusals(file)]
    assert "Email is required" in said
    assert set(said) <= set(REASONS)


def _several(text: str | Sequence[str] | None) -> Sequence[str]:
    """The forms of a text: one, or as many as there are plurals."""
    return [text or ""] if isinstance(text, str | None) else text


def _refusals(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Raise(exc=ast.Call(args=[ast.Constant(value=str(reason)), *_])):
                yield reason


def test_english_needs_no_catalog_and_no_babel() -> None:
    code = (
        "import sys; from gna.web.app import create_app; from gna.web.language import translated; "
        "translated('Email', 'en'); assert 'babel' not in sys.modules; "
        "translated('Email', 'ro'); assert 'babel' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert catalog("ro") is catalog("ro")


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(("template", "values"), PAGES)
def test_every_page_is_sound(template: str, values: dict[str, Any], lang: str) -> None:
    html = rendered(template, values, lang)
    page = Outline(html)
    assert not page.wrong
    assert page.all("html")[0]["lang"] == lang
    assert len(page.all("h1")) == len(page.all("main")) == 1
    assert not page.all("script")
    assert not page.all("style")
    assert not any("style" in attributes for _, attributes in page.elements)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for reference in ("for", "aria-describedby", "aria-labelledby"):
            assert set((attributes.get(reference) or "").split()) <= set(ids)
    assert "The Quiet & Web" not in html
    assert "%(" not in html


@pytest.mark.parametrize(("template", "values"), PAGES)
def test_a_problem_is_tied_to_its_field(template: str, values: dict[str, Any]) -> None:
    page = Outline(rendered(template, values))
    problem = values.get("problem")
    alerts = [attributes for _, attributes in page.elements if attributes.get("role") == "alert"]
    assert len(alerts) == bool(problem)
    wrong = [attributes for attributes in page.all("input") if "aria-invalid" in attributes]
    if problem and problem.startswith(("Email", "Nickname")):
        assert [attributes["name"] for attributes in wrong] == [problem.partition(" ")[0].lower()]
        assert alerts[0]["id"] in (wrong[0]["aria-describedby"] or "").split()
    else:
        assert not wrong


def test_every_template_for_readers_is_tried_here() -> None:
    extends = [file.name for file in (WEB / "templates").glob("*.html") if '"public.html"' in file.read_text()]
    assert {"subscribe.html", "profile.html"} <= set(extends)
    assert set(extends) <= {template for template, _ in PAGES}


@pytest.mark.parametrize(
    ("path", "href"),
    [("/api/subscribe", "/subscribe"), ("/api/profile/update", "/profile"), ("/confirm", "")],
)
def test_trying_again_leads_to_the_form_or_the_same_link(path: str, href: str) -> None:
    for template, values in (("try_later.html", {}), ("too_many.html", {"minutes": 1})):
        assert f'<a class="btn primary" href="{href}">Try again</a>' in rendered(template, values, path=path)


def test_the_forms_send_what_the_api_reads() -> None:
    profile = Outline(rendered("profile.html", {"problem": None, "typed": {}} | PROFILE))
    assert [form["action"] for form in profile.all("form")] == ["/api/profile/update", "/api/unsubscribe"]
    assert [(field["name"], field["value"]) for field in profile.all("input")] == [
        ("token", "t" * 43),
        ("nickname", "Ana"),
        ("email", "ana@example.org"),
        ("token", "u" * 43),
        ("page", "1"),
    ]
    button = Outline(rendered("press_button.html", {"what": "leave", "list_key": None} | BUTTON))
    assert [form["action"] for form in button.all("form")] == ["/confirm"]
    assert [(field["name"], field["value"]) for field in button.all("input")] == [("token", "t" * 43), ("page", "1")]


def test_what_was_typed_stands_there_again() -> None:
    typed = {"email": "ion@example.org", "nickname": ""}
    page = Outline(rendered("profile.html", {"problem": "Email already registered", "typed": typed} | PROFILE))
    assert [field["value"] for field in page.all("input") if field["name"] in typed] == ["", "ion@example.org"]
