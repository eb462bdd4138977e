"""The specification of the reader's side, phases 1 to 3, from outside: real servers, and only what `--json` says."""

import json
from datetime import datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from gna.db import Database, metadata
from tests.cli.commands import Done
from tests.seeds.owner import ONE_CLICK, SENDER, Fields, Owner, a_mail, ago

SUBSCRIPTION = {
    "id",
    "sender_email",
    "sender_domain",
    "list_id",
    "kind",
    "email_count",
    "confidence",
    "reasons",
    "last_seen",
    "active",
    "keep_subscription",
    "unsubscribe_status",
    "unsubscribe_method",
    "unsubscribe_link",
    "unsubscribed_at",
    "violation_count",
    "emails_after_unsubscribe",
    "last_violation_at",
}
WAY = {"method", "url", "source", "safe", "warnings", "error", "fields", "to", "subject", "body"}
# At another domain than the sender's.
LINK = "https://lists.example.net/leave?u=1"
HEADER = (("List-Unsubscribe", f"<{LINK}>"),)
FORM = """<form action="https://lists.example.net/unsubscribe" method="post"><input type="hidden" name="u" value="17">
<input type="hidden" name="list" value="news"><button>Unsubscribe</button></form>"""


def offering(*urls: str) -> Fields:
    """A header with these ways out."""
    return (("List-Unsubscribe", ", ".join(f"<{url}>" for url in urls)),)


class TestScanning:
    def test_deduplication_the_same_mail_is_read_once(self, owner: Owner) -> None:
        owner.gets(*(a_mail(at=ago(hours=hour)) for hour in range(3)))
        assert owner.scans()["new"] == 3
        again = owner.scans()
        assert (again["new"], again["errors"], again["violations"]) == (0, 0, 0)
        assert owner.says("stats")["messages"] == 3
        assert owner.shows()["email_count"] == 3

    def test_deduplication_a_uid_counts_in_its_folder(self, owner: Owner) -> None:
        owner.gets(a_mail(at=ago(hours=1)))
        owner.gets(a_mail("other@shop.example", at=ago(hours=1)), folder="Lists")
        assert owner.scans("--folder", "INBOX", "--folder", "Lists")["new"] == 2
        assert {one["sender_email"] for one in owner.lists()} == {SENDER, "other@shop.example"}

    def test_date_range_is_30_days_and_can_be_set(self, owner: Owner) -> None:
        for days in (2, 45, 200):
            owner.gets(a_mail(f"d{days}@shop.example", at=ago(days=days)), received=ago(days=days))
        owner.scans()
        assert [one["sender_email"] for one in owner.lists()] == ["d2@shop.example"]
        assert owner.scans("--days", "60")["new"] == 1
        assert owner.scans("--days", "365")["new"] == 1
        assert owner.says("stats")["messages"] == 3

    def test_batches_all_of_many_mails_are_read(self, owner: Owner) -> None:
        owner.gets(*(a_mail(f"s{number % 7}@shop.example", at=ago(hours=number)) for number in range(120)))
        assert owner.scans()["new"] == 120
        assert sum(one["email_count"] for one in owner.lists()) == 120

    def test_error_handling_a_broken_mail_stops_nothing(self, owner: Owner) -> None:
        broken = (
            b"From: \xff\xfe\r\nDate: yesterday\r\n\r\n\xff",
            b"no header at all",
            b"Subject: nobody\r\n\r\n",
            b"\r\n",
        )
        owner.gets(a_mail(at=ago(hours=2)), *broken, a_mail("last@shop.example", at=ago(hours=1)))
        said = owner.scans()
        assert {SENDER, "last@shop.example"} <= {one["sender_email"] for one in owner.lists()}
        assert said["new"] + said["errors"] >= 2
        assert owner.scans()["new"] == 0

    def test_nothing_in_the_mailbox_changes(self, owner: Owner) -> None:
        owner.gets(a_mail(at=ago(hours=1), html="<a href='https://x.example.net/u'>Unsubscribe</a>"))
        owner.scans()
        with owner.connects() as imap:
            imap.select("INBOX", readonly=True)
            [flags] = imap.fetch("1", "(FLAGS)")[1]
        assert b"\\Seen" not in bytes(flags)  # type: ignore[arg-type]

    def test_a_scan_says_three_numbers_in_one_document(self, owner: Owner) -> None:
        said = owner.scans()
        assert {name: said[name] for name in ("new", "errors", "violations")} == {
            "new": 0,
            "errors": 0,
            "violations": 0,
        }

    def test_one_mailbox_or_all(self, owner: Owner) -> None:
        other = f"other.{owner.email}"
        owner.dovecot.deliver(other, a_mail("o@shop.example", at=ago(days=1)), "Archive")
        assert owner.gna("account", "add", other, "--imap", owner.imap).code == 0
        owner.gets(a_mail(at=ago(hours=1)))
        assert owner.scans(other)["new"] == 0
        assert owner.scans(owner.email.upper())["new"] == 1
        assert owner.gna("scan", "nobody@example.org").code == 1


class TestStorage:
    def test_account_uniqueness_in_any_case(self, owner: Owner) -> None:
        again = owner.gna("account", "add", owner.email.upper(), "--imap", owner.imap)
        assert again.code == 1
        assert "already" in again.err
        said = json.loads(owner.gna("account", "list", "--json").out)
        assert [account["email"] for account in said["items"]] == [owner.email]

    def test_metadata_only(self, owner: Owner, db: Database, tmp_path: Path) -> None:
        owner.gets(
            a_mail(at=ago(hours=1), text="The word is Xylophonquark. To unsubscribe: https://x.example.net/u?a=1")
        )
        owner.scans()
        with db.read() as tx:
            for table in metadata.sorted_tables:
                assert "Xylophonquark" not in str(tx.execute(sa.select(table)).all()), table.name
        assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"Xylophonquark" in file.read_bytes()]

    def test_the_password_is_not_stored(self, owner: Owner, db: Database) -> None:
        owner.sets(INBOX_PASSWORD="Grzegrzolka")
        owner.gna("scan")
        with db.read() as tx:
            for table in metadata.sorted_tables:
                assert "Grzegrzolka" not in str(tx.execute(sa.select(table)).all()), table.name

    def test_relationships_an_account_takes_everything_along(self, owner: Owner) -> None:
        owner.finds(a_mail(at=ago(hours=1)))
        assert owner.gna("account", "remove", owner.email, "--yes").code == 0
        sums = owner.says("stats")
        assert {sums[name] for name in ("accounts", "messages", "subscriptions")} == {0}


def scored(count: int = 1, subject: str = "Hello", fields: Fields = (), **body: str) -> tuple[object, ...]:
    return count, subject, fields, body


BODY_LINK = '<p><a href="https://lists.example.net/out">Unsubscribe</a></p>'
OWN_LINK = offering("https://www.shop.example/leave?u=1")
EVERYTHING = "Newsletter: sale, offer, discount, deal, promotion, coupon, savings, free shipping, limited time"
SCORES = {
    "base and frequency": (scored(), 17),
    "frequency, two points a mail": (scored(5), 25),
    "frequency, at most 30": (scored(20), 45),
    "a keyword": (scored(subject="Big sale today"), 27),
    "two keywords": (scored(subject="Sale: 10% discount"), 37),
    "a keyword of two words": (scored(subject="Free shipping!"), 27),
    "a keyword in capitals": (scored(subject="BIG SALE"), 27),
    "a keyword counts once": (scored(3, subject="Sale! Sale! Sale!"), 31),
    "part of a word is none": (scored(subject="Wholesale dealers saved the offering"), 17),
    "a keyword in the body is none": (scored(text="A sale, a discount."), 17),
    "the header": (scored(fields=HEADER), 32),
    "a link in the body": (scored(html=BODY_LINK), 27),
    "a link in plain text": (scored(text="To unsubscribe, go to https://lists.example.net/out?u=1"), 27),
    "the sender's own domain": (scored(fields=OWN_LINK), 37),
    "header, body and domain": (scored(fields=OWN_LINK, html=BODY_LINK), 47),
    "at most 100": (scored(20, EVERYTHING, OWN_LINK, html=BODY_LINK), 100),
}


class TestDetection:
    @pytest.mark.parametrize("case", SCORES)
    def test_confidence_scoring(self, owner: Owner, case: str) -> None:
        (count, subject, fields, body), expected = SCORES[case]
        mails = (
            a_mail(subject=str(subject), at=ago(hours=hour), fields=fields, **body)  # type: ignore[arg-type]
            for hour in range(1, int(str(count)) + 1)
        )
        found = owner.finds(*mails)
        assert (found["confidence"], found["email_count"]) == (expected, count), found["reasons"]
        assert found["reasons"]

    def test_scoring_is_deterministic(self, owner: Owner) -> None:
        first = owner.finds(a_mail(subject="Sale", at=ago(hours=1), fields=HEADER))
        owner.scans()
        assert owner.shows() == first

    def test_one_email_is_enough(self, owner: Owner) -> None:
        assert owner.finds(a_mail(at=ago(hours=1)))["email_count"] == 1

    def test_what_a_new_subscription_is_like(self, owner: Owner) -> None:
        list_id = ("List-Id", "News <n.shop.example>")
        found = owner.finds(a_mail(f"The Shop <{SENDER}>", at=ago(hours=1), fields=(list_id,)))
        assert found.keys() >= SUBSCRIPTION
        assert owner.lists()[0].keys() >= SUBSCRIPTION
        assert (found["sender_email"], found["sender_domain"]) == (SENDER, "shop.example")
        assert "n.shop.example" in found["list_id"]
        assert (found["active"], found["keep_subscription"], found["unsubscribe_status"]) == (True, False, "active")
        assert (found["unsubscribe_method"], found["unsubscribe_link"], found["unsubscribed_at"]) == (None, None, None)
        assert (found["violation_count"], found["emails_after_unsubscribe"], found["last_violation_at"]) == (0, 0, None)
        assert (found["methods"], found["history"], found["attempts"]) == ([], [], [])
        assert found["kind"] in ("newsletter", "discussion", "notification", "transactional", "personal")

    def test_uniqueness_one_for_each_sender(self, owner: Owner) -> None:
        owner.gets(a_mail("News <NEWS@Shop.Example>", at=ago(hours=2)), a_mail(at=ago(hours=1)))
        owner.gets(a_mail("other@shop.example", at=ago(hours=1)))
        owner.scans()
        assert sorted((one["sender_email"], one["email_count"]) for one in owner.lists()) == [
            (SENDER, 2),
            ("other@shop.example", 1),
        ]

    def test_updates_count_confidence_and_last_seen(self, owner: Owner) -> None:
        first = owner.finds(a_mail(at=ago(days=3)))
        then = owner.finds(a_mail(subject="Sale", at=ago(days=1)))
        assert (then["id"], then["email_count"], then["confidence"]) == (first["id"], 2, 29)
        assert datetime.fromisoformat(then["last_seen"]) > datetime.fromisoformat(first["last_seen"])

    def test_stats_add_up(self, owner: Owner) -> None:
        owner.finds(a_mail(at=ago(hours=2)), a_mail(at=ago(hours=1)), a_mail("b@shop.example", at=ago(hours=1)))
        owner.gna("keep", str(owner.number_of()))
        assert owner.says("stats") == {
            "accounts": 1, "messages": 3, "subscriptions": 2, "kept": 1, "unsubscribed": 0, "violations": 0,
        }  # fmt: skip


class TestMethods:
    def test_priority_of_methods_in_one_mail(self, owner: Owner) -> None:
        found = owner.finds(
            a_mail(
                at=ago(hours=1),
                fields=(*offering("mailto:leave@lists.example.net", LINK), ONE_CLICK),
                html=f'{FORM}<a href="https://lists.example.net/page?u=1">Unsubscribe</a>',
            )
        )
        methods = [way["method"] for way in found["methods"]]
        assert methods == sorted(methods, key=["one_click", "http_post", "http_get", "email_reply"].index)
        assert set(methods) == {"one_click", "http_post", "http_get", "email_reply"}
        assert (found["unsubscribe_method"], found["unsubscribe_link"]) == ("one_click", LINK)
        assert all(way.keys() >= WAY for way in found["methods"])

    def test_priority_of_sources(self, owner: Owner) -> None:
        page = '<a href="https://lists.example.net/html?u=1">Unsubscribe</a>'
        found = owner.finds(a_mail(at=ago(hours=1), fields=HEADER, html=page))
        assert [(way["method"], way["source"]) for way in found["methods"]] == [
            ("http_get", "header"),
            ("http_get", "html"),
        ]

    def test_plain_text_is_the_fallback(self, owner: Owner) -> None:
        found = owner.finds(a_mail(at=ago(hours=1), text="Unsubscribe: https://lists.example.net/text?u=1"))
        [way] = found["methods"]
        assert (way["source"], way["url"]) == ("text", "https://lists.example.net/text?u=1")

    def test_get_is_a_link_with_parameters(self, owner: Owner) -> None:
        found = owner.finds(a_mail(at=ago(hours=1), fields=HEADER))
        assert (found["unsubscribe_method"], found["unsubscribe_link"]) == ("http_get", LINK)

    def test_missing_context_is_a_get(self, owner: Owner) -> None:
        bare = "https://lists.example.net/unsubscribe/abc"
        found = owner.finds(a_mail(at=ago(hours=1), fields=offering(bare)))
        assert (found["unsubscribe_method"], found["unsubscribe_link"]) == ("http_get", bare)

    def test_post_is_a_form_with_its_hidden_fields(self, owner: Owner) -> None:
        found = owner.finds(a_mail(at=ago(hours=1), html=FORM))
        [way] = found["methods"]
        assert (way["method"], way["url"]) == ("http_post", "https://lists.example.net/unsubscribe")
        assert way["fields"] == {"u": "17", "list": "news"}

    def test_email_reply_is_a_mailto(self, owner: Owner) -> None:
        url = "mailto:leave@lists.example.net?subject=Off%20please&body=Id%3A%2017%2B1"
        [way] = owner.finds(a_mail(at=ago(hours=1), fields=offering(url)))["methods"]
        assert (way["method"], way["to"]) == ("email_reply", "leave@lists.example.net")
        assert (way["subject"], way["body"]) == ("Off please", "Id: 17+1")

    @pytest.mark.parametrize(
        ("fields", "method"),
        [
            pytest.param((*HEADER, ONE_CLICK), "one_click", id="both fields"),
            pytest.param(HEADER, "http_get", id="no promise"),
            pytest.param((*HEADER, ("List-Unsubscribe-Post", "ListUnsubscribe=One-Click")), "http_get", id="mistyped"),
            pytest.param((*HEADER, *HEADER, ONE_CLICK), "http_get", id="two of the first"),
            pytest.param((*HEADER, ONE_CLICK, ONE_CLICK), "http_get", id="two of the second"),
            pytest.param((*offering(LINK, f"{LINK}2"), ONE_CLICK), "http_get", id="two web addresses"),
            pytest.param((*offering("mailto:x@lists.example.net", LINK), ONE_CLICK), "one_click", id="a mailto beside"),
            pytest.param((*offering("http://lists.example.net/a?u=1"), ONE_CLICK), "http_get", id="not encrypted"),
            pytest.param((ONE_CLICK,), None, id="a promise alone"),
        ],
    )
    def test_one_click_needs_both_fields(self, owner: Owner, fields: Fields, method: str | None) -> None:
        assert owner.finds(a_mail(at=ago(hours=1), fields=fields))["unsubscribe_method"] == method

    def test_the_most_recent_email_wins(self, owner: Owner) -> None:
        owner.finds(a_mail(at=ago(days=2), fields=(*HEADER, ONE_CLICK)))
        newest = "mailto:leave@lists.example.net"
        found = owner.finds(a_mail(at=ago(days=1), fields=offering(newest)))
        assert (found["unsubscribe_method"], found["unsubscribe_link"]) == ("email_reply", newest)

    def test_method_history_the_newest_first(self, owner: Owner) -> None:
        dates = [ago(days=days).replace(microsecond=0) for days in (5, 4, 3)]
        links = [f"https://lists.example.net/leave?u={number}" for number in range(3)]
        for date, link in zip(dates, links, strict=True):
            owner.finds(a_mail(at=date, fields=offering(link)))
        history = owner.shows()["history"]
        assert all(was.keys() >= {"method", "url", "email_date", "changed_at"} for was in history)
        assert [(was["method"], was["url"]) for was in history] == [("http_get", link) for link in reversed(links)]
        assert [datetime.fromisoformat(was["email_date"]) for was in history] == dates[::-1]

    def test_a_mail_without_a_way_out_takes_none_away(self, owner: Owner) -> None:
        owner.finds(a_mail(at=ago(days=2), fields=HEADER))
        assert owner.finds(a_mail(at=ago(days=1)))["unsubscribe_link"] == LINK


class TestKeeping:
    def test_the_keep_flag_is_toggled(self, owner: Owner) -> None:
        number = str(owner.finds(a_mail(at=ago(hours=1)))["id"])
        for command, kept in (("keep", True), ("keep", True), ("unkeep", False), ("keep", True)):
            assert owner.gna(command, number).code == 0
            assert owner.shows(int(number))["keep_subscription"] is kept

    def test_what_is_kept_is_frozen_until_it_is_not(self, owner: Owner) -> None:
        before = owner.finds(a_mail(at=ago(days=2), fields=HEADER))
        owner.gna("keep", str(before["id"]))
        new = "https://lists.example.net/new?u=2"
        after = owner.finds(a_mail(at=ago(days=1), fields=offering(new)))
        for name in ("unsubscribe_link", "unsubscribe_method", "methods", "history"):
            assert after[name] == before[name], name
        owner.gna("unkeep", str(before["id"]))
        owner.scans()
        assert owner.shows()["unsubscribe_link"] == new
        assert [was["url"] for was in owner.shows()["history"]] == [new, LINK]


def refused(url: str) -> tuple[str, Fields]:
    return url, offering(url)


UNSAFE = {
    "a script": refused("javascript:alert(1)"),
    "a program": refused("https://lists.example.net/unsubscribe.exe"),
    "an archive": refused("https://lists.example.net/unsubscribe.zip?u=1"),
    "a disk image": refused("https://lists.example.net/get/unsubscribe.dmg"),
    "a command": refused("https://lists.example.net/u?cmd=rm"),
    "a deletion": refused("https://lists.example.net/u?delete=1"),
    "a destruction": refused("https://lists.example.net/u?action=destroy"),
    "an account's end": refused("https://lists.example.net/remove-account?u=1"),
    "a shortener": refused("https://bit.ly/3xyz"),
    "another shortener": refused("https://tinyurl.com/abc"),
    "no host": refused("https:///leave?u=1"),
    "half an address": refused("https://"),
    "a loopback address": refused("http://127.0.0.2/leave?u=1"),
    "a private address": refused("https://192.168.1.1/leave?u=1"),
    "the cloud's metadata": refused("http://169.254.169.254/latest/?u=1"),
    "a number": refused("http://2130706434/leave?u=1"),
    "a password": refused("https://ana:secret@lists.example.net/leave?u=1"),
}


class TestSafety:
    @pytest.mark.parametrize("case", UNSAFE)
    def test_harmful_ways_are_refused(self, owner: Owner, case: str) -> None:
        url, fields = UNSAFE[case]
        found = owner.finds(a_mail(at=ago(hours=1), fields=fields))
        for way in found["methods"]:
            assert (way["safe"], bool(way["error"])) == (False, True), (url, way)
        result = owner.leaves(expect=1)
        assert (result["status"], bool(result["message"])) == ("refused", True)
        assert owner.shows()["attempts"] == []

    @pytest.mark.parametrize(
        "url",
        [
            "https://unsub.tiny-shop.example.org/u?id=1",
            "https://news.example.museum/leave?domain=a.example",
            "https://lists.example.net/manage?action=unsubscribe&confirm=1",
        ],
    )
    def test_every_legitimate_domain_is_safe(self, owner: Owner, url: str) -> None:
        [way] = owner.finds(a_mail(at=ago(hours=1), fields=offering(url)))["methods"]
        assert (way["safe"], way["error"]) == (True, None)

    def test_plain_http_is_a_warning(self, owner: Owner) -> None:
        url = "http://lists.example.net/leave?u=1"
        [way] = owner.finds(a_mail(at=ago(hours=1), fields=offering(url)))["methods"]
        assert (way["safe"], way["method"]) == (True, "http_get")
        assert "http" in " ".join(way["warnings"]).lower()

    def test_an_invalid_address_leaves_the_others(self, owner: Owner) -> None:
        found = owner.finds(a_mail(at=ago(hours=1), fields=offering("https://", LINK)))
        ways = {way["url"]: way for way in found["methods"]}
        assert (ways["https://"]["method"], bool(ways["https://"]["error"])) == ("invalid", True)
        assert (found["unsubscribe_method"], found["unsubscribe_link"]) == ("http_get", LINK)


class TestAudit:
    def test_a_file_is_audited_without_a_database(self, owner: Owner, tmp_path: Path) -> None:
        owner.sets(DATABASE_URL=f"sqlite:///{tmp_path}/not/there.db")
        old = a_mail(subject="Sale", at=ago(days=900), fields=HEADER)
        lines = b"From MAILER-DAEMON Thu Jan  1 00:00:00 2026\n"
        (tmp_path / "mail.mbox").write_bytes(b"\n".join(lines + raw.replace(b"\r\n", b"\n") for raw in (old, old)))
        before = sorted(tmp_path.rglob("*"))
        said = owner.says("audit", "mail.mbox")
        assert said["messages"] == 2
        [item] = said["items"]
        assert (item["sender_email"], item["email_count"], item["confidence"]) == (SENDER, 2, 44)
        assert (item["unsubscribe_method"], item["unsubscribe_link"]) == ("http_get", LINK)
        assert sorted(tmp_path.rglob("*")) == before

    def test_a_file_that_is_not_there_is_refused(self, owner: Owner) -> None:
        done = owner.gna("audit", "nothing.mbox", "--json")
        assert (done.code, done.out) == (1, "")


def test_logs_are_not_on_the_standard_output(owner: Owner) -> None:
    owner.sets(LOG_LEVEL="debug")
    owner.gets(a_mail(at=ago(hours=1)))
    done: Done = owner.gna("scan", "--json")
    assert json.loads(done.out)["new"] == 1
