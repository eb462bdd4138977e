"""DMARC (RFC 7489): what becomes of mail that only pretends to be ours. Pure: the texts of DNS in, findings out."""

import re
from collections.abc import Iterator, Mapping

from gna.mail.authentication import tags
from gna.mail.authentication.findings import Finding, Record, finding
from gna.outside.dns import Answer

POLICIES = ("none", "quarantine", "reject")
NEXT = {"none": "quarantine"}
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
    reported = said if "rua" in said else said | {"rua": f"mailto:{_reports(place)}"}
    if reported is not said:
        yield finding("dmarc_no_reports", Record(name, tags.write(reported)))
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
    return Record(f"_dmarc.{domain}", f"v=DMARC1; p=none; rua=mailto:{_reports(domain)}")


def _reports(domain: str) -> str:
    return f"dmarc@{domain}"
