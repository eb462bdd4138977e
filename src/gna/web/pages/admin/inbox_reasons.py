"""What the inbox says of senders, addresses and refusals, in the visitor's language."""

import re

from jinja2 import pass_context
from jinja2.runtime import Context

from gna.web.language import translated
from gna.web.pages.admin.shell import N_
from gna.web.pages.render import templates

# What the kind of a sender means for whoever thinks of leaving.
ADVICE = (
    N_("Sent to many; leaving stops it."),
    N_("A list that people write to; whoever leaves gets none of what they write."),
    N_("Sent by a machine about something you use; its own settings often stop it better."),
    N_("Orders, receipts or ways into an account; who leaves may miss one that is needed."),
    N_("It looks like a person, who has nothing to unsubscribe from."),
)
# Where the points of a score are from.
POINTS = (
    N_("every sender starts here"),
    N_("List-Unsubscribe in the header"),
    N_("a link to unsubscribe in the body"),
    N_("the link is on the sender's own domain"),
)
# Why a subscription cannot be left, or kept, or a mailbox not be scanned.
REFUSALS = (
    N_("Subscription marked to keep (skip unsubscribe)"),
    N_("Already unsubscribed"),
    N_("No unsubscribe link available"),
    N_("Another attempt is under way; wait until it has ended"),
    N_("A newer mail has another way out; look at it, then try again"),
    N_("The account has no mail server to send by; add it with: gna inbox account change … --smtp smtp://host:port"),
    N_("No signature (DKIM) covers the fields that offer one-click"),
    N_("Only one mail of theirs was seen; an answer to spam tells the sender that your address is read"),
    N_("This mailbox is being scanned already"),
    N_("Choose something first"),
)
# What stays to be done after a success.
HINTS = (N_("The page asks for a confirmation, so open it yourself if mails keep coming"),)
# What is wrong with an address, or doubtful.
ADDRESSES = (
    N_("The address is a number instead of a name, which no honest sender uses"),
    N_("The address names no host"),
    N_("The address must be free of control characters"),
    N_("The address must name its host without %"),
    N_("The address holds a backslash, which programs read differently"),
    N_("The address holds a user name or password"),
    N_("The address is not encrypted (plain http); prefer HTTPS"),
    N_("The List-Unsubscribe field holds no address"),
    N_("The address names no recipient"),
    N_("The address names several recipients"),
    N_("The recipient is not an email address"),
    N_("The recipient holds a line break or another control character"),
    N_("The subject holds a line break or another control character"),
    N_("The body holds a control character"),
    N_("The host's name mixes letters of several scripts, which may pretend to be another name"),
)
# Those with something of their own in them.
FILLED = (
    (re.compile(r"(?P<count>\d+) emails?"), N_("mails: %(count)s")),
    (re.compile(r"(?P<words>.+) in subjects"), N_("%(words)s in subjects")),
    (re.compile(r"(?P<most>\d+) is the most"), N_("%(most)s is the most")),
    (
        re.compile(r"Your mail server found the signature \(DKIM\) of (?P<by>.+) wrong"),
        N_("Your mail server found the signature (DKIM) of %(by)s wrong"),
    ),
    (re.compile(r"Max attempts \((?P<most>\d+)\) reached"), N_("Max attempts (%(most)s) reached")),
    (re.compile(r"(?P<host>\S+) is no public name"), N_("%(host)s is no public name")),
    (re.compile(r"(?P<host>\S+) is a name of private networks"), N_("%(host)s is a name of private networks")),
    (re.compile(r"(?P<scheme>\S+): addresses are never opened"), N_("%(scheme)s: addresses are never opened")),
    (
        re.compile(r"(?P<host>\S+) shortens addresses and hides where they lead"),
        N_("%(host)s shortens addresses and hides where they lead"),
    ),
    (
        re.compile(r"The address leads to a download \((?P<what>.+)\)", re.DOTALL),
        N_("The address leads to a download (%(what)s)"),
    ),
    (
        re.compile(r"The address looks like a dangerous action \((?P<what>.+)\)", re.DOTALL),
        N_("The address looks like a dangerous action (%(what)s)"),
    ),
    (
        re.compile(r"The address has a suspicious parameter \((?P<what>.+)\)", re.DOTALL),
        N_("The address has a suspicious parameter (%(what)s)"),
    ),
    (
        re.compile(r"The address is longer than (?P<most>\d+) characters"),
        N_("The address is longer than %(most)s characters"),
    ),
    (
        re.compile(r"The address has an unusual port \((?P<port>\d+)\)"),
        N_("The address has an unusual port (%(port)s)"),
    ),
    (
        re.compile(r"The address leads to (?P<host>\S+), not to the sender's domain (?P<sender>\S+)"),
        N_("The address leads to %(host)s, not to the sender's domain %(sender)s"),
    ),
    (
        re.compile(r"The host's name has letters beyond ASCII \((?P<host>.+)\)", re.DOTALL),
        N_("The host's name has letters beyond ASCII (%(host)s)"),
    ),
)


def in_words(reason: str, lang: str) -> str:
    """The reason in the visitor's language; what nobody has translated stays English."""
    for pattern, text in FILLED:
        if found := pattern.fullmatch(reason):
            return translated(text, lang) % found.groupdict()
    return translated(reason, lang)


@pass_context
def _in_words(context: Context, reason: str | None) -> str:
    return in_words(reason or "", context["lang"])


templates.filters["inbox_words"] = _in_words
