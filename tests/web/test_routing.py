"""How a request finds its handler, and what the handler gets."""

from collections.abc import Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.testclient import TestClient

from gna.web.routing import Router


@pytest.fixture
def client() -> TestClient:
    router = Router(tag="things", prefix="/things")

    @router.get("/{thing_id}")
    async def show(_: Request, thing_id: str, page: str = "1", q: str | None = None) -> Response:
        """Say what came."""
        return PlainTextResponse(f"{thing_id} page={page} q={q}")

    @router.delete("/{thing_id}", status=204)
    async def remove(_: Request, thing_id: str) -> Response:
        """Remove nothing."""
        return Response(status_code=204, headers={"X-Removed": thing_id})

    @router.get("/{thing_id}/route")
    async def route(request: Request, thing_id: str) -> Response:
        """Say which route this is."""
        return PlainTextResponse(request.scope["route"].path)

    app = Starlette(routes=router.routes)
    return TestClient(app)


def test_a_handler_gets_the_parts_of_its_path_decoded(client: TestClient) -> None:
    assert client.get("/things/a%20b").text == "a b page=1 q=None"


def test_a_handler_gets_what_the_query_says_and_else_the_default(client: TestClient) -> None:
    assert client.get("/things/a?page=2&q=").text == "a page=2 q="


def test_of_a_repeated_parameter_the_last_counts(client: TestClient) -> None:
    assert client.get("/things/a?page=2&page=3").text == "a page=3 q=None"


def test_the_query_cannot_replace_a_part_of_the_path(client: TestClient) -> None:
    assert client.get("/things/a?thing_id=b").text == "a page=1 q=None"


def test_the_methods_of_a_path_have_handlers_of_their_own(client: TestClient) -> None:
    answer = client.delete("/things/a")
    assert (answer.status_code, answer.headers["X-Removed"]) == (204, "a")


def test_a_wrong_method_is_told_all_of_the_path(client: TestClient) -> None:
    answer = client.post("/things/a")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "DELETE, GET, HEAD")


def test_a_path_leaves_other_methods_to_a_later_route_that_it_fits_too() -> None:
    router = Router(tag="things")

    @router.post("/things/preview")
    async def preview(_: Request) -> Response:
        """Say which handler this is."""
        return PlainTextResponse("preview")

    @router.get("/things/{thing_id}")
    async def show(_: Request, thing_id: str) -> Response:
        """Say which thing this is."""
        return PlainTextResponse(thing_id)

    client = TestClient(Starlette(routes=router.routes))
    assert client.post("/things/preview").text == "preview"
    assert client.get("/things/preview").text == "preview"  # by the route of one thing
    assert client.get("/things/a").text == "a"


async def takes_too_little(_: Request) -> Response:
    """Answer nothing."""
    return Response()


async def takes_what_may_be_missing(_: Request, thing_id: str, page: str) -> Response:
    """Answer nothing."""
    return Response()


async def takes_a_number(_: Request, thing_id: str, page: int = 1) -> Response:
    """Answer nothing."""
    return Response()


async def is_not_described(_: Request, thing_id: str) -> Response:
    return Response()


def blocks(_: Request, thing_id: str) -> Response:
    """Answer nothing, on the event loop."""
    return Response()


@pytest.mark.parametrize(
    ("handler", "reason"),
    [
        (takes_too_little, "does not take thing_id"),
        (takes_what_may_be_missing, "page needs a default"),
        (takes_a_number, "page needs a default"),
        (is_not_described, "has no docstring"),
        (blocks, "is not async"),
    ],
)
def test_a_handler_that_does_not_fit_its_path_stops_the_start(handler: Callable[..., Any], reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        Router(tag="things").get("/things/{thing_id}")(handler)


def test_a_part_of_a_path_with_a_converter_stops_the_start() -> None:
    with pytest.raises(TypeError, match="does not take thing_id:path"):
        Router(tag="things").get("/things/{thing_id:path}")(takes_what_may_be_missing)


def test_a_second_handler_for_the_same_method_and_path_stops_the_start() -> None:
    router = Router(tag="things")
    router.get("/things")(takes_too_little)
    with pytest.raises(TypeError, match="GET /things has two handlers"):
        router.get("/things")(takes_too_little)


def test_an_unknown_path_is_404(client: TestClient) -> None:
    assert client.get("/others").status_code == 404


def test_the_request_knows_its_route(client: TestClient) -> None:
    assert client.get("/things/a/route").text == "/things/{thing_id}/route"
