"""The specification of the reader's side, phase 4, and who kept sending; against real servers, by `--json` alone."""

import email
import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from email.policy import default
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gna import clock
from tests.seeds.owner import ONE_CLICK, SENDER, Fields, Owner, a_mail, ago, soon
from tests.servers import certificates, free_port
from tests.servers.certificates import Certificate
from tests.servers.smtp import ScriptedSmtp
from tests.servers.web import Page, Web

RESULT = {"id", "status", "outcome", "method", "url", "message"}
ATTEMPT = {"method_used", "status", "attempted_at", "response_code", "error_message"}
KEPT = "Subscription marked to keep (skip unsubscribe)"
ALREADY = "Already unsubscribed"
NO_LINK = "No unsubscribe link available"
TOO_OFTEN = "Max attempts (3) reached"


def offering(url: str, *more: tuple[str, str]) -> Fields:
    return (("List-Unsubscribe", f"<{url}>"), *more)


@pytest.fixture
def link(owner: Owner, shop: Web) -> str:
    """A subscription with a link that works."""
    url = shop.serves("/leave", "You have left.", kind="text/html") + "?u=1"
    owner.finds(a_mail(at=ago(hours=2), fields=offering(url)))
    return url


@pytest.fixture
def smtp(certificate: Certificate) -> Iterator[ScriptedSmtp]:
    """Who carries the owner's mail: STARTTLS, and a login."""
    with ScriptedSmtp(certificate.for_server()) as server:
        server.extensions.append("STARTTLS")
        yield server


class TestEligibility:
    def test_what_is_kept_is_skipped(self, owner: Owner, shop: Web, link: str) -> None:
        owner.gna("keep", str(owner.number_of()))
        result = owner.leaves(expect=1)
        assert (result["status"], result["message"]) == ("refused", KEPT)
        assert (shop.asked, owner.shows()["attempts"]) == ([], [])
        owner.gna("unkeep", str(owner.number_of()))
        assert owner.leaves()["status"] == "success"

    def test_what_was_left_is_skipped(self, owner: Owner, shop: Web, link: str) -> None:
        owner.leaves()
        result = owner.leaves(expect=1)
        assert (result["status"], result["message"]) == ("refused", ALREADY)
        assert (len(shop.asked), len(owner.shows()["attempts"])) == (1, 1)

    def test_without_a_link_there_is_no_way(self, owner: Owner) -> None:
        owner.finds(a_mail(at=ago(hours=1)))
        result = owner.leaves(expect=1)
        assert (result["status"], result["message"]) == ("refused", NO_LINK)
        assert (result["method"], result["url"]) == (None, None)

    def test_three_attempts_are_enough(self, owner: Owner, shop: Web, link: str) -> None:
        shop.serves("/leave", status=500)
        for _ in range(3):
            assert owner.leaves(expect=1)["status"] == "failed"
        result = owner.leaves(expect=1)
        assert (result["status"], result["message"]) == ("refused", TOO_OFTEN)
        assert (len(shop.asked), len(owner.shows()["attempts"])) == (3, 3)
        owner.sets(INBOX_MAX_ATTEMPTS="4")
        assert owner.leaves(expect=1)["status"] == "failed"

    def test_what_was_left_can_be_kept(self, owner: Owner, link: str) -> None:
        owner.leaves()
        assert owner.gna("keep", str(owner.number_of())).code == 0
        found = owner.shows()
        assert (found["keep_subscription"], found["unsubscribe_status"]) == (True, "unsubscribed")


class TestHttp:
    def test_get(self, owner: Owner, shop: Web, link: str) -> None:
        result = owner.leaves()
        assert result.keys() >= RESULT
        assert (result["status"], result["outcome"], result["method"]) == ("success", "page_opened", "http_get")
        [asked] = shop.asked
        assert (asked.method, asked.path) == ("GET", "/leave?u=1")
        assert "gna" in asked.headers["user-agent"].lower()
        assert asked.headers.keys().isdisjoint({"cookie", "authorization", "referer"})

    def test_post_sends_the_form(self, owner: Owner, shop: Web) -> None:
        url = shop.serves("/form", "ok")
        form = f'<form action="{url}" method="POST"><input type="hidden" name="u" value="a b&c">'
        owner.finds(a_mail(at=ago(hours=1), html=f"{form}<button>Unsubscribe</button></form>"))
        result = owner.leaves()
        assert (result["status"], result["outcome"], result["method"]) == ("success", "accepted", "http_post")
        [asked] = shop.asked
        assert asked.method == "POST"
        assert b"u=a+b%26c" in asked.body

    def test_one_click(self, owner: Owner, shop: Web) -> None:
        url = shop.serves("/one") + "?t=abc"
        owner.finds(a_mail(at=ago(hours=1), fields=offering(url, ONE_CLICK)))
        result = owner.leaves()
        assert (result["status"], result["outcome"], result["method"]) == ("success", "accepted", "one_click")
        [asked] = shop.asked
        assert (asked.method, asked.path, asked.body) == ("POST", "/one?t=abc", b"List-Unsubscribe=One-Click")
        assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
        assert asked.headers.keys().isdisjoint({"cookie", "authorization", "referer"})
        assert owner.shows()["attempts"][0]["method_used"] == "http_post"

    def test_an_address_that_is_a_number_is_spared_where_it_is_named(self, owner: Owner, web: Web) -> None:
        url = web.serves("/leave", "ok") + "?u=1"
        owner.finds(a_mail(at=ago(hours=1), fields=offering(url)))
        assert owner.leaves()["status"] == "success"

    def test_a_private_host_that_is_not_named_is_refused(self, owner: Owner, shop: Web, link: str) -> None:
        owner.sets(INBOX_ALLOW_PRIVATE_HOSTS="")
        assert owner.leaves(expect=1)["status"] in ("refused", "failed")
        assert shop.asked == []

    @pytest.mark.parametrize("status", [200, 201, 202, 204])
    def test_success_is_a_2xx(self, owner: Owner, shop: Web, link: str, status: int) -> None:
        shop.serves("/leave", status=status)
        assert owner.leaves()["status"] == "success"
        assert owner.shows()["attempts"][0]["response_code"] == status

    @pytest.mark.parametrize("status", [400, 403, 404, 410, 500, 503])
    def test_another_status_fails_and_is_recorded(self, owner: Owner, shop: Web, link: str, status: int) -> None:
        shop.serves("/leave", status=status)
        result = owner.leaves(expect=1)
        assert (result["status"], str(status) in result["message"]) == ("failed", True)
        found = owner.shows()
        [attempt] = found["attempts"]
        assert attempt.keys() >= ATTEMPT
        assert (attempt["status"], attempt["response_code"]) == ("failed", status)
        assert attempt["error_message"]
        assert (found["unsubscribe_status"], found["unsubscribed_at"]) == ("active", None)

    def test_get_follows_redirects(self, owner: Owner, shop: Web, link: str) -> None:
        shop.serves("/leave", status=302, location="/step")
        shop.serves("/step", status=303, location="/done")
        shop.serves("/done", "Bye")
        assert owner.leaves()["status"] == "success"
        assert [asked.path for asked in shop.asked] == ["/leave?u=1", "/step", "/done"]

    def test_get_does_not_go_round_in_circles(self, owner: Owner, shop: Web, link: str) -> None:
        shop.serves("/leave", status=302, location="/leave")
        assert owner.leaves(expect=1)["status"] == "failed"
        assert len(shop.asked) <= 6

    def test_a_redirect_into_a_private_network_is_not_followed(
        self, owner: Owner, shop: Web, web: Web, link: str
    ) -> None:
        owner.sets(INBOX_ALLOW_PRIVATE_HOSTS="localhost")
        shop.serves("/leave", status=302, location=web.at("/trap"))
        assert owner.leaves(expect=1)["status"] == "failed"
        assert web.asked == []

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    def test_one_click_follows_no_redirect(self, owner: Owner, shop: Web, status: int) -> None:
        url = shop.serves("/one", status=status, location="/elsewhere") + "?t=1"
        owner.finds(a_mail(at=ago(hours=1), fields=offering(url, ONE_CLICK)))
        result = owner.leaves(expect=1)
        assert (result["status"], result["outcome"]) == ("failed", "redirected")
        assert [asked.path for asked in shop.asked] == ["/one?t=1"]

    def test_a_server_that_is_away_fails(self, owner: Owner) -> None:
        owner.finds(a_mail(at=ago(hours=1), fields=offering(f"https://localhost:{free_port()}/leave?u=1")))
        assert owner.leaves(expect=1)["status"] == "failed"
        [attempt] = owner.shows()["attempts"]
        assert (attempt["status"], attempt["response_code"], bool(attempt["error_message"])) == ("failed", None, True)

    def test_a_silent_server_is_given_up(self, owner: Owner, shop: Web, link: str) -> None:
        def sleeps(_: BaseHTTPRequestHandler) -> Page:
            time.sleep(5)
            return Page()

        shop.answers("/leave", sleeps)
        owner.sets(INBOX_TIMEOUT="0.5")
        result = owner.leaves(expect=1)
        assert (result["status"], result["outcome"]) == ("failed", "unknown")
        [attempt] = owner.shows()["attempts"]
        assert attempt["error_message"]

    def test_a_certificate_that_nobody_trusts_fails(self, owner: Owner, tmp_path: Path) -> None:
        with Web("localhost", tls=certificates.make(tmp_path / "another").for_server()) as impostor:
            url = impostor.serves("/leave", "ok") + "?u=1"
            owner.finds(a_mail(at=ago(hours=1), fields=offering(url)))
            assert owner.leaves(expect=1)["status"] == "failed"
        assert impostor.asked == []

    def test_a_host_that_is_named_is_shown_as_safe(self, owner: Owner, link: str) -> None:
        [way] = owner.shows()["methods"]
        assert (way["url"], way["safe"], way["error"]) == (link, True, None)


class TestMail:
    URL = "mailto:leave@lists.example.net?subject=Off%20please&body=Id%2017"

    def knows(self, owner: Owner, smtp: ScriptedSmtp | None, url: str = URL) -> None:
        """The mailbox can send, and a list wants a mail."""
        owner.gna("account", "remove", owner.email, "--yes")
        carrier = ("--smtp", f"smtp://localhost:{smtp.port}?tls=starttls") if smtp else ()
        assert owner.adds(*carrier).code == 0
        owner.finds(a_mail(at=ago(hours=1), fields=offering(url)))

    def sent(self, smtp: ScriptedSmtp) -> Any:
        [received] = smtp.received
        return received, email.message_from_bytes(received.content, policy=default)

    def test_a_mail_is_sent(self, owner: Owner, smtp: ScriptedSmtp) -> None:
        smtp.wants_login(owner.email, owner.dovecot.password)
        self.knows(owner, smtp)
        result = owner.leaves()
        assert (result["status"], result["outcome"], result["method"]) == ("success", "sent", "email_reply")
        received, mail = self.sent(smtp)
        assert (received.sender, received.recipient) == (owner.email, "leave@lists.example.net")
        assert (owner.email in mail["From"], mail["To"], mail["Subject"]) == (
            True,
            "leave@lists.example.net",
            "Off please",
        )
        assert (mail.get_content_type(), mail.get_content().strip()) == ("text/plain", "Id 17")
        assert any(command.startswith("STARTTLS") for command in smtp.commands)
        assert owner.shows()["attempts"][0]["method_used"] == "email_reply"

    def test_subject_and_body_have_defaults(self, owner: Owner, smtp: ScriptedSmtp) -> None:
        smtp.wants_login(owner.email, owner.dovecot.password)
        self.knows(owner, smtp, "mailto:leave@lists.example.net")
        owner.leaves()
        _, mail = self.sent(smtp)
        assert mail["Subject"] == "Unsubscribe"
        assert mail.get_content().strip() == "Please unsubscribe me from this mailing list."

    def test_without_a_password_nothing_is_sent(
        self, owner: Owner, smtp: ScriptedSmtp, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.knows(owner, smtp)
        monkeypatch.delenv("INBOX_PASSWORD")
        result = owner.leaves(expect=1)
        assert (result["status"] in ("refused", "failed"), bool(result["message"])) == (True, True)
        assert smtp.received == []

    def test_without_a_mail_server_nothing_is_sent(self, owner: Owner) -> None:
        self.knows(owner, None)
        assert owner.leaves(expect=1)["status"] in ("refused", "failed")

    def test_a_wrong_password_is_recorded(self, owner: Owner, smtp: ScriptedSmtp) -> None:
        smtp.wants_login(owner.email, "another")
        self.knows(owner, smtp)
        assert owner.leaves(expect=1)["status"] == "failed"
        [attempt] = owner.shows()["attempts"]
        assert (attempt["status"], bool(attempt["error_message"])) == ("failed", True)

    def test_a_refusal_is_recorded(self, owner: Owner, smtp: ScriptedSmtp) -> None:
        smtp.wants_login(owner.email, owner.dovecot.password)
        smtp.refuses("leave@lists.example.net", b"550 5.1.1 nobody here")
        self.knows(owner, smtp)
        result = owner.leaves(expect=1)
        assert (result["status"], result["outcome"]) == ("failed", "refused")
        assert owner.shows()["unsubscribe_status"] == "active"

    @pytest.mark.parametrize(
        "url",
        [
            "mailto:a@lists.example.net,b@victim.example?subject=x",
            "mailto:a@lists.example.net?subject=x%0d%0aBcc:%20b@victim.example",
            "mailto:a%0d%0aRCPT%20TO:b@victim.example",
        ],
    )
    def test_no_header_and_no_recipient_is_smuggled_in(self, owner: Owner, smtp: ScriptedSmtp, url: str) -> None:
        smtp.wants_login(owner.email, owner.dovecot.password)
        self.knows(owner, smtp, url)
        assert owner.leaves(expect=1)["status"] == "refused"
        assert smtp.received == []

    def test_other_headers_are_left_out(self, owner: Owner, smtp: ScriptedSmtp) -> None:
        smtp.wants_login(owner.email, owner.dovecot.password)
        self.knows(owner, smtp, "mailto:a@lists.example.net?cc=b@victim.example&bcc=c@victim.example&subject=x")
        owner.leaves()
        received, mail = self.sent(smtp)
        assert (received.recipient, mail["Cc"], mail["Bcc"]) == ("a@lists.example.net", None, None)


class TestRateLimit:
    def test_a_pause_between_two_requests_and_none_before_the_first(self, owner: Owner, shop: Web) -> None:
        times: list[float] = []

        def notes(_: BaseHTTPRequestHandler) -> Page:
            times.append(time.monotonic())
            return Page()

        for number in range(3):
            url = shop.answers(f"/{number}", notes) + "?u=1"
            owner.gets(a_mail(f"s{number}@shop.example", at=ago(hours=1), fields=offering(url)))
        owner.scans()
        owner.sets(INBOX_REQUEST_DELAY="0.6")
        numbers = [str(one["id"]) for one in owner.lists()]
        done = owner.gna("unsubscribe", *numbers, "--yes", "--json")
        assert done.code == 0
        assert all(later - before >= 0.55 for before, later in pairwise(times)), times
        assert len(times) == 3


class TestDryRun:
    def test_nothing_is_sent_and_nothing_is_written(self, owner: Owner, shop: Web, link: str) -> None:
        before = owner.shows()
        result = owner.leaves(SENDER, "--dry-run")
        assert (result["status"], result["method"], result["url"]) == ("dry_run", "http_get", link)
        assert result["message"].startswith("Would")
        assert shop.asked == []
        assert owner.shows() == before

    def test_nobody_is_asked(self, owner: Owner, link: str) -> None:
        owner.types("")
        done = owner.gna("unsubscribe", str(owner.number_of()), "--dry-run", "--json")
        assert (done.code, json.loads(done.out)["results"][0]["status"]) == (0, "dry_run")

    def test_every_check_is_done(self, owner: Owner, link: str) -> None:
        owner.gna("keep", str(owner.number_of()))
        result = owner.leaves(SENDER, "--dry-run", expect=1)
        assert (result["status"], result["message"]) == ("refused", KEPT)

    def test_a_mail_is_not_sent_either(self, owner: Owner, smtp: ScriptedSmtp) -> None:
        TestMail().knows(owner, smtp)
        assert owner.leaves(SENDER, "--dry-run")["status"] == "dry_run"
        assert smtp.connections == 0


class TestRecords:
    def test_success(self, owner: Owner, link: str) -> None:
        begun = clock.now()
        owner.leaves()
        found = owner.shows()
        assert found["unsubscribe_status"] == "unsubscribed"
        assert begun <= datetime.fromisoformat(found["unsubscribed_at"]) <= clock.now()
        [attempt] = found["attempts"]
        assert (attempt["method_used"], attempt["status"], attempt["response_code"]) == ("http_get", "success", 200)
        assert attempt["error_message"] is None
        assert owner.says("stats")["unsubscribed"] == 1

    def test_a_failure_and_then_a_success_the_newest_first(self, owner: Owner, shop: Web, link: str) -> None:
        shop.serves("/leave", status=503)
        owner.leaves(expect=1)
        shop.serves("/leave", "ok")
        owner.leaves()
        assert [attempt["status"] for attempt in owner.shows()["attempts"]] == ["success", "failed"]

    def test_history_outlives_leaving(self, owner: Owner, link: str) -> None:
        owner.leaves()
        assert [was["url"] for was in owner.shows()["history"]] == [link]


class TestConfirmation:
    def test_details_then_the_question(self, owner: Owner, shop: Web, link: str) -> None:
        owner.types("yes\n")
        done = owner.gna("unsubscribe", str(owner.number_of()))
        assert done.code == 0, done
        for word in (str(owner.number_of()), SENDER, "http_get", link, "Type 'yes' to confirm"):
            assert word in done.out
        assert len(shop.asked) == 1

    def test_the_last_three_attempts_are_shown(self, owner: Owner, shop: Web, link: str) -> None:
        owner.sets(INBOX_MAX_ATTEMPTS="9")
        for status in (501, 502, 503, 504):
            shop.serves("/leave", status=status)
            owner.leaves(expect=1)
        owner.types("no\n")
        said = owner.gna("unsubscribe", str(owner.number_of())).out
        assert [code for code in ("501", "502", "503", "504") if code in said] == ["502", "503", "504"]

    @pytest.mark.parametrize("answer", ["no\n", "y\n", "\n", "", "yes please\n"])
    def test_anything_but_yes_aborts(self, owner: Owner, shop: Web, link: str, answer: str) -> None:
        owner.types(answer)
        done = owner.gna("unsubscribe", str(owner.number_of()), "--json")
        [result] = json.loads(done.out)["results"]
        assert (done.code, result["status"]) == (1, "refused")
        assert "abort" in result["message"].lower()
        assert (shop.asked, owner.shows()["attempts"]) == ([], [])

    def test_the_question_is_beside_the_document(self, owner: Owner, link: str) -> None:
        owner.types("yes\n")
        done = owner.gna("unsubscribe", str(owner.number_of()), "--json")
        assert json.loads(done.out)["results"][0]["status"] == "success"
        assert "Type 'yes' to confirm" in done.err

    def test_why_it_cannot_proceed_is_said(self, owner: Owner, link: str) -> None:
        owner.gna("keep", str(owner.number_of()))
        done = owner.gna("unsubscribe", str(owner.number_of()))
        assert done.code == 1
        assert KEPT in done.out
        assert "Type 'yes'" not in done.out

    def test_one_that_fails_keeps_no_other_from_leaving(self, owner: Owner, shop: Web, link: str) -> None:
        owner.finds(a_mail("none@shop.example", at=ago(hours=1)))
        numbers = ["99999", str(owner.number_of("none@shop.example")), str(owner.number_of())]
        done = owner.gna("unsubscribe", *numbers, "--yes", "--json")
        assert done.code == 1
        results = json.loads(done.out)["results"]
        assert [str(result["id"]) for result in results] == numbers
        assert [result["status"] for result in results] == ["refused", "refused", "success"]


class TestViolations:
    @pytest.fixture
    def left(self, owner: Owner, link: str) -> Callable[..., dict[str, Any]]:
        """It was left; further mails come in and are scanned."""
        owner.leaves()

        def gets(*dates: datetime, sender: str = SENDER) -> dict[str, Any]:
            owner.gets(*(a_mail(sender, at=date) for date in dates))
            return owner.scans()

        return gets

    def test_a_mail_after_the_unsubscribe(self, owner: Owner, left: Callable[..., dict[str, Any]]) -> None:
        date = soon(minutes=5).replace(microsecond=0)
        assert left(date)["violations"] == 1
        found = owner.shows()
        assert (found["violation_count"], found["emails_after_unsubscribe"]) == (1, 1)
        assert datetime.fromisoformat(found["last_violation_at"]) == date
        assert found["unsubscribe_status"] == "unsubscribed"
        assert owner.says("stats")["violations"] == 1

    def test_a_mail_from_before_is_none(self, owner: Owner, left: Callable[..., dict[str, Any]]) -> None:
        assert left(ago(hours=1))["violations"] == 0
        found = owner.shows()
        assert (found["violation_count"], found["last_violation_at"], found["email_count"]) == (0, None, 2)

    def test_each_is_counted_once_and_the_latest_remembered(
        self, owner: Owner, left: Callable[..., dict[str, Any]]
    ) -> None:
        late = soon(hours=3).replace(microsecond=0)
        left(soon(minutes=5))
        left(late, soon(hours=1))
        assert owner.scans()["violations"] == 0
        found = owner.shows()
        assert (found["violation_count"], found["emails_after_unsubscribe"]) == (3, 3)
        assert datetime.fromisoformat(found["last_violation_at"]) == late

    def test_the_report(self, owner: Owner, shop: Web, left: Callable[..., dict[str, Any]]) -> None:
        other = "worse@shop.example"
        owner.finds(a_mail(other, at=ago(hours=1), fields=offering(shop.serves("/other", "ok") + "?u=1")))
        owner.leaves(other)
        left(soon(minutes=5))
        left(soon(minutes=5), soon(minutes=6), sender=other)
        said = owner.says("violations")
        assert said["total_violation_emails"] == 3
        assert [one["sender_email"] for one in said["worst_offenders"]] == [other, SENDER]
        assert {one["sender_email"] for one in said["recent"]} == {other, SENDER}
        assert owner.says("violations", "--days", "30")["total_violation_emails"] == 3

    def test_nobody_violates_what_was_not_left(self, owner: Owner) -> None:
        owner.finds(a_mail(at=soon(minutes=5)))
        assert owner.says("violations") == {
            "total_violations": 0, "total_violation_emails": 0, "recent": [], "worst_offenders": [],
        }  # fmt: skip

    def test_a_failed_unsubscribe_makes_no_violations(self, owner: Owner, shop: Web, link: str) -> None:
        shop.serves("/leave", status=500)
        owner.leaves(expect=1)
        owner.gets(a_mail(at=soon(minutes=5)))
        assert owner.scans()["violations"] == 0
