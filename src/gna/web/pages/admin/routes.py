"""All pages of the admin: plain routes, thin, each a list in its own module."""

from starlette.routing import Route

from gna.web.pages.admin import (
    activity,
    bounces,
    campaigns,
    dead_letters,
    feeds,
    imports,
    inbox,
    mailbox,
    overview,
    settings,
    subscribers,
)

ROUTES: list[Route] = [
    *overview.routes,
    *activity.routes,
    *bounces.routes,
    *dead_letters.routes,
    *feeds.routes,
    *inbox.routes,
    *settings.routes,
    *mailbox.routes,
    *imports.routes,
    *campaigns.routes,
    *subscribers.routes,
]
