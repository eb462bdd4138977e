"""The shapes that several addresses share, for the API reference."""

from typing import Any

from pydantic import BaseModel, Field

from gna.web.body import FORMS


class Status(BaseModel):
    """What happened."""

    status: str = Field(examples=["confirmation_sent"])


class Error(BaseModel):
    """What went wrong, and what to do."""

    error: str = Field(examples=["Email is not a valid address"])


MEANING = {
    400: "What was sent cannot be used; the reason says why",
    401: "The link has expired, was used, or is not one of ours",
    404: "There is no such thing",
    409: "Not possible in this state",
    413: "Too large",
    415: "Neither JSON nor a form",
    429: "Too often; `Retry-After` says when to come back",
    500: "A setting is missing",
    503: "The database is away; try again after `Retry-After` seconds",
}


Answers = dict[int | str, dict[str, Any]]


# Written out once: of a model, FastAPI would make another one for each status of each route, a megabyte in all.
REFUSAL = {"application/json": {"schema": Error.model_json_schema()}}


def errors(*statuses: int) -> Answers:
    """These refusals in the API reference."""
    return {status: {"description": MEANING[status], "content": REFUSAL} for status in statuses}


def body(model: type[BaseModel], *kinds: str) -> dict[str, Any]:
    """A body in the API reference; JSON or a form, unless told otherwise."""
    schema = model.model_json_schema()
    content = {kind: {"schema": schema} for kind in kinds or ("application/json", *FORMS)}
    return {"requestBody": {"required": True, "content": content}}
