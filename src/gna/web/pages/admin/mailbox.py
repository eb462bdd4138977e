"""The mails that the `mailbox` provider wrote. For development, at the machine itself, only."""

import re
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from gna.errors import NotFound
from gna.web.ground import Ground, ground
from gna.web.pages.admin.shell import screen
from gna.web.pages.render import sandboxed

SHOWN = 50
NAME = re.compile(r"[0-9a-f-]{36}")
URL = re.compile(r"https?://[^\s<>\"]*[^\s<>\".,;:!?)\]]")


@dataclass(frozen=True)
class Mail:
    """One mail as a person reads it."""

    id: str
    to: str
    subject: str
    date: datetime | None
    text: str
    html: str

    @property
    def linked_text(self) -> Markup:
        """The plain text with links that can be clicked."""
        parts, end = [], 0
        for found in URL.finditer(self.text):
            parts += [
                escape(self.text[end : found.start()]),
                Markup('<a href="{0}">{0}</a>').format(found[0]),
            ]
            end = found.end()
        return Markup("").join([*parts, escape(self.text[end:])])


def show_all(request: Request) -> Response:
    """The newest mails, the newest one open."""
    mails = _newest(_folder(request))
    return screen(request, "mailbox.html", mails=mails, chosen=mails[0] if mails else None)


def show(request: Request) -> Response:
    """One mail among the newest."""
    folder = _folder(request)
    chosen = _read(_file(folder, request.path_params["mail_id"]))
    return screen(request, "mailbox.html", mails=_newest(folder), chosen=chosen)


def show_html(request: Request) -> Response:
    """The HTML part as the sender wrote it, locked into a sandbox."""
    mail = _read(_file(_folder(request), request.path_params["mail_id"]))
    return HTMLResponse(
        mail.html.replace("<head>", '<head><base target="_blank">', 1),
        headers=sandboxed("data:"),
    )


def _folder(request: Request) -> Path:
    # Imported late: the gate itself answers with pages of the admin.
    from gna.web.auth import is_local

    here: Ground = ground(request)
    if here.settings.email_provider != "mailbox" or not is_local(request):
        raise NotFound("Not found")
    return here.settings.mailbox_dir


def _newest(folder: Path) -> list[Mail]:
    """File names are UUIDv7s, so their order is the order of sending."""
    named = (file for file in folder.glob("*.eml") if NAME.fullmatch(file.stem) and file.is_file())
    return [_read(file) for file in sorted(named, reverse=True)[:SHOWN]]


def _file(folder: Path, mail_id: str) -> Path:
    file = folder / f"{mail_id}.eml"
    if not NAME.fullmatch(mail_id) or not file.is_file():
        raise NotFound("There is no such mail")
    return file


def _read(file: Path) -> Mail:
    mail = message_from_bytes(file.read_bytes(), _class=EmailMessage, policy=default)
    date = mail["Date"]
    return Mail(
        id=file.stem,
        to=str(mail["To"] or ""),
        subject=str(mail["Subject"] or ""),
        date=date.datetime if date else None,
        text=_part(mail, "plain"),
        html=_part(mail, "html"),
    )


def _part(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    return str(part.get_content()) if part else ""


routes = [
    Route("/admin/mailbox", show_all),
    Route("/admin/mailbox/{mail_id}", show),
    Route("/admin/mailbox/{mail_id}/html", show_html),
]
