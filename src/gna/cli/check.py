"""`gna check`: what is configured, what is missing, and whether the parts answer."""

import asyncio
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.markup import escape

from gna import config, migrations, worker
from gna.campaigns.frame import frame_of
from gna.cli import screen, start
from gna.config import Settings
from gna.db import Database, answers
from gna.errors import CannotStart, GnaError
from gna.feeds.fetch import Known
from gna.feeds.fetch import fetch as fetch_feed
from gna.feeds.reading.reader import read_apart
from gna.mail.authentication import check as check_authentication
from gna.mail.authentication import parse_selector
from gna.mail.compile import Sender
from gna.mail.dkim import record as dkim_record
from gna.provider_history import why_no_rehearsal
from gna.web.access.keys import fetch as fetch_keys

if TYPE_CHECKING:
    import redis


@dataclass(frozen=True)
class Finding:
    """One line of the report; what is not `ok` and not a `warning` stops mail from flowing."""

    part: str
    state: str
    says: str


SECRET_MIN = 20
STATES = {"ok": "ok", "unknown": "warning", "warning": "warning", "problem": "wrong"}
INDENT = 19
STYLES = {"ok": "green", "warning": "yellow", "wrong": "red"}


def check(
    dns: Annotated[bool, typer.Option("--dns", help="Ask DNS for SPF, DKIM and DMARC of the sender, too.")] = False,
    selector: Annotated[str, typer.Option(metavar="NAME", help="With --dns: the DKIM key to look at.")] = "",
) -> None:
    """Say what is configured, what is missing, and whether database, Redis and mail provider answer."""
    settings, db = start.begin()
    parts = (_redis, _sender, _provider, _template, _feed, _doors, _sign_in)
    findings = [*_settings(), *_database(settings, db), *(finding for part in parts for finding in part(settings))]
    db.close()
    if dns:
        findings += _dns(settings, selector)
    _show(findings)
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(1)


def _show(findings: Sequence[Finding]) -> None:
    """One finding after the other. No line is cut: records and headers are there to be copied."""
    console = Console(soft_wrap=True, highlight=False)
    for finding in findings:
        says = finding.says.replace("\n", "\n" + " " * INDENT)
        state = f"[{STYLES[finding.state]}]{finding.state:9}[/]"
        console.print(f"{finding.part:10}{state}{escape(says)}")


def _settings() -> Iterator[Finding]:
    origin, known = config.origin(), config.names()
    given = sorted(origin.given)
    yield Finding("settings", "ok", f"set: {', '.join(given)}" if given else "all at their defaults")
    if unused := [name for name in given if config.is_later(known[name])]:
        yield Finding("settings", "warning", f"not used by this version yet: {', '.join(unused)}")
    for name in origin.unknown:
        near = difflib.get_close_matches(name, known, n=1)
        yield Finding("settings", "warning", f"{name} in .env means nothing" + (f"; {near[0]}?" if near else ""))


def _database(settings: Settings, db: Database) -> Iterator[Finding]:
    no_rehearsal = None
    try:
        with db.read() as tx:
            name, have = answers(tx), migrations.version(tx)
            if have == migrations.HEAD and settings.email_provider == "mailbox":
                no_rehearsal = why_no_rehearsal(tx)
    except GnaError as error:
        yield Finding("database", "wrong", str(error))
        return
    try:
        db.check_writable()
    except CannotStart as error:
        yield Finding("database", "wrong", str(error))
        return
    yield Finding("database", "ok", f"{name} answers")
    if have == migrations.HEAD:
        yield Finding("schema", "ok", f"at {have}, up to date")
        if no_rehearsal:
            yield Finding("mail", "wrong", no_rehearsal)
    elif have is None:
        yield Finding("schema", "warning", "the database is empty; the next start, or gna migrate, makes the tables")
    elif newer := migrations.why_too_new(have):
        yield Finding("schema", "wrong", newer)
    else:
        yield Finding("schema", "warning", f"at {have}; the next start, or gna migrate, brings it to {migrations.HEAD}")


def _redis(settings: Settings) -> Iterator[Finding]:
    if settings.redis_url is None:
        yield Finding("redis", "ok", "not configured; one process needs none")
        return
    try:
        import redis
    except ImportError:
        yield Finding("redis", "wrong", "REDIS_URL is set but the client is missing: pip install 'gna[redis]'")
        return
    client = redis.Redis.from_url(settings.redis_url.get_secret_value(), socket_timeout=3, socket_connect_timeout=3)
    try:
        client.ping()
        yield Finding("redis", "ok", "answers")
        yield from _redis_policy(client)
    # A TypeError is redis-py's word for an option in the address that it does not know.
    except (redis.RedisError, OSError, ValueError, TypeError) as error:
        yield Finding("redis", "wrong", f"does not answer: {error}")
    finally:
        client.close()


def _redis_policy(client: "redis.Redis") -> Iterator[Finding]:
    """Whether Redis would throw jobs away when it is full; a hosted one may not tell."""
    from redis import ResponseError

    try:
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy")
    except ResponseError:
        policy = "not told"
    if policy != "noeviction":
        yield Finding("redis", "warning", f"maxmemory-policy is {policy}; it must be noeviction, or jobs can vanish")


def _sender(settings: Settings) -> Iterator[Finding]:
    """The header `From:` as it leaves: folded, and encoded where the name needs it."""
    header = Sender(settings.email_from_address, settings.base_url).from_header.decode()
    yield Finding("sender", "ok", "From: " + header.replace("\r\n", "\n"))
    if settings.email_provider != "mailbox" and settings.email_from_address == config.DEFAULT_SENDER:
        yield Finding("sender", "warning", "EMAIL_FROM_ADDRESS is not set, and nobody accepts mail from example.org")


def _provider(settings: Settings) -> Iterator[Finding]:
    try:
        says = asyncio.run(worker.provider_of(settings).check())
    except GnaError as error:
        yield Finding("mail", "wrong", str(error))
        return
    yield Finding("mail", "ok", f"{settings.email_provider}: {says}")
    yield from _signature(settings)
    if settings.email_provider == "mailbox":
        yield Finding("mail", "warning", "the mailbox provider sends nothing; it is for development")


def _signature(settings: Settings) -> Iterator[Finding]:
    """Whether mails are signed, and what must be in DNS for it."""
    if settings.dkim_private_key is None:
        state = "warning" if settings.dkim_selector else "ok"
        yield Finding("dkim", state, "DKIM_PRIVATE_KEY is not set; Gna does not sign, the mail server may")
        return
    try:
        domain = worker.sender_of(settings).domain
        text = dkim_record(settings.dkim_private_key.get_secret_value())
    except GnaError as error:
        yield Finding("dkim", "wrong", str(error))
        return
    name = f"{settings.dkim_selector}._domainkey.{settings.dkim_domain or domain}"
    yield Finding("dkim", "ok", f"signs; DNS needs a TXT record at {name}: {text}")


def _template(settings: Settings) -> Iterator[Finding]:
    if settings.campaign_template is None:
        return
    try:
        frame_of(settings)
    except GnaError as error:
        yield Finding("template", "wrong", str(error))
    else:
        yield Finding("template", "ok", f"campaigns are put into {settings.campaign_template}")


def _feed(settings: Settings) -> Iterator[Finding]:
    """Whether the feed of FEED_URL can be read now; nothing of it is remembered."""
    if settings.feed_url is None:
        return

    async def look() -> str:
        url, private = str(settings.feed_url), settings.feeds_allow_private
        found = await fetch_feed(
            url,
            Known(),
            own=True,
            any_private=private,
            contact=settings.base_url,
        )
        if found is None:
            return "has not changed"
        document = await read_apart(found.body, content_type=found.content_type, url=found.url)
        return f"“{screen.clean(document.title)}” can be read; posts in it: {len(document.entries)}"

    try:
        yield Finding("feed", "ok", asyncio.run(look()))
    except GnaError as error:
        yield Finding("feed", "warning", f"cannot be read now: {error}")
    secret = settings.feed_webhook_secret
    if secret and len(secret.get_secret_value()) < SECRET_MIN:
        yield Finding("feed", "warning", f"FEED_WEBHOOK_SECRET is short; use {SECRET_MIN} random characters or more")
    if settings.admin_email is None:
        yield Finding("feed", "warning", "ADMIN_EMAIL is not set; nobody is told when the feed keeps failing")


def _dns(settings: Settings, typed: str) -> Iterator[Finding]:
    """Whether receivers can tell that our mail is ours."""
    try:
        report = asyncio.run(check_authentication(settings, selector=parse_selector(typed)))
    except GnaError as error:
        yield Finding("dns", "wrong", str(error))
        return
    for found in (found for findings in report.parts.values() for found in findings):
        record = f" At {found.publish.name}, TXT: {found.publish.text}" if found.publish else ""
        yield Finding(found.part, STATES[found.level], screen.clean(found.says + record))


def _doors(settings: Settings) -> Iterator[Finding]:
    yield Finding("links", "ok", f"start with {settings.base_url}")
    if settings.platform_base_url is None:
        yield Finding("links", "warning", "PLATFORM_BASE_URL is not set; links work on this machine only")
    if settings.secret_key is None:
        yield Finding(
            "privacy", "warning", "SECRET_KEY is not set; the hashes of people who left have their key beside them"
        )


def _sign_in(settings: Settings) -> Iterator[Finding]:
    """Whether anybody can sign in, and whether the keys that prove it can be fetched now."""
    if settings.disable_auth:
        whom = "this machine" if settings.on_loopback else f"everybody who reaches {settings.gna_host}"
        yield Finding("admin", "warning", f"DISABLE_AUTH=true: /admin is open to {whom}")
        return
    if settings.sign_in_lacks:
        missing = " and ".join(settings.sign_in_lacks)
        yield Finding("admin", "warning", f"closed: no sign-in is configured; set {missing} (docs/guides/access.md)")
        return
    url = settings.access_certs_url
    try:
        keys = asyncio.run(fetch_keys(url, settings.cf_access_algorithm))
    except GnaError as error:
        yield Finding("admin", "warning", f"nobody can sign in now: {error}")
        return
    yield Finding("admin", "ok", f"sign-in by {settings.access_issuer}; its keys answer, there are {len(keys)}")
    parts = urlsplit(url)
    if parts.scheme == "http" and not config.is_loopback(parts.hostname or ""):
        yield Finding("admin", "warning", "CF_ACCESS_CERTS_URL is not https: whoever is on the way can let anybody in")
