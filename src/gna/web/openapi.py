"""The OpenAPI document, told as it is."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

UNTRUE = ("HTTPValidationError", "ValidationError")


def document(app: FastAPI) -> dict[str, Any]:
    """FastAPI promises a 422 of its own shape for every parameter; we answer 400 in ours."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        for methods in schema["paths"].values():
            for operation in methods.values():
                operation["responses"].pop("422", None)
        for name in UNTRUE:
            schema.get("components", {}).get("schemas", {}).pop(name, None)
        app.openapi_schema = schema
    return app.openapi_schema
