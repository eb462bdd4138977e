"""The subscribers: find them, look at one, change, add and remove."""

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gna.errors import Refused
from gna.subscribers import directory, lists
from gna.subscribers.attributes import read, written
from gna.subscribers.directory import Change, Subscriber
from gna.subscribers.lists import Moves
from gna.subscribers.signup import SignUp
from gna.subscribers.wanted import Wanted
from gna.web.body import parse_id
from gna.web.desk import subscribers as desk
from gna.web.ground import ground, within
from gna.web.pages.admin.shell import N_, NN_, Fields, back, beyond, form, go, paging, screen

LIST = "/admin/subscribers"
ASKED = N_("A mail with a link is on its way. They are a subscriber once they click it.")
ASKED_AGAIN = N_("They had not confirmed yet; a new mail with a link is on its way.")
REMOVED = NN_("%(num)d person was removed.", "%(num)d people were removed.")
PUT_ON = NN_("%(num)d person is on the list %(list)s now.", "%(num)d people are on the list %(list)s now.")
TAKEN_OFF = NN_("%(num)d person was taken off the list %(list)s.", "%(num)d people were taken off the list %(list)s.")

# Why something was refused, in the words of other rooms.
REASONS = (
    N_("There is no such subscriber"),
    N_("They have confirmed already"),
    N_("Choose somebody first"),
    N_("Choose what to do"),
    N_("Write each attribute on a line of its own, as name = value"),
    N_("Two lines of the attributes have the same name"),
    N_("attributes must be an object of at most 100 fields"),
    N_("attributes hold something that cannot be stored"),
    N_("ocd_ids must be a list of texts of 1–200 characters"),
    N_("ocd_ids holds too many texts, or characters that cannot be stored"),
    N_("What to look for must be at most 200 characters of text"),
    N_("status must be Activated or Pending"),
)


async def list_people(request: Request) -> Response:
    """One page of those who are wanted."""
    asked, at, here = request.query_params, paging(request), ground(request)
    wanted = Wanted.parse(q=asked.get("q", ""), status=asked.get("status", ""), list_key=asked.get("list", ""))
    people, totals = await within(directory.find(here.db, wanted, page=at.page, per_page=at.per_page))
    total = totals.of(wanted.status)
    if elsewhere := beyond(request, at, total):
        return elsewhere
    known = await here.look(lists.known)
    return screen(
        request, "subscribers.html", people=people, totals=totals, total=total, wanted=wanted, paging=at, known=known
    )


async def add_form(request: Request) -> Response:
    """The form to add somebody, as a page of its own."""
    return screen(request, "subscriber_add.html", problem=None, typed={})


async def add_person(request: Request) -> Response:
    """Ask somebody to subscribe."""
    fields = await form(request)
    typed = {name: fields.get(name) for name in ("email", "nickname")}
    try:
        before = await desk.add(request, SignUp.parse(**typed))
    except Refused as refusal:
        return screen(request, "subscriber_add.html", status=400, problem=str(refusal), typed=typed)
    if before is None:
        return go(LIST, ASKED)
    if before.activated_at is None:
        return go(f"{LIST}/{before.id}", ASKED_AGAIN)
    return go(f"{LIST}/{before.id}", N_("They are a subscriber already; nothing was sent."))


async def change_some(request: Request) -> Response:
    """Remove those who were chosen, or change their lists."""
    fields = await form(request)
    people, wish = list(dict.fromkeys(map(parse_id, fields.all("id")))), fields.get("do")
    if wish == "remove":
        return go(back(request), REMOVED, num=await desk.remove_some(request, people))
    if wish == "put_on":
        key = fields.get("put_on")
        return go(back(request), PUT_ON, num=await desk.put_on_list(request, people, key), list=key)
    if wish == "take_off":
        key = fields.get("take_off")
        return go(back(request), TAKEN_OFF, num=await desk.take_off_list(request, people, key), list=key)
    raise Refused("Choose what to do")


async def show_person(request: Request) -> Response:
    """One person."""
    person = await _person(request)
    shown = _shown(person)
    return await _page(request, person, {**shown, "lists": _lines(shown["lists"]), "another": ""}, shown)


async def change_person(request: Request) -> Response:
    """Save what was edited; what was typed stays in the form if it cannot be."""
    fields, person = await form(request), await _person(request)
    shown = {name: fields.text(f"shown_{name}") for name in _shown(person)}
    try:
        await desk.change(request, person.id, _wish(fields, shown, person))
    except Refused as refusal:
        return await _page(request, person, _typed(fields), shown, status=400, problem=str(refusal))
    return go(f"{LIST}/{person.id}", N_("Saved."))


async def ask_again(request: Request) -> Response:
    """Send the confirmation mail again."""
    await desk.ask_again(request, _id(request))
    return go(f"{LIST}/{_id(request)}", N_("A new mail with a link is on its way."))


async def remove_person(request: Request) -> Response:
    """Delete a person."""
    await desk.remove(request, _id(request))
    return go(LIST, REMOVED, num=1)


async def hand_out(request: Request) -> Response:
    """Everything that is kept of a person, as a file."""
    known = await desk.hand_out(request, _id(request))
    return JSONResponse(known, headers={"Content-Disposition": 'attachment; filename="person.json"'})


def _id(request: Request) -> str:
    return parse_id(request.path_params["subscriber_id"])


async def _person(request: Request) -> Subscriber:
    return await ground(request).look(directory.get, _id(request))


async def _page(
    request: Request,
    person: Subscriber,
    typed: dict[str, Any],
    shown: dict[str, str],
    *,
    status: int = 200,
    problem: str | None = None,
) -> Response:
    known = await ground(request).look(lists.known)
    left = {one.list_key: one.unsubscribed_at for one in person.lists if one.unsubscribed_at}
    offered = sorted({*known, *(one.list_key for one in person.lists)})
    values: dict[str, Any] = {"person": person, "typed": typed, "shown": shown, "offered": offered, "left": left}
    return screen(request, "subscriber.html", status=status, problem=problem, **values)


def _shown(person: Subscriber) -> dict[str, str]:
    """The person as the form shows them at first, line by line."""
    lines = {
        "ocd_ids": person.ocd_ids,
        "lists": [one.list_key for one in person.lists if one.unsubscribed_at is None],
        "left": [one.list_key for one in person.lists if one.unsubscribed_at],
    }
    texts = {name: "\n".join(some) for name, some in lines.items()}
    return {"nickname": person.nickname or "", "attributes": written(person.attributes), **texts}


def _typed(fields: Fields) -> dict[str, Any]:
    texts = {name: fields.text(name) for name in ("nickname", "another", "ocd_ids", "attributes")}
    return {**texts, "lists": fields.all("lists")}


def _wish(fields: Fields, shown: dict[str, str], person: Subscriber) -> Change:
    """What somebody changed in the form; the reader may have changed the rest since it was shown."""
    sent: dict[str, Any] = {}
    if (nickname := fields.get("nickname")) != shown["nickname"].strip():
        sent["nickname"] = nickname or None
    if (places := fields.text("ocd_ids")) != shown["ocd_ids"]:
        sent["ocd_ids"] = _lines(places)
    if (attributes := fields.text("attributes")) != shown["attributes"]:
        sent["attributes"] = read(attributes, person.attributes)
    wanted = [*fields.all("lists"), *fields.get("another").replace(",", " ").split()]
    moves = Moves.parse(wanted, shown=_lines(shown["lists"]), left=_lines(shown["left"]))
    return replace(Change.parse(sent), moves=moves)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


routes = [
    Route(LIST, list_people),
    Route(LIST, add_person, methods=["POST"]),
    Route(f"{LIST}/new", add_form),
    Route(f"{LIST}/some", change_some, methods=["POST"]),
    Route(f"{LIST}/{{subscriber_id}}", show_person),
    Route(f"{LIST}/{{subscriber_id}}", change_person, methods=["POST"]),
    Route(f"{LIST}/{{subscriber_id}}/confirmation", ask_again, methods=["POST"]),
    Route(f"{LIST}/{{subscriber_id}}/remove", remove_person, methods=["POST"]),
    Route(f"{LIST}/{{subscriber_id}}/data.json", hand_out),
]
