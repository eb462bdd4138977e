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
        "curl": _curl(base_url + path + _query(operation), method, fields),
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
    named = [parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "query"]
    return "?" + "&".join(f"{name}=…" for name in named) if named else ""


def _curl(url: str, method: str, fields: list[dict[str, Any]]) -> str:
    if not fields:
        return f"curl {'' if method == 'get' else f'-X {method.upper()} '}'{url}'"
    body = json.dumps({field["name"]: field["example"] for field in fields if field["example"] is not None})
    verb = "" if method == "post" else f"-X {method.upper()} "
    return f"curl {verb}{url} -H 'Content-Type: application/json' \\\n  -d '{body}'"
