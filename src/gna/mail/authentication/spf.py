"""SPF (RFC 7208): which servers may send mail of a domain. Pure: what was found in, advice out."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gna.lines import shortened
from gna.mail.authentication.findings import Finding, Record, finding
from gna.outside.dns import Answer

MOST_LOOKUPS = 10
MOST_VOID = 2
VERSION = re.compile(r"v=spf1(?: +|$)", re.IGNORECASE)
MECHANISM = re.compile(r"([+?~-]?)(all|include|a|mx|ptr|ip4|ip6|exists)(?:[:/].*)?", re.IGNORECASE)
COSTLY = {"include", "a", "mx", "ptr", "exists", "redirect"}
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
class Evaluation:
    """What a receiver finds out that evaluates a record for a client that no term allows."""

    # As RFC 7208 names it: pass, fail, softfail, neutral, permerror or temperror.
    result: str
    # The term that decided.
    matched: str = ""
    # Why it is a permerror, and the domain whose record is wrong.
    problem: str = ""
    broken_at: str = ""
    # The name that DNS did not answer for, if it is a temperror.
    unanswered: str = ""
    lookups: int = 0
    # The names that were looked up and have nothing.
    void: tuple[str, ...] = ()
    # Whose SPF records were read.
    domains: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Term:
    """One word of a record, as far as advice needs it."""

    written: str
    sign: str
    name: str


def records(answer: Answer) -> list[str]:
    """The SPF records among the texts of a domain."""
    return [text for text in answer.texts if VERSION.match(text)]


def terms(record: str) -> list[Term]:
    """The words of a record that count: receivers evaluate none behind `all`."""
    found = [_term(word) for word in record.split(" ")[1:] if word]
    end = next((place for place, term in enumerate(found) if term.name == "all"), len(found))
    return found[: end + 1]


def judge(domain: str, answer: Answer, evaluation: Evaluation | None = None, *, host: str = "") -> list[Finding]:
    """What is to be said of a domain's SPF, if its mail is given to this host.

    There is an `evaluation` if the domain has exactly one record.
    """
    if not answer.is_sure:
        return [finding("spf_unasked", name=domain)]
    found = records(answer)
    if not found:
        return [_missing(domain, answer, host)]
    if len(found) > 1:
        joined = Record(domain, _joined(found))
        return [finding("spf_many", joined, name=domain, count=len(found))]
    assert evaluation is not None
    return list(_judge_one(domain, found[0], evaluation, host))


def _judge_one(domain: str, record: str, evaluation: Evaluation, host: str) -> Iterator[Finding]:
    words = terms(record)
    trouble = _trouble(domain, words, evaluation)
    if trouble and trouble.code == "spf_syntax":
        # A record to publish would hold the same mistake.
        yield trouble
        return
    service = _missing_service(evaluation, host)
    findings = [trouble] if trouble else list(_manners(domain, words, evaluation))
    is_well = not findings
    if any(term.name == "ptr" for term in words):
        findings.append(finding("spf_ptr"))
    if service:
        findings.append(finding("spf_not_included", host=host, term=f"include:{service}"))
    yield from _mended(findings, Record(domain, _better(words, service)))
    if is_well:
        yield finding("spf_ok", count=evaluation.lookups, end=evaluation.matched)
    allowed = [term.written for term in words if term.name in ALLOWING and term.sign in ("", "+")]
    if host and allowed:
        yield finding("spf_allows", allowed=shortened(", ".join(allowed), 300), host=host)


def _mended(findings: list[Finding], record: Record) -> Iterator[Finding]:
    """The findings; the last one that a better record mends has that record, which mends all."""
    last = next((found for found in reversed(findings) if found.code in MENDED), None)
    for found in findings:
        yield replace(found, publish=record) if found is last else found


# These go away with a better record that can be told.
MENDED = {"spf_ptr", "spf_open", "spf_neutral", "spf_not_included"}


def _trouble(domain: str, words: list[Term], evaluation: Evaluation) -> Finding | None:
    """Why receivers come to no result."""
    if evaluation.result == "temperror":
        return finding("spf_unfollowed", target=shortened(evaluation.unanswered, 100))
    if evaluation.result != "permerror":
        return None
    if evaluation.lookups > MOST_LOOKUPS:
        costly = dict.fromkeys(term.written for term in words if term.name in COSTLY)
        return finding("spf_lookups", terms=shortened(", ".join(costly), 200))
    if len(evaluation.void) > MOST_VOID:
        names = dict.fromkeys(evaluation.void)
        return finding("spf_void", names=shortened(", ".join(names), 200))
    problem = shortened(evaluation.problem, 200)
    if evaluation.broken_at == domain:
        return finding("spf_syntax", problem=problem)
    target = shortened(evaluation.broken_at, 100)
    return finding("spf_include_broken", target=target, problem=problem)


def _manners(domain: str, words: list[Term], evaluation: Evaluation) -> Iterator[Finding]:
    """How the record treats servers that it does not name."""
    if evaluation.result == "pass":
        yield finding("spf_open", term=shortened(evaluation.matched, 100))
    elif evaluation.result == "neutral":
        yield finding("spf_neutral")
    elif not any(term.name in ALLOWING for term in words):
        yield finding("spf_nobody", name=domain)


def _missing_service(evaluation: Evaluation, host: str) -> str | None:
    """The record of a service that we know and that is not included.

    Through what other servers send cannot be known.
    """
    service = _service(host)
    return service if service not in evaluation.domains else None


def _better(words: list[Term], service: str | None) -> str:
    """The record without what should not be in it, and with what is missing."""
    end = _end(words)
    kept = [term for term in words if term.name != "ptr" and term is not end]
    is_redirected = any(term.name == "redirect" for term in words)
    if service:
        kept.insert(0, _term(f"include:{service}"))
    if end and end.sign in ("-", "~"):
        kept.append(end)
    elif not is_redirected:
        kept.append(_term("~all"))
    return _record(kept)


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
    words = [term for record in found for term in terms(record) if term.name in ALLOWING]
    kept = [term for term in words if term.name != "redirect"]
    return _record([*kept, _term("~all")])


def _record(words: Iterable[Term]) -> str:
    return " ".join(["v=spf1", *dict.fromkeys(term.written for term in words)])


def _term(word: str) -> Term:
    if found := MECHANISM.fullmatch(word):
        return Term(word, found[1], found[2].lower())
    return Term(word, "", word.partition("=")[0].lower())
