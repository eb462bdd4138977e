"""The routes of the API: plain Starlette, with what the API reference says about each.

A handler takes the request, all parts of its path, and the parameters of the query that it reads, by
their names. All of them are strings, which handlers parse and refuse in words of their own; a
parameter of the query has a default.
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
    required: bool = True


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
        if not inspect.iscoroutinefunction(self.handler):
            raise TypeError(f"{self.method} {self.path}: the handler is not async")
        if not self.handler.__doc__:
            raise TypeError(f"{self.method} {self.path}: the handler has no docstring for the API reference")
        in_path = re.findall(r"{(.*?)}", self.path)
        _, *parameters = inspect.signature(self.handler).parameters.values()
        if missing := set(in_path) - {parameter.name for parameter in parameters}:
            raise TypeError(f"{self.method} {self.path}: the handler does not take {', '.join(missing)}")
        return tuple(self._parameter(parameter, parameter.name in in_path) for parameter in parameters)

    def _parameter(self, parameter: inspect.Parameter, in_path: bool) -> Parameter:
        if in_path:
            return Parameter(parameter.name, in_path=True, default=None)
        if not isinstance(parameter.default, str | None):
            raise TypeError(f"{self.method} {self.path}: {parameter.name} needs a default that is a string or None")
        return Parameter(parameter.name, in_path=False, default=parameter.default)

    async def answer(self, request: Request) -> Response:
        """Let the handler answer."""
        arguments: dict[str, str | None] = {}
        for parameter in self.parameters:
            if parameter.in_path:
                arguments[parameter.name] = request.path_params[parameter.name]
            else:
                arguments[parameter.name] = request.query_params.get(parameter.name, parameter.default)
        return await self.handler(request, **arguments)


class PathRoute(Route):
    """All operations of one path, so that a 405 names each method in `Allow`."""

    def __init__(self, path: str, *, tag: str) -> None:
        # The heading of the API reference under which they stand.
        self.tag = tag
        self.operations: dict[str, Operation] = {}
        super().__init__(path, self._answer)

    def add(self, operation: Operation) -> None:
        """Answer one more method."""
        if operation.method in self.operations:
            raise TypeError(f"{operation.method} {self.path} has two handlers")
        self.operations[operation.method] = operation

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match by the path and the methods."""
        match, child = super().matches(scope)
        if match is Match.NONE:
            return match, child
        # A path that also fits a later route, such as `/campaigns/preview`, leaves it the methods that are not its own.
        return (Match.FULL if scope["method"] in self.operations else Match.PARTIAL), child

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or say which methods there are."""
        if scope["method"] not in self.operations:
            raise HTTPException(405, headers={"Allow": ", ".join(self._allowed())})
        await self.app(scope, receive, send)

    def _allowed(self) -> list[str]:
        # The edge answers a HEAD as a GET without its body.
        head = ["HEAD"] if "GET" in self.operations else []
        return sorted([*self.operations, *head])

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
        responses: Responses | None = None,
    ) -> None:
        self.routes: list[PathRoute] = []
        self._tag = tag
        self._prefix = prefix
        self._response_class = response_class
        # Of every operation.
        self._responses = responses or {}

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
        about["responses"] = {**self._responses, **about.get("responses", {})}
        route = self._route(self._prefix + path)

        def add(handler: Handler) -> Handler:
            operation = Operation(method, route.path, handler, **about)
            _ = operation.parameters  # A handler that does not fit its path stops the start.
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
