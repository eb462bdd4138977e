"""What an admin sees when something did not work: a page that says what to do, or the form again with the reason."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from gna.web.identity import IDENTITY
from gna.web.language import language_of, translated
from gna.web.pages.admin.shell import N_, back, go, screen
from gna.web.pages.render import wants_html

NOT_FOUND = (
    N_("There is nothing here"),
    N_("It was removed meanwhile, or the address is mistyped."),
)
AWAY = (N_("The database does not answer"), N_("Nothing is lost. Try again in a moment."))
TOLD = {404: NOT_FOUND, 405: NOT_FOUND, 503: AWAY}
NOT_NOW = N_("That is not possible")
FAILED = (N_("Something went wrong"), N_("It is not your fault; the server's log says more. Try again in a moment."))


def is_admin_page(request: Request) -> bool:
    """Whether somebody sees the answer in a browser, behind the gate."""
    path = request.url.path
    is_page = path.startswith("/admin") and not path.startswith("/admin/api/")
    return is_page and IDENTITY in request.scope and wants_html(request)


def trouble(request: Request, status: int, reason: str, headers: Mapping[str, str] | None = None) -> Response:
    """The page for an error; a form that was refused is shown again where it was, with the reason."""
    lang = language_of(request)
    said = f"{translated(reason, lang).rstrip('.')}."
    if request.method == "POST" and status < 500:
        return go(back(request), "%(reason)s", bad=True, reason=said)
    title, advice = TOLD.get(status, (NOT_NOW, said) if status < 500 else FAILED)
    told = {"title": translated(title, lang), "said": translated(advice, lang)}
    return screen(request, "trouble.html", status=status, headers=headers, **told)
