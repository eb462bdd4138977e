"""The web application, wired from top to bottom in one place."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from gna import __version__
from gna.jobs.engine import Engine
from gna.web import errors, health, openapi
from gna.web.api import (
    activity,
    bounces,
    campaign_views,
    campaigns,
    dead_letters,
    feed_hook,
    feeds,
    messages,
    profile,
    subscribe,
    subscribers,
    unsubscribe,
)
from gna.web.auth import AdminGate
from gna.web.cors import Cors
from gna.web.edge import Edge
from gna.web.ground import Ground
from gna.web.pages import archive, docs, public
from gna.web.pages.admin.late import Late
from gna.web.pages.render import WEB

ABOUT = 'Sign-up with double opt-in, from any website. Every error is `{"error": "<reason>"}`.'
ROUTERS = (
    subscribe.router,
    unsubscribe.router,
    profile.router,
    public.router,
    archive.router,
    subscribers.router,
    campaign_views.router,
    campaigns.router,
    feeds.router,
    feed_hook.router,
    activity.router,
    bounces.router,
    dead_letters.router,
    messages.router,
    health.router,
    docs.router,
)


def create_app(ground: Ground, engine: Engine | None = None) -> FastAPI:
    """The application on its ground; with an engine, the steps run in the same process."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        if engine:
            await engine.start()
        yield
        if engine:
            await engine.stop()

    app = FastAPI(
        title="Gna",
        version=__version__,
        description=ABOUT,
        lifespan=life,
        # Our own page at /docs works offline; a redirect for a stray slash would trust the Host header.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.ground = ground
    app.openapi = lambda: openapi.document(app)  # type: ignore[method-assign]
    errors.install(app)
    for router in ROUTERS:
        # `include_router` would analyse every route once more, at the first request of each application.
        app.router.routes.extend(router.routes)
    app.router.routes.append(Late())
    app.mount("/static", StaticFiles(directory=WEB / "static"), name="static")
    app.add_middleware(AdminGate, settings=ground.settings)
    app.add_middleware(Cors, origins=ground.settings.cors_origins)
    app.add_middleware(Edge, https=ground.settings.base_url.startswith("https:"))
    return app
