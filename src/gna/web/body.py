"""Reading what was sent: JSON or a form, within limits."""

import json
import re
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from gna.errors import NotFound, Refused, UnsupportedType

# The largest id of those that are numbers.
LARGEST = 2**31 - 1
# The parser takes most of its time for new lists and objects, and holds the event loop meanwhile:
# so many take 20 ms, and no body that means something has more.
BRACKETS_MAX = 50_000
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def parse_id(text: str) -> str:
    """An id in an address; one that no database can look for is nobody's."""
    if "\0" in text:
        raise NotFound("There is no such thing")
    return text


def parse_number(text: str) -> int:
    """The same of an id that is a number."""
    if not re.fullmatch(r"[0-9]{1,10}", text) or int(text) > LARGEST:
        raise NotFound("There is no such thing")
    return int(text)


def content_type(request: Request) -> str:
    """The media type of the body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def fields(request: Request) -> Mapping[str, Any]:
    """The fields of a JSON object or of a form."""
    kind = content_type(request)
    if kind in FORMS:
        try:
            async with request.form(max_files=0, max_fields=50) as form:
                return {name: value for name, value in form.items() if isinstance(value, str)}
        except (UnicodeError, LookupError):  # a charset that does not exist, or does not fit
            raise Refused("The form cannot be read: its charset is wrong") from None
    if kind != "application/json" and not kind.endswith("+json"):
        raise UnsupportedType("Send JSON or a form: Content-Type is not one of those")
    return parse_object(await request.body())


def parse_object(body: bytes) -> Mapping[str, Any]:
    """A JSON object, or a clear refusal."""
    if body.count(b"[") + body.count(b"{") > BRACKETS_MAX:
        raise Refused("The body has too many lists and objects")
    try:
        value = json.loads(body)
    # Thousands of nested brackets exhaust the parser's stack.
    except (ValueError, RecursionError):
        raise Refused("The body is not valid JSON") from None
    if not isinstance(value, dict):
        raise Refused("The body must be a JSON object")
    return value
