"""Asking DNS for everything that says whether a domain's mail is genuine, all of it side by side."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from gna.config import Settings, is_loopback
from gna.errors import Refused
from gna.kinds import NamedAddress
from gna.mail.address import on_the_wire
from gna.mail.authentication import dmarc, keys, spf
from gna.mail.authentication.findings import PARTS, Finding, Level, finding, rules
from gna.mail.dkim import DOMAIN, LONGEST_DOMAIN
from gna.outside.dns import Answer, Asking

WORST_FIRST = (Level.PROBLEM, Level.WARNING, Level.UNKNOWN, Level.OK)


@dataclass(frozen=True)
class Sending:
    """What the settings say of who sends."""

    domain: str
    # Where the mail is given to, if it leaves at all.
    host: str = ""
    # If Gna signs: the domain it signs for, the name of the key there, and the record that must be at it.
    signer: str | None = None
    selector: str | None = None
    record: str | None = None

    @classmethod
    def of(cls, settings: Settings) -> "Sending":
        """As the server sends."""
        domain = domain_of(settings)
        if settings.dkim_private_key is None:
            return cls(domain, _host(settings))
        from gna.mail.dkim import record

        signer = on_the_wire(f"@{settings.dkim_domain}")[1:].lower() if settings.dkim_domain else domain
        text = record(settings.dkim_private_key.get_secret_value())
        return cls(domain, _host(settings), signer, settings.dkim_selector, text)


@dataclass(frozen=True)
class Report:
    """What is in DNS, and what is to be said of it."""

    domain: str
    findings: tuple[Finding, ...]
    # By the names that were asked for.
    texts: Mapping[str, tuple[str, ...]]

    def of(self, part: str) -> list[Finding]:
        """The findings of one part, the worst first."""
        mine = [found for found in self.findings if found.part == part]
        return sorted(mine, key=lambda found: WORST_FIRST.index(found.level))

    @property
    def parts(self) -> dict[str, list[Finding]]:
        """All findings by part."""
        return {part: found for part in PARTS if (found := self.of(part))}


def domain_of(settings: Settings) -> str:
    """The domain that the mail says it comes from, as DNS has it."""
    return on_the_wire(NamedAddress.parse(settings.email_from_address).address).rpartition("@")[2].lower()


def parse_selector(typed: str) -> str | None:
    """The name of a DKIM key as somebody typed it; nothing at all means none."""
    selector = typed.strip().lower().removesuffix(".")
    if not selector:
        return None
    if len(selector) > LONGEST_DOMAIN or not DOMAIN.fullmatch(selector):
        raise Refused("A selector has letters, digits, hyphens and dots: s1, google, mail-2026")
    return selector


async def check(settings: Settings, *, selector: str | None = None) -> Report:
    """Ask DNS about the sender of these settings; never takes longer than five seconds."""
    return await examine(Sending.of(settings), Asking(settings.dns_servers), selector=selector)


async def examine(sending: Sending, asking: Asking, *, selector: str | None = None) -> Report:
    """Ask for every record, and judge them."""
    domain = sending.domain
    named = selector or sending.selector
    key_at = f"{named}._domainkey.{sending.signer or domain}" if named else None
    policies = [f"_dmarc.{place}" for place in dmarc.places(domain)]
    (answer, evaluation), policy, key = await asyncio.gather(
        _spf(domain, asking), _all(policies, asking), _all([key_at] if key_at else [], asking)
    )
    is_ours = selector in (None, sending.selector)
    findings = [
        *spf.judge(domain, answer, evaluation, host=sending.host),
        *(keys.judge(key_at, key[key_at], ours=sending.record if is_ours else None) if key_at else _elsewhere()),
        *dmarc.judge(
            domain, {name.removeprefix("_dmarc."): found for name, found in policy.items()}, signer=sending.signer
        ),
    ]
    seen = {domain: tuple(spf.records(answer))} | {name: one.texts for name, one in (policy | key).items()}
    return Report(domain, (*findings, rules(findings)), {name: texts for name, texts in seen.items() if texts})


async def _spf(domain: str, asking: Asking) -> tuple[Answer, spf.Evaluation | None]:
    """The domain's own texts, and what its SPF record evaluates to if it has exactly one."""
    # Imported late: it brings dnspython, which takes 0.2 seconds.
    from gna.mail.authentication.spf_evaluation import evaluate

    answer = await asking.texts(domain)
    if len(spf.records(answer)) != 1:
        return answer, None
    return answer, await evaluate(domain, asking)


async def _all(names: list[str], asking: Asking) -> dict[str, Answer]:
    answers = await asyncio.gather(*map(asking.texts, names))
    return dict(zip(names, answers, strict=True))


def _elsewhere() -> list[Finding]:
    return [finding("dkim_elsewhere")]


def _host(settings: Settings) -> str:
    """The mail server; one on this machine sends by itself, under the name of this server."""
    if settings.email_provider != "smtp":
        return ""
    host = urlsplit(settings.smtp_address).hostname or ""
    if is_loopback(host):
        host = urlsplit(settings.base_url).hostname or ""
    return "" if is_loopback(host) or re.fullmatch(r"[0-9.]+|.*:.*", host) else host
