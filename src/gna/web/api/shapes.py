"""The shapes that several routes share, for the API reference."""

from typing import Any

from pydantic import BaseModel, Field

from gna.web.body import FORMS
from gna.web.routing import RequestBody, Responses

# Where the OpenAPI document keeps the schema of a shape.
SCHEMA_PATH = "#/components/schemas/{model}"


def omit_null_defaults(schema: dict[str, Any]) -> None:
    """Tell a field that is left out from one that is null, which in a change takes something away."""
    for field in schema.get("properties", {}).values():
        if field.get("default", "") is None:
            del field["default"]


def make_optional(schema: dict[str, Any]) -> None:
    """Describe a change: what is left out stays, so no field is required or has a default."""
    schema.pop("required", None)
    for field in schema["properties"].values():
        field.pop("default", None)


class Shape(BaseModel, defer_build=True, json_schema_extra=omit_null_defaults):
    """JSON as the API reference describes it; handlers read and refuse bodies in words of their own."""


class TokenBody(Shape):
    """What the button behind a link sends."""

    token: str = Field(description="from the link in the mail", examples=["kJ…43 characters"])


class Status(Shape):
    """What happened."""

    status: str = Field(examples=["confirmation_sent"])


class Error(Shape):
    """What went wrong, and what to do."""

    error: str = Field(examples=["Email is not a valid address"])


MEANING = {
    400: "What was sent cannot be used; the reason says why",
    401: "Not signed in; or the link or secret is invalid, used or expired",
    403: "Sent by a page of another site, or from another machine while sign-in is off",
    404: "There is no such thing",
    409: "Not possible in this state",
    413: "Too large",
    415: "Neither JSON nor a form",
    429: "Too often; `Retry-After` says when to come back",
    500: "A setting is missing",
    503: "The database is away; try again after `Retry-After` seconds",
}
REFUSAL = {"application/json": {"schema": {"$ref": SCHEMA_PATH.format(model=Error.__name__)}}}


def errors(*statuses: int) -> Responses:
    """These refusals in the API reference."""
    return {status: {"description": MEANING[status], "content": REFUSAL} for status in statuses}


# What every route of the dashboard may answer.
ADMIN_ERRORS = errors(401, 403, 500, 503)


def content(status: int, *media_types: str) -> Responses:
    """The media types of an answer, beside the usual one of its route."""
    return {status: {"content": {media_type: {} for media_type in media_types}}}


def json_or_form(model: type[Shape]) -> RequestBody:
    """A body that visitors send as JSON or as a form."""
    return RequestBody(model, ("application/json", *FORMS))


def json_only(model: type[Shape], *, required: bool = True) -> RequestBody:
    """A body in JSON."""
    return RequestBody(model, ("application/json",), required)
