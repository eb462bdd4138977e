"""The API reference: what the document says of the routes, and that others can read it."""

import json
import re
from typing import Any

import pytest
import schemathesis
from starlette.testclient import TestClient


@pytest.fixture
def document(client: TestClient) -> dict[str, Any]:
    answer = client.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    described: dict[str, Any] = answer.json()
    return described


def test_a_foreign_validator_accepts_the_document(document: dict[str, Any]) -> None:
    schemathesis.openapi.from_dict(document).validate()


def test_every_reference_leads_to_a_shape_and_every_shape_is_used(document: dict[str, Any]) -> None:
    referenced = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert '"#/$defs/' not in json.dumps(document)
    assert referenced == set(document["components"]["schemas"])


def test_the_reference_names_parameters_with_their_defaults(document: dict[str, Any]) -> None:
    operation = document["paths"]["/admin/api/feeds"]["get"]
    assert operation["parameters"] == [
        {"name": "page", "in": "query", "required": False, "schema": {"type": "string", "default": "1"}},
        {"name": "per_page", "in": "query", "required": False, "schema": {"type": "string", "default": "20"}},
    ]
    [parameter] = document["paths"]["/admin/api/feeds/{feed_id}"]["delete"]["parameters"]
    assert parameter == {"name": "feed_id", "in": "path", "required": True, "schema": {"type": "string"}}


def test_the_reference_says_what_a_body_and_an_answer_are(document: dict[str, Any]) -> None:
    operation = document["paths"]["/api/subscribe"]["post"]
    shape = {"schema": {"$ref": "#/components/schemas/SubscribeBody"}}
    assert operation["requestBody"] == {
        "required": True,
        "content": {
            "application/json": shape,
            "application/x-www-form-urlencoded": shape,
            "multipart/form-data": shape,
        },
    }
    success = operation["responses"]["201"]["content"]["application/json"]["schema"]
    assert success == {"$ref": "#/components/schemas/Status"}
    removed = document["paths"]["/admin/api/feeds/{feed_id}"]["delete"]["responses"]["204"]
    assert "content" not in removed


def test_the_names_of_operations_are_unique(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(names) == len(set(names))


def test_the_page_shows_the_choices_of_a_field_as_text(client: TestClient) -> None:
    # `cadence` is one of a few words, whose shape stands elsewhere in the document.
    html = client.get("/docs").text
    [row] = re.findall(r"<tr>(?:(?!</tr>).)*<code>cadence</code>.*?</tr>", html, re.DOTALL)[:1]
    assert "string" in row


@pytest.mark.parametrize("shape", ["CampaignChangeBody", "FeedChangeBody", "SubscriberChangeBody"])
def test_a_change_has_no_defaults_which_a_generated_client_would_send(document: dict[str, Any], shape: str) -> None:
    schema = document["components"]["schemas"][shape]
    assert "required" not in schema
    assert not any("default" in field for field in schema["properties"].values())


def test_no_field_has_null_as_its_default(document: dict[str, Any]) -> None:
    assert '"default": null' not in json.dumps(document)
    feed = document["components"]["schemas"]["FeedBody"]
    assert feed["required"] == ["url"]
    assert feed["properties"]["at"]["default"] == "09:00"
