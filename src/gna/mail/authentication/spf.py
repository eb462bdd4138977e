"""SPF (RFC 7208): which servers may send mail of a domain. Pure: the texts of DNS in, findings out."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from gna.lines import shortened
from gna.mail.authentication.findings import Finding, Record, finding
from gna.outside.dns import Answer

MOST_LOOKUPS = 10
# Records can lead to each other in ever more ways; so many steps are enough to tell that there are too many.
MOST_STEPS = 50
VERSION = re.compile(r"v=spf1(?: +|$)", re.IGNORECASE)
MECHANISM = re.compile(r"([+?~-]?)(all|include|a|mx|ptr|ip4|ip6|exists)([:/].*)?", re.IGNORECASE)
MODIFIER = re.compile(r"([a-z][a-z0-9_.-]*)=(.*)", re.IGNORECASE)
COSTLY = {"include", "a", "mx", "ptr", "exists", "redirect"}
LEADING = {"include", "redirect"}
ALLOWING = {*COSTLY, "ip4", "ip6"}
# What the services with a mail server of their own ask their customers to include.
SERVICES = {
    "amazonaws.com": "amazonses.com",
    "brevo.com": "spf.brevo.com",
    "fastmail.com": "spf.messagingengine.com",
    "gandi.net": "_mailcust.gandi.net",
    "gmail.com": "_spf.google.com",
    "google.com": "_spf.google.com",
    "infomaniak.com": "spf.infomaniak.ch",
    "mailbox.org": "mailbox.org",
    "mailgun.org": "mailgun.org",
    "mailjet.com": "spf.mailjet.com",
    "migadu.com": "spf.migadu.com",
    "office365.com": "spf.protection.outlook.com",
    "postmarkapp.com": "spf.mtasv.net",
    "protonmail.ch": "_spf.protonmail.ch",
    "sendgrid.net": "sendgrid.net",
}


@dataclass(frozen=True)
class Term:
    """One word of a record."""

    written: str
    sign: str
    name: str
    value: str

    @property
    def target(self) -> str | None:
        """The name whose record it leads to; None where that depends on the mail, or it leads nowhere."""
        known = self.name in LEADING and "%" not in self.value
        return self.value.lower().removesuffix(".") if known else None


@dataclass(frozen=True)
class Step:
    """A look-up that receivers do, and what is wrong with it."""

    term: Term
    trouble: str | None = None


def records(answer: Answer) -> list[str]:
    """The SPF records among the texts of a domain."""
    return [text for text in answer.texts if VERSION.match(text)]


def terms(record: str) -> list[Term]:
    """The words of a record that count: none behind `all` is looked at."""
    found = [_term(word) for word in record.split()[1:]]
    end = next((place for place, term in enumerate(found) if term.name == "all"), len(found))
    return found[: end + 1]


def unasked(domain: str, answers: Mapping[str, Answer]) -> set[str]:
    """The names that the records seen so far lead to and nobody has asked for; none if there are too many already."""
    steps = list(_steps(domain, answers))
    if len(steps) > MOST_LOOKUPS:
        return set()
    targets = {step.term.target for step in steps}
    return {target for target in targets if target and target not in answers}


def judge(domain: str, answers: Mapping[str, Answer], *, host: str = "") -> list[Finding]:
    """What is to be said of a domain's SPF, if its mail is given to this host."""
    answer = answers[domain]
    if not answer.is_sure:
        return [finding("spf_unasked", name=domain)]
    found = records(answer)
    if not found:
        return [_missing(domain, answer, host)]
    if len(found) > 1:
        return [finding("spf_many", Record(domain, _joined(found)), name=domain, count=len(found))]
    return list(_judge_one(domain, found[0], answers, host))


def _judge_one(domain: str, record: str, answers: Mapping[str, Answer], host: str) -> Iterator[Finding]:
    words, steps = terms(record), list(_steps(domain, answers))
    wrong = next((term for term in words if not term.name), None)
    if wrong:
        yield finding("spf_syntax", term=shortened(wrong.written, 60))
        return
    findings = [*_troubles(steps), *_manners(domain, words), *_covering(steps, host)]
    yield from _mended(findings, Record(domain, _better(words, _missing_service(steps, host))))
    if not any(found.code in BAD for found in findings):
        yield finding("spf_ok", count=len(steps), end=words[-1].written)
    allowed = [term.written for term in words if term.name in ALLOWING and term.sign in ("", "+")]
    if host and allowed:
        yield finding("spf_allows", allowed=shortened(", ".join(allowed), 300), host=host)


def _mended(findings: list[Finding], record: Record) -> Iterator[Finding]:
    """The findings, and with the last one that a better record mends, that record: it mends all of them."""
    last = next((found for found in reversed(findings) if found.code in MENDED), None)
    yield from (replace(found, publish=record) if found is last else found for found in findings)


# After these it would be wrong to say that the record is well.
BAD = {
    *("spf_lookups", "spf_include_missing", "spf_include_many", "spf_circle", "spf_include_unasked"),
    *("spf_nobody", "spf_open", "spf_neutral"),
}

# These go away with a better record that can be told.
MENDED = {"spf_ptr", "spf_open", "spf_neutral", "spf_not_included"}


def _troubles(steps: list[Step]) -> Iterator[Finding]:
    """What receivers cannot follow."""
    if len(steps) > MOST_LOOKUPS:
        count = len(steps) if len(steps) < MOST_STEPS else f"{MOST_STEPS}+"
        ours = dict.fromkeys(step.term.written for step in steps)
        yield finding("spf_lookups", count=count, terms=shortened(", ".join(ours), 200))
    for step in dict.fromkeys(steps):
        if step.trouble:
            yield finding(step.trouble, term=step.term.written, target=step.term.target)


def _manners(domain: str, words: list[Term]) -> Iterator[Finding]:
    """How the record treats others."""
    if any(term.name == "ptr" for term in words):
        yield finding("spf_ptr")
    end = _end(words)
    if end is None and any(term.name == "redirect" for term in words):
        return
    if end is None or end.sign == "?":
        yield finding("spf_neutral")
    elif end.sign in ("", "+"):
        yield finding("spf_open", end=end.written)
    elif len(words) == 1:
        yield finding("spf_nobody", name=domain)


def _covering(steps: list[Step], host: str) -> Iterator[Finding]:
    """Whether a service that we know is allowed; of other servers nobody can say through what they send."""
    if service := _missing_service(steps, host):
        yield finding("spf_not_included", host=host, term=f"include:{service}")


def _missing_service(steps: list[Step], host: str) -> str | None:
    service = _service(host)
    return service if service not in {step.term.target for step in steps} else None


def _better(words: list[Term], service: str | None) -> str:
    """The record without what should not be in it, and with what is missing."""
    end = _end(words)
    kept = [term for term in words if term.name != "ptr" and term is not end]
    is_closed = (end is not None and end.sign in ("-", "~")) or any(term.name == "redirect" for term in words)
    last = [end] if end and is_closed else [] if is_closed else [_term("~all")]
    return _record([*([_term(f"include:{service}")] if service else []), *kept, *last])


def _end(words: list[Term]) -> Term | None:
    return words[-1] if words and words[-1].name == "all" else None


def _missing(domain: str, answer: Answer, host: str) -> Finding:
    publish = Record(domain, _suggested(host))
    near = next((text for text in answer.texts if "spf1" in text.lower()), None)
    if near:
        return finding("spf_malformed", publish, name=domain, text=shortened(near, 80))
    return finding("spf_missing", publish, name=domain)


def _suggested(host: str) -> str:
    service = _service(host)
    allowed = f"include:{service}" if service else f"mx a:{host}" if host else "mx"
    return f"v=spf1 {allowed} ~all"


def _service(host: str) -> str | None:
    return next((allowed for name, allowed in SERVICES.items() if f".{host}".endswith(f".{name}")), None)


def _joined(found: Iterable[str]) -> str:
    """One record that allows what several do."""
    words = [term for record in found for term in terms(record) if term.name not in ("", "all", "redirect")]
    return _record([*words, _term("~all")])


def _record(words: Iterable[Term]) -> str:
    return " ".join(["v=spf1", *dict.fromkeys(term.written for term in words)])


def _steps(domain: str, answers: Mapping[str, Answer]) -> Iterator[Step]:
    """Every look-up that a receiver does, in its order, up to a limit."""
    return islice(_walk(domain, answers, ()), MOST_STEPS)


def _walk(name: str, answers: Mapping[str, Answer], path: tuple[str, ...]) -> Iterator[Step]:
    found = records(answers[name])
    if len(found) != 1:
        return
    words = terms(found[0])
    ends = any(term.name == "all" for term in words)
    for term in words:
        if term.name not in COSTLY or (term.name == "redirect" and ends):
            continue
        yield Step(term, trouble := _trouble(term.target, answers, (*path, name)))
        if term.target and not trouble:
            yield from _walk(term.target, answers, (*path, name))


def _trouble(target: str | None, answers: Mapping[str, Answer], path: tuple[str, ...]) -> str | None:
    """Why a record cannot be followed."""
    if target is None:
        return None
    if target in path:
        return "spf_circle"
    answer = answers.get(target)
    if answer is None or not answer.is_sure:
        return "spf_include_unasked"
    count = len(records(answer))
    return None if count == 1 else "spf_include_many" if count else "spf_include_missing"


def _term(word: str) -> Term:
    """A word of a record; one that nobody understands has no name."""
    if found := MECHANISM.fullmatch(word):
        sign, name, rest = found[1], found[2].lower(), found[3] or ""
        return Term(word, sign, name if _is_sound(name, rest) else "", rest.removeprefix(":"))
    if found := MODIFIER.fullmatch(word):
        # Those of other names are passed over by everybody.
        name = found[1].lower() if found[1].lower() in ("redirect", "exp") else "other"
        return Term(word, "", name if found[2] or name == "other" else "", found[2])
    return Term(word, "", "", "")


def _is_sound(name: str, rest: str) -> bool:
    """Whether a mechanism has behind it what it needs, and nothing else."""
    value = rest.removeprefix(":")
    if name == "all":
        return not rest
    if name in ("ip4", "ip6"):
        return rest.startswith(":") and _is_network(value, 4 if name == "ip4" else 6)
    if name in ("include", "exists"):
        return rest.startswith(":") and bool(value)
    return not rest or bool(value)


def _is_network(value: str, version: int) -> bool:
    try:
        return ipaddress.ip_network(value, strict=False).version == version
    except ValueError:
        return False
