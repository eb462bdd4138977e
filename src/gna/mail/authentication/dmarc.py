"""DMARC (RFC 7489): what becomes of mail that only pretends to be ours. Pure: the texts of DNS in, findings out."""

import re
from collections.abc import Iterator, Mapping

from gna.lines import shortened
from gna.mail.authentication import tags
from gna.mail.authentication.findings import Finding, Record, finding
from gna.outside.dns import Answer

POLICIES = ("none", "quarantine", "reject")
NEXT = {"none": "quarantine"}
# To whom reports are sent, and how long they may be; receivers know no other scheme.
REPORT_URI = re.compile(r"mailto:[^@\s,!:/]+@[^@\s,!:/]+(?:![0-9]+[kmgt]?)?", re.IGNORECASE)
MAILTO = re.compile(r"\A(?:mailto:)?/*", re.IGNORECASE)
LIKE_DMARC = re.compile(r"\s*v\s*=\s*dmarc", re.IGNORECASE)


def places(domain: str) -> list[str]:
    """The domains whose record could hold, nearest first: its own and every parent's but the last (a tree walk)."""
    labels = domain.split(".")
    return [".".join(labels[start:]) for start in range(max(1, len(labels) - 1))]


def judge(domain: str, answers: Mapping[str, Answer], *, signer: str | None = None) -> list[Finding]:
    """What is to be said of a domain's DMARC; `answers` are by domain, `signer` is the domain that DKIM signs for."""
    for place in places(domain):
        answer, name = answers[place], f"_dmarc.{place}"
        if not answer.is_sure:
            return [finding("dmarc_unasked", name=place)]
        found = [text for text in answer.texts if LIKE_DMARC.match(text)]
        if len(found) > 1:
            return [finding("dmarc_many", name=name)]
        if found:
            return list(_judge_one(domain, place, found[0], signer))
    return [finding("dmarc_missing", _first(domain))]


def _judge_one(domain: str, place: str, text: str, signer: str | None) -> Iterator[Finding]:
    said, name = tags.read(text) or {}, f"_dmarc.{place}"
    policy = said.get("p", "").lower()
    if not text.startswith("v=DMARC1") or said.get("v") != "DMARC1" or policy not in POLICIES:
        yield finding("dmarc_malformed", _first(place), name=name, tag=f"p={policy[:20]}" if "v" in said else "v=")
        return
    if place != domain:
        yield finding("dmarc_inherited", name=domain, parent=place)
        policy = said.get("sp", policy).lower()
    uris = [uri.strip() for uri in said.get("rua", "").split(",") if uri.strip()]
    unusable = [uri for uri in uris if not REPORT_URI.fullmatch(uri)]
    reported = said
    if not uris:
        reported = said | {"rua": _first_reports(place)}
        yield finding("dmarc_no_reports", Record(name, tags.write(reported)))
    elif unusable:
        reported = said | {"rua": _mended_reports(uris) or _first_reports(place)}
        yield finding("dmarc_rua", Record(name, tags.write(reported)), uri=shortened(unusable[0], 80))
    if signer and not _is_aligned(domain, signer, shared=place, strict=said.get("adkim", "r").lower() == "s"):
        yield finding("dmarc_unaligned", name=domain, signer=signer)
    if policy in NEXT:
        step = {"sp" if place != domain and "sp" in said else "p": NEXT[policy]}
        yield finding("dmarc_none", Record(name, tags.write(reported | step)))
    else:
        yield finding("dmarc_ok", policy=policy)


def _is_aligned(domain: str, signer: str, *, shared: str, strict: bool) -> bool:
    """Whether a signature of one domain counts for the other; both may be below the one that has the record."""
    if domain == signer or strict:
        return domain == signer
    return any(f".{one}".endswith(f".{other}") for one, other in ((domain, signer), (signer, domain), (signer, shared)))


def _first(domain: str) -> Record:
    return Record(f"_dmarc.{domain}", f"v=DMARC1; p=none; rua={_first_reports(domain)}")


def _first_reports(domain: str) -> str:
    return f"mailto:dmarc@{domain}"


def _mended_reports(uris: list[str]) -> str:
    """The list with `mailto:` before each address; what is no address is left out."""
    addresses = [MAILTO.sub("", uri) for uri in uris]
    mended = [f"mailto:{address}" for address in addresses]
    return ",".join(uri for uri in mended if REPORT_URI.fullmatch(uri))
