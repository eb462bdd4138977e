"""The bell that a website rings when it has published something, and that WebSub hubs ring too."""

import hmac
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse

from gna.db import timed
from gna.errors import Misconfigured, NotLetIn
from gna.feeds import directory, hubs
from gna.feeds.hubs import SignatureCheck
from gna.web.api.shapes import errors
from gna.web.body import parse_id
from gna.web.ground import Ground, ground
from gna.web.routing import Router

router = Router(tag="machines")


@router.post(hubs.PATH, summary="There is news in a feed", status=202, responses=errors(401, 404, 413, 500, 503))
async def feed_webhook(request: Request) -> JSONResponse:
    """Look at the feeds now: with `FEED_WEBHOOK_SECRET` as Bearer, or signed by a hub (WebSub)."""
    here = ground(request)
    secret = _secret(here)
    signature = request.headers.get("x-hub-signature", "")
    feed_id = parse_id(request.query_params.get("feed", ""))
    hub_secret = await here.look(hubs.secret_of, feed_id) if signature and feed_id else None
    by_hub = SignatureCheck.of(signature, hub_secret)
    by_owner = SignatureCheck.of(signature, secret)
    await _read(request, [check for check in (by_hub, by_owner) if check])
    if feed_id and by_hub and by_hub.holds():
        await here.run(timed(hubs.ring), feed_id)
    elif _knows(request.headers.get("authorization", ""), secret) or (by_owner and by_owner.holds()):
        await here.run(timed(directory.ask))
    else:
        raise NotLetIn("The secret is missing or wrong: send Authorization: Bearer <FEED_WEBHOOK_SECRET>")
    here.ring("feeds")
    return JSONResponse({"status": "accepted"}, 202)


async def _read(request: Request, checks: Sequence[SignatureCheck]) -> None:
    """Read the body and keep none of it: a stranger may send a megabyte on each of many connections."""
    async for piece in request.stream():
        for check in checks:
            check.update(piece)


@router.get(hubs.PATH, summary="A hub makes sure", responses=errors(404, 500, 503), response_class=PlainTextResponse)
async def feed_webhook_challenge(request: Request) -> PlainTextResponse:
    """Answers `hub.challenge` to the hub that Gna has asked (WebSub); to all others, 404 for every topic."""
    here = ground(request)
    _secret(here)
    promise = await here.look(hubs.confirm, dict(request.query_params))
    if promise.feed_id:
        await here.run(timed(hubs.believe), promise)
    return PlainTextResponse(promise.challenge)


def _secret(here: Ground) -> str:
    found = here.settings.feed_webhook_secret
    if found is None:
        raise Misconfigured("FEED_WEBHOOK_SECRET is not set, so nobody can tell Gna that a feed has news")
    return found.get_secret_value()


def _knows(authorization: str, secret: str) -> bool:
    scheme, _, given = authorization.strip(" \t").partition(" ")
    # A header is bytes, of which each is one letter here; a secret in another alphabet has several for each of its own.
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip(" \t").encode("latin-1"), secret.encode())
