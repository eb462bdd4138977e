"""What is configured, and what is still to do. Pure: settings in, rows out, and never a secret."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from pydantic import SecretStr

from gna import config
from gna.config import DEFAULT_SENDER, Settings, extra
from gna.web.pages.admin.shell import N_

# Secrets that are addresses: where they lead may be shown, who logs in there may not.
ADDRESSES = {"DATABASE_URL", "REDIS_URL", "SMTP_URL"}
UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
GROUPS = {
    "Server": N_("Server"),
    "Mail": N_("Sending mail"),
    "Providers": N_("Providers"),
    "DKIM": N_("DKIM"),
    "Campaigns": N_("Campaigns"),
    "Jobs": N_("Jobs"),
    "Admin and secrets": N_("Admin and secrets"),
    "Feeds": N_("Feeds"),
    "Notifications": N_("Notifications"),
    "Inbox": N_("Inbox"),
}


@dataclass(frozen=True)
class Row:
    """One setting as it is now; a secret has no value to show."""

    name: str
    says: str
    is_set: bool
    is_secret: bool
    value: str


@dataclass(frozen=True)
class Task:
    """Something that a publication in earnest needs, and how to do it; None if only another page can tell."""

    title: str
    advice: str
    is_done: bool | None
    href: str = ""


def rows(settings: Settings) -> dict[str, list[Row]]:
    """Every setting that this version uses, by the name of its group."""
    usual, found = Settings(), dict[str, list[Row]]()
    for name, field in config.names().items():
        if not config.is_later(field):
            value = getattr(settings, name.lower())
            is_set = value != getattr(usual, name.lower())
            row = Row(name, field.description or "", is_set, config.is_secret(field), written(name, value))
            found.setdefault(GROUPS[extra(field)["group"]], []).append(row)
    return found


def written(name: str, value: object) -> str:
    """A value as an operator would write it; nothing of a secret but where it leads."""
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return _place(value.get_secret_value()) if name in ADDRESSES else ""
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _place(url: str) -> str:
    """An address without who logs in: user names are tokens with some services, and options may hold a password."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"


def _duration(value: timedelta) -> str:
    seconds = value.total_seconds()
    unit, length = next((unit for unit in UNITS if seconds % unit[1] == 0), ("s", 1))
    return f"{seconds / length:g}{unit}"


def tasks(settings: Settings) -> Iterator[Task]:
    """What is to be done before the first real campaign, in the order in which to do it."""
    is_secure = settings.base_url.startswith("https:")
    yield Task(
        N_("A public address with https"),
        N_("Set PLATFORM_BASE_URL to the address that readers reach; every link in every mail begins with it."),
        is_secure,
    )
    yield Task(
        N_("A sender of your own"),
        N_("Set EMAIL_FROM_ADDRESS to the name that readers see, and an address of your domain."),
        settings.email_from_address != DEFAULT_SENDER,
    )
    yield Task(
        N_("A mail server"),
        N_("Set EMAIL_PROVIDER=smtp and SMTP_URL; until then mails are written to a folder and go to nobody."),
        settings.email_provider != "mailbox",
    )
    yield Task(
        N_("SPF, DKIM and DMARC in DNS"),
        N_("Receivers want all three. The DNS check says which are missing and what to publish."),
        None,
        "/admin/settings/dns",
    )
    yield from _guards(settings)
    if is_secure:
        yield Task(
            N_("The proxy in front"),
            N_("Set TRUSTED_PROXIES to its address; else all visitors look like one, and share one limit of sign-ups."),
            bool(settings.trusted_proxies),
        )


def _guards(settings: Settings) -> Iterator[Task]:
    yield Task(
        N_("Sign-in for this dashboard"),
        N_(
            "Put it behind a proxy where people sign in, as docs/guides/access.md tells "
            "(Cloudflare Access, Pomerium, …), and leave DISABLE_AUTH out."
        ),
        not settings.sign_in_lacks and not settings.disable_auth,
    )
    yield Task(
        N_("A key of your own"),
        N_("Set SECRET_KEY to 32 random characters or more (openssl rand -hex 32). It keeps deleted people deleted."),
        settings.secret_key is not None,
    )
    yield Task(
        N_("Somebody who is told"),
        N_("Set ADMIN_EMAIL; whoever is there hears when a feed keeps failing, or a campaign waits for a person."),
        settings.admin_email is not None,
    )
