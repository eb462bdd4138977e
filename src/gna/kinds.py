"""The kinds of value that a setting can have; each refusal finishes the sentence "NAME must be …"."""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from gna.outside.dns import endpoint
from gna.outside.place import parse

NOT_A_SENDER = (
    "an address, or a name with an address: The Quiet Web <news@example.org>; "
    'a name with @, <, > or quotes in it stands in quotes: "Meet @ Berlin" <news@example.org>'
)
QUOTED_NAME = re.compile(r'"((?:[^"\\]|\\.)*)"')
# Line breaks, other control characters and halves of a character: no header can carry them.
UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}
NOT_A_WEB_ADDRESS = "an address that starts with http:// or https://, without ?, # and @"
NOT_A_FEED = "an address that starts with http:// or https://, without a user name or password"
FEED_ADDRESS_MAX = 2000
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class NamedAddress:
    """An email address, and the name that readers see in front of it; the name may be empty."""

    name: str
    address: str

    @classmethod
    @lru_cache(maxsize=16)  # every page shows the sender's address; reading it takes 80 µs
    def parse(cls, text: str) -> "NamedAddress":
        """Read `address`, `name <address>` or `"name" <address>`; raises ValueError."""
        if any(unicodedata.category(character) in UNPRINTABLE for character in text):
            raise ValueError(NOT_A_SENDER)
        before, bracket, rest = text.strip(" ").rpartition("<")
        if not bracket:
            return cls("", _mail_address(rest))
        if not rest.endswith(">"):
            raise ValueError(NOT_A_SENDER)
        return cls(_name(before.strip(" ")), _mail_address(rest[:-1]))


def _name(written: str) -> str:
    """The name as readers see it; commas, dots and brackets mean themselves."""
    if quoted := QUOTED_NAME.fullmatch(written):
        name = re.sub(r"\\(.)", r"\1", quoted[1])
    elif re.search('["<>@]', written):
        # An @, < or > outside of quotes is the sign of a second address.
        raise ValueError(NOT_A_SENDER)
    else:
        name = written
    # No form of a header keeps runs of spaces with every reader:
    # Dovecot joins them in quotes, Python in encoded words.
    return re.sub(r"\s\s+", " ", name).strip()


def _mail_address(written: str) -> str:
    """An address that every mail server can take."""
    try:
        validate_email(written, check_deliverability=False, globally_deliverable=False, allow_smtputf8=False)
    except EmailNotValidError:
        raise ValueError(NOT_A_SENDER) from None
    return written


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
        raise ValueError(NOT_A_WEB_ADDRESS)
    try:
        parse(value)
    except ValueError:
        raise ValueError(NOT_A_WEB_ADDRESS) from None
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
    """A sender is checked at the start, or each mail would fail later."""
    NamedAddress.parse(value)
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
