"""The OpenAPI document, drawn from the routes."""

import inspect
import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse

from gna import __version__
from gna.web.api.shapes import SCHEMA_PATH, Error, errors
from gna.web.routing import Operation, Parameter, PathRoute, Router

DESCRIPTION = 'Sign-up with double opt-in, from any website. Every error is `{"error": "<reason>"}`.'

router = Router(tag="reference")


@router.get("/openapi.json", in_reference=False)
async def openapi(request: Request) -> JSONResponse:
    """The document for machines."""
    return JSONResponse(document(request.app))


def document(app: Starlette) -> dict[str, Any]:
    """The document of an application, drawn when it is first asked for."""
    if not hasattr(app.state, "openapi"):
        routes = [route for route in app.routes if isinstance(route, PathRoute)]
        app.state.openapi = _document(routes)
    document: dict[str, Any] = app.state.openapi
    return document


def _document(routes: Iterable[PathRoute]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    models: set[type[BaseModel]] = {Error}
    for route in routes:
        operations = [operation for operation in route.operations.values() if operation.in_reference]
        for operation in operations:
            paths.setdefault(route.path, {})[operation.method.lower()] = _operation_object(operation, route.tag)
            models |= _models(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Gna", "description": DESCRIPTION, "version": __version__},
        "paths": paths,
        "components": {"schemas": _schemas(models)},
    }


def _models(operation: Operation) -> set[type[BaseModel]]:
    models = set()
    if operation.model:
        models.add(operation.model)
    if operation.body:
        models.add(operation.body.model)
    return models


def _schemas(models: Iterable[type[BaseModel]]) -> dict[str, Any]:
    in_order = sorted(models, key=lambda model: model.__name__)
    _, schema = models_json_schema([(model, "validation") for model in in_order], ref_template=SCHEMA_PATH)
    schemas: dict[str, Any] = schema["$defs"]
    return schemas


def _operation_object(operation: Operation, tag: str) -> dict[str, Any]:
    method = operation.method.lower()
    operation_object: dict[str, Any] = {
        "tags": [tag],
        "summary": operation.summary,
        "description": inspect.getdoc(operation.handler),
        "operationId": re.sub(r"\W", "_", f"{operation.handler.__name__}{operation.path}_{method}"),
    }
    if operation.parameters:
        operation_object["parameters"] = [_parameter(parameter) for parameter in operation.parameters]
    if operation.body:
        schema = {"schema": _schema_path(operation.body.model)}
        content = dict.fromkeys(operation.body.media_types, schema)
        operation_object["requestBody"] = {"required": operation.body.required, "content": content}
    operation_object["responses"] = _responses(operation)
    return operation_object


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if not parameter.in_path and parameter.default is not None:
        schema["default"] = parameter.default
    return {
        "name": parameter.name,
        "in": "path" if parameter.in_path else "query",
        "required": parameter.in_path,
        "schema": schema,
    }


def _responses(operation: Operation) -> dict[str, Any]:
    success: dict[str, Any] = {"description": ""}
    media_type = operation.response_class.media_type
    if media_type and operation.status != 204:
        success["content"] = {media_type: {"schema": _schema_of_success(operation, media_type)}}
    responses = {str(operation.status): success}
    too_large = errors(413) if operation.body else {}
    for status, response in sorted({**too_large, **operation.responses}.items()):
        usual = responses.get(str(status), {})
        content = {**usual.get("content", {}), **response.get("content", {})}
        responses[str(status)] = {**usual, **response}
        if content:
            responses[str(status)]["content"] = content
    return responses


def _schema_of_success(operation: Operation, media_type: str) -> dict[str, str]:
    if operation.model:
        return _schema_path(operation.model)
    return {"type": "string"} if media_type.startswith("text/") else {}


def _schema_path(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": SCHEMA_PATH.format(model=model.__name__)}
