"""Writing a campaign from a file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gna import clock
from gna.activity import Verb
from gna.campaigns import overview, writing
from gna.campaigns.frame import frame_of
from gna.campaigns.writing import BODY_MAX
from gna.cli import campaign_views as views
from gna.cli import screen, start
from gna.cli.campaign_views import Json
from gna.cli.noted import note
from gna.db import timed
from gna.errors import Refused
from gna.mail.render import compose

FORMATS = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}


def create(
    file: Annotated[str, typer.Argument(help="The body: .md or .html; - reads Markdown from the standard input.")],
    subject: Annotated[str, typer.Option(help="What the mail is about.")],
    preheader: Annotated[str, typer.Option(help="What inboxes show beside the subject.")] = "",
    list_key: Annotated[str | None, typer.Option("--list", help="Only for those on this list.")] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(help="Only for those with this attribute, NAME=VALUE; more than one must all hold."),
    ] = None,
    text: Annotated[Path | None, typer.Option(help="The plain-text part; derived from the body if left out.")] = None,
    no_archive: Annotated[bool, typer.Option("--no-archive", help="Keep it out of the public archive.")] = False,
    json: Json = False,
) -> None:
    """Write a draft from a file; says its id, and what there is to mend."""
    audience = {"list": list_key, "attributes": _attributes(attribute or [])}
    sent = {"subject": subject, "preheader": preheader, "audience": audience, "archived": not no_archive}
    sent |= {"body": _body(file), "body_format": _format(file), "body_text": _read(text, text) if text else None}
    with start.opened() as (settings, db):
        wish, frame = writing.Wish.parse_new(sent, now=clock.now()), frame_of(settings)
        # Refuse at once what could not be sent later.
        compose(writing.draft_of(wish.columns, frame), frame)
        with db.write() as tx:
            campaign = overview.get(tx, timed(writing.create)(tx, wish))
            note(tx, Verb.CAMPAIGN_CREATED, about=campaign["subject"], target=campaign["id"])
    found = views.checked(campaign, frame)
    if json:
        screen.print_json(campaign | {"checks": [views.as_json(finding) for finding in found]})
        return
    # The id alone on the standard output, so that a script can take it.
    print(campaign["id"])
    for finding in found:
        print(views.said(finding), file=sys.stderr)


def _attributes(written: list[str]) -> dict[str, str]:
    """NAME=VALUE, each name once: all conditions must hold, so two of one name never would."""
    pairs = [text.partition("=") for text in written]
    if not all(name and equals and value for name, equals, value in pairs):
        raise typer.BadParameter("write it as NAME=VALUE", param_hint="--attribute")
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise typer.BadParameter("a name can be given once", param_hint="--attribute")
    return {name: value for name, _, value in pairs}


def _format(file: str) -> str:
    if file == "-":
        return "markdown"
    try:
        return FORMATS[Path(file).suffix.lower()]
    except KeyError:
        raise Refused(f"{file} is neither Markdown (.md, .markdown) nor HTML (.html, .htm).") from None


def _body(file: str) -> str:
    return _read(0, "The standard input") if file == "-" else _read(file, file)


def _read(file: str | Path | int, name: object) -> str:
    """What is in a text file; of one that is much too long, only so much that it is known to be."""
    try:
        with open(file, encoding="utf-8-sig") as opened:  # noqa: PTH123 - the standard input has no path
            return opened.read(BODY_MAX + 1)
    except OSError as error:
        raise Refused(f"{name} cannot be read: {error.strerror}.") from None
    except UnicodeError:
        raise Refused(f"{name} is not UTF-8.") from None
