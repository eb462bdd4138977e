"""The routes of the API: plain Starlette, with what the API reference says about each.

A handler takes the request, and by their names the parts of its path and the parameters of the
query that it reads. All of them are strings: handlers parse and refuse them in words of their own.
"""

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypedDict, TypeVar, Unpack

from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Response]])
Responses = dict[int, dict[str, Any]]


@dataclass(frozen=True)
class RequestBody:
    """The body of a request: its shape, and the media types in which it may be sent."""

    model: type[BaseModel]
    media_types: tuple[str, ...]


@dataclass(frozen=True)
class Parameter:
    """A part of the path, or a parameter of the query with its default."""

    name: str
    in_path: bool
    default: str | None


class About(TypedDict, total=False):
    """What the API reference says about an operation beside its docstring."""

    summary: str
    # Of a success.
    status: int
    model: type[BaseModel]
    response_class: type[Response]
    # Others, and what differs from the usual one of a success.
    responses: Responses
    body: RequestBody
    in_reference: bool


@dataclass(frozen=True)
class Operation:
    """One method of one path: its handler, and what the API reference says about it."""

    method: str
    path: str
    handler: Callable[..., Awaitable[Response]]
    response_class: type[Response]
    summary: str = ""
    status: int = 200
    model: type[BaseModel] | None = None
    responses: Responses = field(default_factory=dict)
    body: RequestBody | None = None
    in_reference: bool = True

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What the handler takes beside the request."""
        parts = re.findall(r"{(\w+)}", self.path)
        _, *others = inspect.signature(self.handler).parameters.values()
        return tuple(Parameter(one.name, one.name in parts, one.default) for one in others)

    async def answer(self, request: Request) -> Response:
        """Let the handler answer."""
        given: dict[str, str | None] = {}
        for parameter in self.parameters:
            if parameter.in_path:
                given[parameter.name] = request.path_params[parameter.name]
            else:
                given[parameter.name] = request.query_params.get(parameter.name, parameter.default)
        return await self.handler(request, **given)


class PathRoute(Route):
    """All operations of one path, so that a 405 names each method in `Allow`."""

    def __init__(self, path: str, *, tag: str) -> None:
        # The heading of the API reference under which they stand.
        self.tag = tag
        self.operations: dict[str, Operation] = {}
        super().__init__(path, self._answer, methods=[])

    def add(self, operation: Operation) -> None:
        """Answer one more method."""
        self.operations[operation.method] = operation
        assert self.methods is not None
        self.methods.add(operation.method)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The log and the metrics name the route that answered."""
        match, child = super().matches(scope)
        if match is not Match.NONE:
            child["route"] = self
        return match, child

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or say which methods there are."""
        if scope["method"] not in self.operations:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(self.operations))})
        await super().handle(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        return await self.operations[request.method].answer(request)


class Router:
    """The routes of one module."""

    def __init__(
        self,
        *,
        tag: str,
        prefix: str = "",
        response_class: type[Response] = JSONResponse,
    ) -> None:
        self.routes: list[PathRoute] = []
        self._tag = tag
        self._prefix = prefix
        self._response_class = response_class

    def get(self, path: str, **about: Unpack[About]) -> Callable[[Handler], Handler]:
        """Answer GET with the decorated handler."""
        return self._operation("GET", path, about)

    def post(self, path: str, **about: Unpack[About]) -> Callable[[Handler], Handler]:
        """Answer POST with the decorated handler."""
        return self._operation("POST", path, about)

    def patch(self, path: str, **about: Unpack[About]) -> Callable[[Handler], Handler]:
        """Answer PATCH with the decorated handler."""
        return self._operation("PATCH", path, about)

    def delete(self, path: str, **about: Unpack[About]) -> Callable[[Handler], Handler]:
        """Answer DELETE with the decorated handler."""
        return self._operation("DELETE", path, about)

    def _operation(self, method: str, path: str, about: About) -> Callable[[Handler], Handler]:
        about.setdefault("response_class", self._response_class)
        route = self._route(self._prefix + path)

        def add(handler: Handler) -> Handler:
            operation = Operation(method, route.path, handler, **about)
            route.add(operation)
            return handler

        return add

    def _route(self, path: str) -> PathRoute:
        for route in self.routes:
            if route.path == path:
                return route
        route = PathRoute(path, tag=self._tag)
        self.routes.append(route)
        return route
