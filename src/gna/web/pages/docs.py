"""The API reference, drawn from the OpenAPI document: no script, nothing loaded from elsewhere."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from gna.web import openapi
from gna.web.ground import ground
from gna.web.pages.render import page
from gna.web.routing import Router

router = Router(tag="reference")


@router.get("/docs", in_reference=False)
async def docs(request: Request) -> HTMLResponse:
    """Every route with its parameters, body, answers and a command to try it."""
    state = request.app.state
    if not hasattr(state, "docs"):
        # Anyone may ask for the largest public page, and drawing it takes 4 ms of CPU: it is drawn once.
        groups = _groups(openapi.document(request.app), ground(request).settings.base_url)
        state.docs = page(request, "docs.html", groups=groups)
    # A new response each time: the layers around it write into its headers.
    return HTMLResponse(state.docs.body, headers=dict(state.docs.headers))


def _groups(schema: dict[str, Any], base_url: str) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            route = _route(schema, base_url, path, method, operation)
            groups.setdefault(operation.get("tags", ["other"])[0], []).append(route)
    return groups


def _route(schema: dict[str, Any], base_url: str, path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    kinds = operation.get("requestBody", {}).get("content", {})
    fields = _fields(schema, next(iter(kinds.values()))["schema"]) if kinds else []
    return {
        "id": f"{method}{path}".replace("/", "-").strip("-"),
        "method": method.upper(),
        "path": path,
        "summary": operation.get("summary", ""),
        "description": operation.get("description", ""),
        "parameters": [{**one, "type": _type(one["schema"])} for one in operation.get("parameters", [])],
        "kinds": list(kinds),
        "fields": fields,
        "answers": operation["responses"],
        "curl": _curl(base_url + path + _query(operation), method, list(kinds), fields),
    }


def _fields(schema: dict[str, Any], body: dict[str, Any]) -> list[dict[str, Any]]:
    body = _resolved(schema, body)
    required = body.get("required", [])
    return [
        {
            "name": name,
            "type": _type(_resolved(schema, field)),
            "required": name in required,
            "description": field.get("description", ""),
            "example": field.get("examples", [None])[0],
        }
        for name, field in body.get("properties", {}).items()
    ]


def _resolved(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        part = schema["components"]["schemas"][part["$ref"].rpartition("/")[2]]
    return part


def _type(field: dict[str, Any]) -> str:
    options = field.get("anyOf", [field])
    return " or ".join(str(option.get("type", "object")) for option in options)


def _query(operation: dict[str, Any]) -> str:
    """The parameters that are of use in an example: a token, and those with a default."""
    examples = []
    for parameter in operation.get("parameters", []):
        name = parameter["name"]
        value = "TOKEN" if name == "token" else parameter["schema"].get("default")
        if parameter["in"] == "query" and value:
            examples.append(f"{name}={value}")
    return "?" + "&".join(examples) if examples else ""


def _curl(url: str, method: str, media_types: list[str], fields: list[dict[str, Any]]) -> str:
    verb = "" if method == "get" or (method == "post" and fields) else f"-X {method.upper()} "
    examples = {field["name"]: field["example"] for field in fields if field["example"] is not None}
    command = f"curl {verb}'{url}'"
    if not fields:
        return command
    if media_types == ["multipart/form-data"]:
        return f"{command} -F file=@people.csv"
    if "application/json" in media_types:
        body = json.dumps(examples, ensure_ascii=False)
        return f"{command} -H 'Content-Type: application/json' \\\n  -d '{body}'"
    return f"{command} \\\n  " + " ".join(f"-d '{name}={value}'" for name, value in examples.items())
