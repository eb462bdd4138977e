"""The kinds of value that a setting can have; each refusal finishes the sentence "NAME must be …"."""

import ipaddress
import re
from datetime import timedelta
from email.utils import parseaddr
from typing import Annotated
from urllib.parse import urlsplit

from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

NOT_A_SENDER = 'an address, or a name with an address: "The Quiet Web <news@example.org>"'
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


def _web_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", value):
        raise ValueError("an address that starts with http:// or https://")
    return value.rstrip("/")


def _database_address(value: SecretStr) -> SecretStr:
    url = value.get_secret_value()
    if re.match(r"postgres(ql)?(\+psycopg)?://.", url):
        return value
    if not re.match(r"sqlite:///.", url) or ":memory:" in url:
        raise ValueError("sqlite:///FILE or postgresql://user:password@host/database")
    return value


def _redis_address(value: SecretStr) -> SecretStr:
    if not re.match(r"(rediss?|valkeys?)://.|unix://.", value.get_secret_value()):
        raise ValueError("an address such as redis://host:6379/0")
    return value


def _sender(value: str) -> str:
    """A sender that every mail server can take: it is checked here, or each mail would fail later."""
    try:
        validate_email(
            parseaddr(value)[1], check_deliverability=False, globally_deliverable=False, allow_smtputf8=False
        )
    except EmailNotValidError:
        raise ValueError(NOT_A_SENDER) from None
    if re.search(r"[\x00-\x1f\x7f]", value):
        raise ValueError(NOT_A_SENDER)
    return value


def _networks(value: tuple[str, ...]) -> tuple[str, ...]:
    for network in value:
        try:
            ipaddress.ip_network(network, strict=False)
        except ValueError:
            raise ValueError("a comma list of IP addresses or networks (10.0.0.0/8, ::1)") from None
    return value


def _origins(value: tuple[str, ...]) -> tuple[str, ...]:
    for origin in value:
        parts = urlsplit(origin)
        if origin != "*" and (parts.scheme not in ("http", "https") or not parts.netloc or parts.path):
            raise ValueError("* or a comma list of origins without a path (https://blog.example.org)")
    return value


Flag = Annotated[bool, BeforeValidator(lower)]
Duration = Annotated[timedelta, BeforeValidator(_duration)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10_000)]
Names = Annotated[tuple[str, ...], BeforeValidator(_comma_list)]
Networks = Annotated[Names, AfterValidator(_networks)]
Origins = Annotated[Names, AfterValidator(_origins)]
WebAddress = Annotated[str, AfterValidator(_web_address)]
Sender = Annotated[str, AfterValidator(_sender)]
DatabaseAddress = Annotated[SecretStr, AfterValidator(_database_address)]
RedisAddress = Annotated[SecretStr, AfterValidator(_redis_address)]
