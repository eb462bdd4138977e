"""What can be said of a domain's records, each with how bad it is and one sentence: what it means and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Level(StrEnum):
    """How bad it is; what could not be found out is not bad yet."""

    OK = "ok"
    UNKNOWN = "unknown"
    WARNING = "warning"
    PROBLEM = "problem"


OK, UNKNOWN, WARNING, PROBLEM = Level
PARTS = ("spf", "dkim", "dmarc", "rules")

SAYS: dict[str, tuple[Level, str]] = {
    "spf_unasked": (
        UNKNOWN,
        "DNS could not be asked for the SPF record of %(name)s. That does not mean that it is missing: try again.",
    ),
    "spf_missing": (
        PROBLEM,
        "%(name)s has no SPF record, so nobody can tell which servers may send its mail. Publish one.",
    ),
    "spf_malformed": (
        PROBLEM,
        "%(name)s has a record that looks like SPF and is none: “%(text)s”. It must begin with “v=spf1” and a space.",
    ),
    "spf_many": (
        PROBLEM,
        "%(name)s has %(count)s SPF records, and with more than one receivers heed none. Publish one instead of all.",
    ),
    "spf_syntax": (
        PROBLEM,
        "Receivers answer the SPF record with a permerror and heed none of it: %(problem)s. Mend or remove that.",
    ),
    "spf_nobody": (PROBLEM, "The SPF record allows no server at all to send mail of %(name)s. Name those that do."),
    "spf_lookups": (
        PROBLEM,
        (
            "The SPF record needs more than 10 look-ups, and receivers then give up and heed none of it. "
            "Remove what no longer sends your mail: %(terms)s."
        ),
    ),
    "spf_void": (
        PROBLEM,
        (
            "More than 2 look-ups of the SPF record find nothing, and receivers then give up and heed none of it. "
            "Remove what leads there: %(names)s."
        ),
    ),
    "spf_include_broken": (
        PROBLEM,
        (
            "The SPF record leads to that of %(target)s, which receivers answer with a permerror, "
            "so they heed none of yours: %(problem)s. Remove what leads there."
        ),
    ),
    "spf_unfollowed": (
        UNKNOWN,
        "The SPF record could not be followed: DNS did not tell what is at %(target)s. Try again.",
    ),
    "spf_ptr": (WARNING, "The SPF record uses “ptr”, which is slow and should not be used any more. Remove it."),
    "spf_open": (
        WARNING,
        "The SPF record allows everybody to send as you, by “%(term)s”. Remove that, and end it in “~all”.",
    ),
    "spf_neutral": (
        WARNING,
        "The SPF record does not say what becomes of mail from other servers. End it in “~all”.",
    ),
    "spf_not_included": (
        WARNING,
        "The mail leaves through %(host)s, and the SPF record does not name it. Add “%(term)s”.",
    ),
    "spf_ok": (
        OK,
        "There is one SPF record, and it is well: %(count)s of at most 10 look-ups, and “%(end)s” at its end.",
    ),
    "spf_allows": (
        OK,
        "It allows: %(allowed)s. Whatever sends the mail that you give to %(host)s must be among them.",
    ),
    "dkim_elsewhere": (
        UNKNOWN,
        (
            "Gna does not sign; the mail server or provider does, under a name of its own. "
            "Its selector (the tag “s=” of a DKIM-Signature header) can be checked here."
        ),
    ),
    "dkim_unasked": (
        UNKNOWN,
        "DNS could not be asked for the DKIM key at %(name)s. That does not mean that it is missing: try again.",
    ),
    "dkim_missing": (PROBLEM, "There is no DKIM key at %(name)s, so no signature made with it counts. Publish it."),
    "dkim_many": (PROBLEM, "There is more than one DKIM key at %(name)s, and receivers may take any. Leave one."),
    "dkim_malformed": (PROBLEM, "The DKIM record at %(name)s cannot be read (%(tag)s). Publish it anew, whole."),
    "dkim_revoked": (PROBLEM, "The DKIM key at %(name)s is revoked: it is empty. Publish the key that signs."),
    "dkim_other": (
        PROBLEM,
        "The DKIM key at %(name)s is not the one that Gna signs with, so every signature is wrong. Publish this one.",
    ),
    "dkim_not_for_mail": (PROBLEM, "The DKIM key at %(name)s is not for mail (%(tag)s). Remove that from the record."),
    "dkim_too_short": (PROBLEM, "The DKIM key has %(bits)s bits, and receivers heed none below 1024. Make a new one."),
    "dkim_short": (WARNING, "The DKIM key has %(bits)s bits; 2048 are advised. Make a new one when you can."),
    "dkim_testing": (WARNING, "The DKIM key says that it is only a test (t=y), so it may not count. Remove “t=y”."),
    "dkim_ok": (OK, "The DKIM key at %(name)s is well: %(kind)s."),
    "dkim_ours": (OK, "It is the one that Gna signs with."),
    "dmarc_unasked": (
        UNKNOWN,
        "DNS could not be asked for the DMARC record of %(name)s. That does not mean that it is missing: try again.",
    ),
    "dmarc_missing": (
        PROBLEM,
        "There is no DMARC record, and Gmail, Yahoo and Outlook want one of everybody who sends much. Publish one.",
    ),
    "dmarc_malformed": (
        PROBLEM,
        "The record at %(name)s is no DMARC record: it must begin with “v=DMARC1;” and have a policy (%(tag)s).",
    ),
    "dmarc_many": (PROBLEM, "There is more than one DMARC record at %(name)s, so receivers heed none. Leave one."),
    "dmarc_inherited": (OK, "%(name)s has no DMARC record of its own; that of %(parent)s holds for it too."),
    "dmarc_none": (
        OK,
        (
            "DMARC watches and refuses nothing (p=none). That is enough for the rules; "
            "when the reports show only mail of yours for some weeks, publish the next step."
        ),
    ),
    "dmarc_ok": (OK, "DMARC asks receivers to act on mail that is not yours (p=%(policy)s)."),
    "dmarc_no_reports": (
        WARNING,
        "Nobody gets the reports of receivers, which show who sends as you. Name an address (rua=).",
    ),
    "dmarc_rua": (
        WARNING,
        "The reports of receivers reach nobody at “%(uri)s”: an address in rua= has “mailto:” before it.",
    ),
    "dmarc_unaligned": (
        WARNING,
        (
            "Gna signs as %(signer)s, but the sender is at %(name)s: for DMARC that signature does not count. "
            "Set DKIM_DOMAIN to %(name)s, or leave it out."
        ),
    ),
    "rules_ok": (
        OK,
        "SPF, DKIM and DMARC are there: what Gmail, Yahoo, Outlook and iCloud ask of everybody who sends much mail.",
    ),
    "rules_unsure": (
        UNKNOWN,
        (
            "Gmail, Yahoo, Outlook and iCloud ask everybody who sends much mail for SPF, DKIM and DMARC. "
            "Not all of it could be found out."
        ),
    ),
    "rules_broken": (
        PROBLEM,
        (
            "Gmail, Yahoo, Outlook and iCloud ask everybody who sends much mail for SPF, DKIM and DMARC. "
            "Mail goes to spam, or back, until what is named above is mended."
        ),
    ),
}


@dataclass(frozen=True)
class Record:
    """A TXT record for DNS."""

    name: str
    text: str


@dataclass(frozen=True)
class Finding:
    """One thing that is so; `publish` is the record that mends it."""

    code: str
    about: Mapping[str, str] = field(default_factory=dict)
    publish: Record | None = None

    @property
    def part(self) -> str:
        """Which of the records it is about."""
        return self.code.partition("_")[0]

    @property
    def level(self) -> Level:
        """How bad it is."""
        return SAYS[self.code][0]

    @property
    def text(self) -> str:
        """The sentence with its gaps, as translators know it."""
        return SAYS[self.code][1]

    @property
    def says(self) -> str:
        """The sentence in English."""
        return self.text % self.about


def finding(code: str, publish: Record | None = None, **about: object) -> Finding:
    """A finding with what fills the gaps of its sentence."""
    return Finding(code, {name: str(value) for name, value in about.items()}, publish)


def rules(findings: list[Finding]) -> Finding:
    """Whether the domain is fit for the rules of the large receivers."""
    levels = {found.level for found in findings}
    if PROBLEM in levels:
        return finding("rules_broken")
    return finding("rules_unsure" if UNKNOWN in levels else "rules_ok")
