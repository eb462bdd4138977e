"""What the pages of the inbox say of kinds, states, ways out and outcomes; translated where it is shown."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from gna.inbox.meanings import MEANINGS
from gna.web.pages.admin.shell import N_

# What a subscription probably is, in a word with its colour.
KINDS = {
    "newsletter": ("", N_("Newsletter")),
    "discussion": ("", N_("Discussion")),
    "notification": ("", N_("Notification")),
    "transactional": ("warn", N_("Transactional")),
    "personal": ("warn", N_("Personal")),
}
STATES = {
    "active": ("", N_("Active")),
    "kept": ("run", N_("Kept")),
    "unsubscribed": ("ok", N_("You unsubscribed")),
    "sending": ("bad", N_("Still sending")),
}
# A way out: in a word for the list, and what using it means.
METHODS = {
    "one_click": (N_("One click"), N_("One request to the sender's server; no page is opened (RFC 8058).")),
    "http_post": (N_("Form"), N_("A form of the mail is sent, with what it has filled in.")),
    "http_get": (N_("Link"), N_("The page behind the link is opened; some ask there once more.")),
    "email_reply": (N_("Mail"), N_("A mail is sent in your name.")),
    "invalid": (N_("Not usable"), N_("It cannot be used.")),
}
NO_WAY = N_("None")
SOURCES = {
    "header": N_("header of the mail"),
    "html": N_("body of the mail"),
    "text": N_("text of the mail"),
}
# What became of a try: its colour, its word, and what it honestly means.
COLOURS = {
    "accepted": "ok",
    "page_opened": "ok",
    "sent": "ok",
    "needs_confirmation": "warn",
    "redirected": "warn",
    "unknown": "warn",
    "refused": "bad",
}
OUTCOMES = {name: (COLOURS[name], *said) for name, said in MEANINGS.items()}
# How late a mail came, as advice: its colour, its word, and what to make of it.
GRACE = {
    "late": ("", N_("Late"), N_("It may have been under way when you left.")),
    "within the grace period of most laws": (
        "warn",
        N_("Within the grace period"),
        N_("Most laws give a sender ten business days to stop."),
    ),
    "violation": ("bad", N_("Violation"), N_("That is later than the ten business days that most laws give.")),
}


def state_of(subscription: Mapping[str, Any]) -> str:
    """How a subscription stands, in a word; what somebody left is first of all left."""
    if subscription["unsubscribe_status"] == "unsubscribed":
        return "sending" if subscription["emails_after_unsubscribe"] else "unsubscribed"
    return "kept" if subscription["keep_subscription"] else "active"


def host_of(url: str) -> str:
    """Whose server an address names, as far as it can be read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # an address that is none
        return ""


def reason_of(written: str) -> tuple[str, str]:
    """A reason of the score as its points and its words."""
    points, _, why = written.partition(": ")
    return (points, why) if why else ("", written)


WORDS: dict[str, Any] = {
    "kinds": KINDS,
    "states": STATES,
    "methods": METHODS,
    "no_way": NO_WAY,
    "sources": SOURCES,
    "outcomes": OUTCOMES,
    "graces": GRACE,
    "host_of": host_of,
    "reason_of": reason_of,
}
