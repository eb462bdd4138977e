"""The web application, wired from top to bottom in one place."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

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
    openapi.router,
)


def create_app(ground: Ground, engine: Engine | None = None) -> Starlette:
    """The application on its ground; with an engine, the steps run in the same process."""

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        if engine:
            await engine.start()
        yield
        if engine:
            await engine.stop()

    routes: list[BaseRoute] = [route for router in ROUTERS for route in router.routes]
    static = Mount("/static", StaticFiles(directory=WEB / "static"), name="static")
    app = Starlette(routes=[*routes, Late(), static], lifespan=life)
    # A redirect for a stray slash would trust the Host header.
    app.router.redirect_slashes = False
    app.state.ground = ground
    errors.install(app)
    app.add_middleware(AdminGate, settings=ground.settings)
    app.add_middleware(Cors, origins=ground.settings.cors_origins)
    app.add_middleware(Edge, https=ground.settings.base_url.startswith("https:"))
    return app
