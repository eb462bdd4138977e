"""What to paste into a website, so that its visitors can sign up. Pure: an address in, texts out."""

import json
from dataclasses import dataclass
from html import escape

from gna.web.language import translated
from gna.web.pages.admin.shell import N_


@dataclass(frozen=True)
class Snippet:
    """A way to embed the form: its name, what it is good for, and the text to copy."""

    id: str
    title: str
    says: str
    text: str


def snippets(base_url: str, lang: str) -> list[Snippet]:
    """Four ways, from the least work to the most control."""
    url = escape(base_url)
    words = {name: escape(translated(text, lang)) for name, text in WORDS.items()}
    link = f'<a href="{url}/subscribe">{words["link"]}</a>'
    return [
        Snippet("link", N_("A link"), N_("To the hosted form. Works everywhere, also in a mail signature."), link),
        Snippet(
            "script",
            N_("The web component"),
            N_("The form on your own page. Visitors stay there; without scripts they get the link."),
            f'<script src="{url}/embed.js" async></script>\n<gna-subscribe>\n  {link}\n</gna-subscribe>',
        ),
        Snippet(
            "form",
            N_("A plain form"),
            N_("No script at all. After sending, the visitor sees a page of Gna that says to check their inbox."),
            FORM.format(url=url, **words),
        ),
        Snippet(
            "json",
            N_("Your own code"),
            N_("JSON from a script or a server: 201 means that a mail is on its way."),
            f"curl {base_url}/api/subscribe -H 'Content-Type: application/json' \\\n"
            f"  -d '{json.dumps({'email': 'ana@example.org', 'nickname': 'Ana'})}'",
        ),
    ]


FORM = """<form method="post" action="{url}/api/subscribe">
  <label>{email} <input type="email" name="email" autocomplete="email" required></label>
  <label>{name} <input type="text" name="nickname" autocomplete="nickname" maxlength="50"></label>
  <button>{button}</button>
</form>"""
WORDS = {"link": N_("Subscribe by email"), "email": N_("Email"), "name": N_("Name"), "button": N_("Subscribe")}
