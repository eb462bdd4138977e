"""The kinds of value that a setting can have; each refusal finishes the sentence "NAME must be …"."""

import ipaddress
import re
from datetime import timedelta
from email.utils import parseaddr
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from gna.outside.dns import endpoint
from gna.outside.place import parse

NOT_A_SENDER = 'an address, or a name with an address: "The Quiet Web <news@example.org>"'
NOT_A_FEED = "an address that starts with http:// or https://, without a user name or password"
FEED_ADDRESS_MAX = 2000
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _duration(value: object) -> object:
    """`90`, `90s`, `15m`, `1h` or `7d`."""
    if not isinstance(value, str):
        return value
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)\s*([smhd]?)", value.strip())
    if not found:
        raise ValueError("a number of seconds, or a number with s, m, h or d (90, 15m, 1h)")
    return timedelta(seconds=float(found[1]) * UNITS[found[2]])


def _comma_list(value: object) -> object:
    """`a, b` as two names."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def lower(value: object) -> object:
    """Settings with fixed words ignore case."""
    return value.strip().lower() if isinstance(value, str) else value


def upper(value: object) -> object:
    """The same, for words that are written in capitals."""
    return value.strip().upper() if isinstance(value, str) else value


def _split(value: str, *schemes: str) -> SplitResult | None:
    """The parts of an address of one of these schemes; None if it cannot be one, or hides a mistyped password."""
    try:
        parts = urlsplit(value)
        sound = parts.hostname and (parts.port or True) and "@" not in parts.netloc.partition("@")[2]
    except ValueError:
        return None
    return parts if sound and parts.scheme in schemes and not re.search(r"\s", value) else None


def _web_address(value: str) -> str:
    """Others are put behind it, and it is shown: so no question mark, no anchor, no password."""
    if not _split(value, "http", "https") or re.search(r"[?#@]", value):
        raise ValueError("an address that starts with http:// or https://, without ?, # and @")
    return value.rstrip("/")


def _team_name(value: str) -> str:
    """`myteam`, also if it was copied together with Cloudflare's domain."""
    found = re.fullmatch(
        r"(?:https://)?([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?:\.cloudflareaccess\.com/?)?", value.strip().lower()
    )
    if not found:
        raise ValueError("the team's name alone (myteam), or with its domain (myteam.cloudflareaccess.com)")
    return found[1]


def feed_address(value: str) -> str:
    """An address of a feed in its one spelling: scheme and host in lower case, the usual port and anchors left out."""
    text = value.strip().partition("#")[0]
    if len(text) > FEED_ADDRESS_MAX:
        raise ValueError(f"at most {FEED_ADDRESS_MAX} characters long")
    # Signs that cannot be seen (an order of writing, a space of another kind) are never meant.
    if not text.isprintable() or re.search(r"\s", text):
        raise ValueError(NOT_A_FEED)
    try:
        place = parse(text)
    except ValueError:
        raise ValueError(NOT_A_FEED) from None
    parts = urlsplit(text)
    rest = text[len(f"{parts.scheme}://{parts.netloc}") :]
    return f"{place.scheme}://{place.authority}{rest}"


def _smtp_address(value: SecretStr) -> SecretStr:
    parts = _split(value.get_secret_value(), "smtp", "smtps")
    if not parts or parts.path.strip("/") or parts.fragment or "@" in parts.query:
        raise ValueError(
            "an address such as smtp://user:password@host:587?tls=starttls; in a password, @ is %40, / is %2F, # is %23"
        )
    return value


def _long(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < 32:
        raise ValueError("at least 32 characters long")
    return value


def _key_in_pem(value: SecretStr) -> SecretStr:
    if "PRIVATE KEY-----" not in value.get_secret_value():
        raise ValueError("a private key in PEM (-----BEGIN PRIVATE KEY-----)")
    return value


def _some_time(value: timedelta) -> timedelta:
    if value <= timedelta():
        raise ValueError("longer than nothing")
    return value


def _database_address(value: SecretStr) -> SecretStr:
    url = value.get_secret_value()
    if re.match(r"postgres(ql)?(\+psycopg)?://.", url):
        return value
    if not re.match(r"sqlite:///.", url) or ":memory:" in url:
        raise ValueError("sqlite:///FILE or postgresql://user:password@host/database")
    return value


def _redis_address(value: SecretStr) -> SecretStr:
    url = value.get_secret_value()
    if not _split(url, "redis", "rediss") and not url.startswith("unix:///"):
        raise ValueError("an address such as redis://host:6379/0")
    return value


def _sender(value: str) -> str:
    """A sender that every mail server can take: it is checked here, or each mail would fail later."""
    address = parseaddr(value)[1]
    try:
        validate_email(address, check_deliverability=False, globally_deliverable=False, allow_smtputf8=False)
    except EmailNotValidError:
        raise ValueError(NOT_A_SENDER) from None
    # The parser is lenient: it must not have found another address than the one that was meant.
    if re.search(r"[\x00-\x1f\x7f]", value) or not re.fullmatch(
        rf"{re.escape(address)}|[^@]*<{re.escape(address)}>", value
    ):
        raise ValueError(NOT_A_SENDER)
    return value


def _networks(value: tuple[str, ...]) -> tuple[str, ...]:
    for network in value:
        try:
            ipaddress.ip_network(network, strict=False)
        except ValueError:
            raise ValueError("a comma list of IP addresses or networks (10.0.0.0/8, ::1)") from None
    return value


def _dns_servers(value: tuple[str, ...]) -> tuple[str, ...]:
    for server in value:
        try:
            endpoint(server)
        except ValueError:
            raise ValueError(
                "a comma list of IP addresses, each with or without a port (9.9.9.9, [::1]:5353)"
            ) from None
    return value


def _origins(value: tuple[str, ...]) -> tuple[str, ...]:
    for origin in value:
        parts = _split(origin, "http", "https")
        if origin != "*" and (not parts or parts.path or parts.query or parts.fragment):
            raise ValueError("* or a comma list of origins without a path (https://blog.example.org)")
    return value


Flag = Annotated[bool, BeforeValidator(lower)]
Duration = Annotated[timedelta, BeforeValidator(_duration)]
Period = Annotated[Duration, AfterValidator(_some_time)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10_000)]
Names = Annotated[tuple[str, ...], BeforeValidator(_comma_list)]
Networks = Annotated[Names, AfterValidator(_networks)]
DnsServers = Annotated[Names, AfterValidator(_dns_servers)]
Origins = Annotated[Names, AfterValidator(_origins)]
WebAddress = Annotated[str, AfterValidator(_web_address)]
FeedAddress = Annotated[str, AfterValidator(feed_address)]
SmtpAddress = Annotated[SecretStr, AfterValidator(_smtp_address)]
LongSecret = Annotated[SecretStr, AfterValidator(_long)]
PrivateKey = Annotated[SecretStr, AfterValidator(_key_in_pem)]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9._/+=-]+$")]
Text = Annotated[str, Field(pattern=r"^[!-~]+$")]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]
TeamName = Annotated[str, AfterValidator(_team_name)]
Sender = Annotated[str, AfterValidator(_sender)]
DatabaseAddress = Annotated[SecretStr, AfterValidator(_database_address)]
RedisAddress = Annotated[SecretStr, AfterValidator(_redis_address)]
