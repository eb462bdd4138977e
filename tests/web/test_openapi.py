"""The API reference: what the document says of the routes, and that others can read it."""

import argparse
import html
import json
import re
import shlex
from typing import Any
from urllib.parse import urlsplit

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


def test_every_example_of_the_page_can_be_sent(client: TestClient, document: dict[str, Any]) -> None:
    curl = argparse.ArgumentParser()
    curl.add_argument("url")
    curl.add_argument("-X", dest="method")
    curl.add_argument("-H", dest="header", default="Accept: */*")
    curl.add_argument("-d", dest="data", action="append", default=[])
    curl.add_argument("-F", dest="file")
    examples = re.findall(r"<pre[^>]*>curl (.*?)</pre>", client.get("/docs").text, re.DOTALL)
    assert len(examples) > 60
    for example in examples:
        command = curl.parse_args(shlex.split(html.unescape(example).replace("\\\n", "")))
        method = command.method or ("POST" if command.data or command.file else "GET")
        name, _, value = command.header.partition(": ")
        body = "&".join(command.data).encode()
        files = {"file": ("people.csv", b"email\nana@example.org\n")} if command.file else None
        assert command.url.isascii()
        answer = client.request(method, command.url, headers={name: value}, content=body or None, files=files)
        responses = document["paths"][urlsplit(command.url).path][method.lower()]["responses"]
        assert str(answer.status_code) in responses, (example, answer.text)
        assert answer.status_code not in (413, 415), example


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
