"""Feature 6, the subscriber's own profile: a test for each row of its tables."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from gna import clock, tokens
from gna.db import Database
from tests.factories import a_subscriber
from tests.seeds.reader import HTML, Reader, token_of

UPDATED = (200, {"status": "updated"})
NOT_LET_IN = (401, {"error": "Invalid or expired token"})


class TestMagicLinkAuthentication:
    """POST /api/profile/request-link."""

    def test_endpoint(self, reader: Reader) -> None:
        assert reader.client.get("/api/profile/request-link").status_code == 405
        assert reader.asks_for_link().status_code == 200

    def test_request_body(self, reader: Reader) -> None:
        assert reader.client.post("/api/profile/request-link", json={"email": "ana@example.org"}).status_code == 200
        assert reader.client.post("/api/profile/request-link", json={}).status_code == 400
        assert reader.client.post("/api/profile/request-link", data={"email": "ana@example.org"}).status_code == 200

    def test_behavior_mails_a_one_time_token_to_the_address(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters("ANA@example.org")
        assert [mail.to_email for mail in reader.mails("profile_url")] == ["ana@example.org"]
        assert reader.row().magic_link_token == tokens.digest(token)

    def test_token_lifetime_is_15_minutes(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        left = reader.row().magic_link_expires_at - clock.now()
        assert timedelta(minutes=14) < left <= timedelta(minutes=15)
        reader.expires("magic_link_expires_at")
        assert reader.client.get(f"/profile?token={token}").status_code == 400

    def test_token_usage_looking_does_not_consume_it_and_updating_does(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        for _ in range(3):
            assert reader.client.get(f"/profile?token={token}").status_code == 200
        assert reader.updates(token, nickname="Ana").status_code == 200
        assert reader.client.get(f"/profile?token={token}").status_code == 400

    def test_repeat_request_invalidates_the_earlier_token(self, reader: Reader) -> None:
        reader.is_activated()
        first, second = reader.enters(), reader.enters()
        assert reader.client.get(f"/profile?token={first}").status_code == 400
        assert reader.client.get(f"/profile?token={second}").status_code == 200
        assert len(reader.mails("profile_url")) == 1

    def test_email_not_found_or_not_activated_is_success_without_mail(self, reader: Reader) -> None:
        reader.subscribes("pending@example.org")
        for email in ("pending@example.org", "nobody@example.org"):
            answer = reader.asks_for_link(email)
            assert (answer.status_code, answer.json()) == (200, {"status": "link_sent"})
        assert reader.mails("profile_url") == []
        assert reader.row("pending@example.org").magic_link_token is None

    def test_success_response(self, reader: Reader) -> None:
        reader.is_activated()
        answer = reader.asks_for_link()
        assert (answer.status_code, answer.json()) == (200, {"status": "link_sent"})

    @pytest.mark.parametrize("email", ["", "ana", None, ["ana@example.org"]])
    def test_validation_failure(self, reader: Reader, email: object) -> None:
        answer = reader.client.post("/api/profile/request-link", json={"email": email})
        assert answer.status_code == 400
        assert set(answer.json()) == {"error"}

    @pytest.mark.parametrize("known", [True, False])
    def test_rate_limiting_is_3_an_hour_for_each_address(self, reader: Reader, known: bool) -> None:
        if known:
            reader.is_activated()
        answers = [
            reader.asks_for_link(email)
            for email in ("ana@example.org", "ANA@example.org", " ana@example.org ", "ana@example.org")
        ]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert 3500 < int(answers[-1].headers["Retry-After"]) <= 3600
        assert reader.asks_for_link("bo@example.org").status_code == 200

    def test_an_invalid_request_spends_no_limit(self, reader: Reader) -> None:
        for _ in range(5):
            assert reader.asks_for_link("ana@").status_code == 400
        assert reader.asks_for_link().status_code == 200


class TestProfilePage:
    """GET /profile?token=<magic-link-token>."""

    def test_endpoint_without_a_token_asks_for_the_address(self, reader: Reader) -> None:
        answer = reader.client.get("/profile")
        assert answer.status_code == 200
        assert 'action="/api/profile/request-link"' in answer.text

    def test_valid_token_shows_email_and_nickname_and_stays_valid(self, reader: Reader) -> None:
        reader.is_activated(nickname="Ana <3")
        token = reader.enters()
        for _ in range(2):
            answer = reader.client.get(f"/profile?token={token}")
            assert answer.status_code == 200
            assert 'value="ana@example.org"' in answer.text
            assert 'value="Ana &lt;3"' in answer.text

    @pytest.mark.parametrize("token", ["", "nonsense", "x" * 43])
    def test_invalid_or_expired_token_prompts_for_a_new_link(self, reader: Reader, token: str) -> None:
        answer = reader.client.get(f"/profile?token={token}")
        assert answer.status_code == 400
        assert 'href="/profile"' in answer.text


class TestUpdateProfile:
    """POST /api/profile/update."""

    def test_endpoint(self, reader: Reader) -> None:
        assert reader.client.get("/api/profile/update").status_code == 405

    @pytest.mark.parametrize("wish", [{}, {"nickname": None}, {"email": None, "nickname": None}])
    def test_request_body_fields_that_are_left_out_stay(self, reader: Reader, wish: dict[str, object]) -> None:
        reader.is_activated(nickname="Ana")
        answer = reader.updates(reader.enters(), **wish)
        assert (answer.status_code, answer.json()) == UPDATED
        row = reader.row()
        assert (row.nickname, row.email, row.pending_email) == ("Ana", "ana@example.org", None)

    def test_token_consumed_after_success(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        reader.updates(token, nickname="Anca")
        row = reader.row()
        assert (row.magic_link_token, row.magic_link_expires_at) == (None, None)

    @pytest.mark.parametrize("nickname", ["", " ", "x" * 51, " Ana", "Ana ", "A\0na", 7, ["Ana"], "\ud800"])
    def test_nickname_validation(self, reader: Reader, nickname: object) -> None:
        reader.is_activated(nickname="Ana")
        token = reader.enters()
        body = f'{{"token": "{token}", "nickname": "\\ud800"}}' if nickname == "\ud800" else None
        answer = (
            reader.client.post("/api/profile/update", content=body, headers={"Content-Type": "application/json"})
            if body
            else reader.updates(token, nickname=nickname)
        )
        assert answer.status_code == 400
        assert reader.row().nickname == "Ana"
        assert reader.updates(token, nickname="x" * 50).status_code == 200

    @pytest.mark.parametrize("email", ["ana@example.org", "ANA@example.org", None])
    def test_email_unchanged_triggers_no_confirmation(self, reader: Reader, email: str | None) -> None:
        reader.is_activated()
        assert reader.updates(reader.enters(), email=email).status_code == 200
        assert len(reader.mails("confirm_url")) == 1, "only that of the sign-up"
        assert reader.row().pending_email is None

    @pytest.mark.parametrize("activated", [True, False])
    def test_email_already_in_use(self, reader: Reader, activated: bool) -> None:
        reader.is_activated(nickname="Ana")
        with reader.db.write() as tx:
            a_subscriber(tx, email="Taken@example.org", activated=activated)
        token = reader.enters()
        answer = reader.updates(token, nickname="Anca", email="taken@example.org")
        assert (answer.status_code, answer.json()) == (409, {"error": "Email already registered"})
        row = reader.row()
        assert (row.nickname, row.pending_email) == ("Ana", None)
        assert reader.updates(token, nickname="Anca").status_code == 200, "the token was not consumed"

    def test_email_changed_mails_the_new_address_and_changes_the_nickname_at_once(self, reader: Reader) -> None:
        reader.is_activated(nickname="Ana")
        answer = reader.updates(reader.enters(), nickname="Anca", email="anca@example.org")
        assert (answer.status_code, answer.json()) == UPDATED
        row = reader.row()
        assert (row.nickname, row.email, row.pending_email) == ("Anca", "ana@example.org", "anca@example.org")
        assert reader.mails("confirm_url")[-1].to_email == "anca@example.org"

    def test_confirmation_token_lifetime_is_24_hours(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="anca@example.org")
        left = reader.row().confirmation_expires_at - clock.now()
        assert timedelta(hours=23, minutes=59) < left <= timedelta(hours=24)

    def test_repeat_submission(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        assert reader.updates(token, nickname="Anca").status_code == 200
        answer = reader.updates(token, nickname="Eve")
        assert (answer.status_code, answer.json()) == NOT_LET_IN
        assert reader.row().nickname == "Anca"

    def test_success_response(self, reader: Reader) -> None:
        reader.is_activated()
        answer = reader.updates(reader.enters(), nickname="Anca")
        assert (answer.status_code, answer.json()) == UPDATED

    @pytest.mark.parametrize("token", [None, "", "nonsense", "x" * 43, 7, ["x"]])
    def test_invalid_or_expired_token(self, reader: Reader, token: object) -> None:
        answer = reader.updates(token, nickname="Anca")
        assert (answer.status_code, answer.json()) == NOT_LET_IN

    def test_an_expired_token(self, reader: Reader) -> None:
        reader.is_activated(nickname="Ana")
        token = reader.enters()
        reader.expires("magic_link_expires_at")
        answer = reader.updates(token, nickname="Anca")
        assert (answer.status_code, answer.json()) == NOT_LET_IN
        assert reader.row().nickname == "Ana"

    def test_validation_failure_does_not_consume_the_token(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        for wish in ({"email": "ana@"}, {"email": ""}, {"nickname": "x" * 51}):
            answer = reader.updates(token, **wish)
            assert answer.status_code == 400
            assert set(answer.json()) == {"error"}
        assert reader.updates(token, nickname="Anca").status_code == 200

    def test_of_two_submissions_at_once_one_wins(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: reader.updates(token, nickname=f"A{n}").status_code, range(8)))
        assert sorted(answers) == [200] + [401] * 7


class TestConfirmEmail:
    """GET /confirm?token=<confirm-token>."""

    def test_endpoint(self, reader: Reader) -> None:
        assert reader.client.get("/confirm").status_code == 400

    def test_subscription_confirmation_token(self, reader: Reader) -> None:
        reader.subscribes()
        answer = reader.client.get(reader.link("confirm_url"))
        assert (answer.status_code, answer.headers["Location"]) == (303, "/confirmed")
        assert abs(reader.row().activated_at - clock.now()) < timedelta(minutes=1)

    def test_email_change_confirmation_token(self, reader: Reader) -> None:
        before = reader.is_activated()
        reader.updates(reader.enters(), email="anca@example.net")
        answer = reader.client.get(reader.link("confirm_url"))
        assert (answer.status_code, answer.headers["Location"]) == (303, "/profile?email_changed=true")
        row = reader.row("anca@example.net")
        assert (row.id, row.activated_at, row.pending_email) == (before.id, before.activated_at, None)
        assert reader.row("ana@example.org") is None
        assert reader.client.get("/profile?email_changed=true").status_code == 200

    def test_expired_token(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="anca@example.net")
        reader.expires("confirmation_expires_at")
        answer = reader.client.get(reader.link("confirm_url"))
        assert answer.status_code == 400
        assert 'href="/profile"' in answer.text
        assert reader.row().email == "ana@example.org"

    @pytest.mark.parametrize("activated", [True, False])
    def test_email_now_taken(self, reader: Reader, activated: bool) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="anca@example.net")
        with reader.db.write() as tx:
            a_subscriber(tx, email="ANCA@example.net", activated=activated)
        answer = reader.client.get(reader.link("confirm_url"))
        assert answer.status_code == 409
        assert answer.headers["Content-Type"].startswith("text/html")
        assert reader.row("ana@example.org").email == "ana@example.org"

    def test_of_two_people_who_want_one_address_the_first_to_confirm_wins(self, reader: Reader) -> None:
        links = []
        for email in ("ana@example.org", "bo@example.org"):
            reader.is_activated(email)
            assert reader.updates(reader.enters(email), email="new@example.org").status_code == 200
            links.append(reader.link("confirm_url"))
        with ThreadPoolExecutor(2) as pool:
            statuses = sorted(pool.map(lambda link: reader.client.get(link).status_code, links))
        assert statuses == [303, 409]

    def test_a_second_click_changes_nothing(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="anca@example.net")
        link = reader.link("confirm_url")
        reader.client.get(link)
        before = reader.row("anca@example.net")
        assert reader.client.get(link).status_code == 200
        assert reader.row("anca@example.net") == before

    def test_a_newer_change_replaces_the_older(self, reader: Reader) -> None:
        reader.is_activated()
        reader.updates(reader.enters(), email="one@example.net")
        old = reader.link("confirm_url")
        reader.updates(reader.enters(), email="two@example.net")
        assert reader.client.get(old).status_code == 400
        reader.client.get(reader.link("confirm_url"))
        assert reader.row("two@example.net") is not None


class TestErrorScenarios:
    """The error scenarios that touch the profile."""

    def test_magic_link_token_already_used(self, reader: Reader) -> None:
        reader.is_activated()
        token = reader.enters()
        reader.updates(token, nickname="Anca")
        answer = reader.client.get(f"/profile?token={token}")
        assert answer.status_code == 400
        assert 'href="/profile"' in answer.text

    def test_magic_link_request_rate_exceeded(self, reader: Reader) -> None:
        assert [reader.asks_for_link().status_code for _ in range(4)] == [200, 200, 200, 429]

    def test_nickname_exceeds_the_length_limit(self, reader: Reader) -> None:
        reader.is_activated()
        answer = reader.updates(reader.enters(), nickname="x" * 51)
        assert (answer.status_code, answer.json()) == (400, {"error": "Nickname must be 1–50 characters"})


class TestByForm:
    """The same with a browser and no script."""

    def test_asking_for_a_link_is_answered_with_a_page(self, reader: Reader) -> None:
        for email, status, words in (("ana@example.org", 200, "inbox"), ("ana@", 400, 'value="ana@"')):
            answer = reader.client.post("/api/profile/request-link", data={"email": email}, headers=HTML)
            assert answer.status_code == status
            assert words in answer.text

    def test_saving_leads_to_a_page_that_can_be_reloaded(self, reader: Reader) -> None:
        reader.is_activated(nickname="Ana")
        form = {"token": reader.enters(), "nickname": " Anca ", "email": "ana@example.org"}
        answer = reader.client.post("/api/profile/update", data=form, headers=HTML)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/profile?updated=true")
        assert reader.row().nickname == "Anca"

    def test_a_mistake_shows_the_form_again_with_what_was_typed(self, reader: Reader) -> None:
        reader.is_activated(nickname="Ana")
        form = {"token": reader.enters(), "nickname": "Anca", "email": "anca@"}
        answer = reader.client.post("/api/profile/update", data=form, headers=HTML)
        assert answer.status_code == 400
        assert 'value="anca@"' in answer.text
        assert 'value="Anca"' in answer.text
        assert form["token"] in answer.text

    def test_a_used_link_shows_the_way_to_a_new_one(self, reader: Reader) -> None:
        answer = reader.client.post("/api/profile/update", data={"token": "x" * 43}, headers=HTML)
        assert answer.status_code == 401
        assert 'href="/profile"' in answer.text


def test_the_limit_of_one_visitor_is_generous_and_there(client: TestClient, db: Database) -> None:
    answers = [
        client.post("/api/profile/request-link", json={"email": f"p{n}@example.org"}).status_code for n in range(61)
    ]
    assert answers == [200] * 60 + [429]


def test_the_link_in_the_mail_is_the_one_that_lets_in(reader: Reader) -> None:
    reader.is_activated()
    reader.asks_for_link()
    link = reader.link("profile_url")
    assert link.startswith("/profile?token=")
    assert tokens.is_shaped(token_of(link))


def test_staying_with_the_present_address_takes_a_change_back(reader: Reader) -> None:
    reader.is_activated()
    reader.updates(reader.enters(), email="mistyped@example.net")
    link = reader.link("confirm_url")
    reader.updates(reader.enters(), email="ana@example.org")
    assert reader.client.get(link).status_code == 400
    assert reader.row("mistyped@example.net") is None
    assert reader.row().pending_email is None
    assert "mistyped@example.net" not in [mail.to_email for mail in reader.mails("confirm_url")]


def test_one_link_does_not_ask_about_many_addresses(reader: Reader) -> None:
    reader.is_activated()
    with reader.db.write() as tx:
        a_subscriber(tx, email="taken@example.org", activated=True)
    token = reader.enters()
    statuses = [reader.updates(token, email="taken@example.org").status_code for _ in range(21)]
    assert statuses == [409] * 20 + [429]
    assert reader.updates(token, nickname="Anca").status_code == 200
