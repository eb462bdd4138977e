"""Importing people: from a file to rows, in the background, once."""

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from gna import clock, ids
from gna.db import Database, timed
from gna.jobs import workers
from gna.mail.address import Reach
from gna.outbox import messages
from gna.subscribers import importer as importing
from gna.subscribers import imports, lists
from gna.subscribers.admission import Publication
from gna.subscribers.formats.own import SAY_WHAT_IT_MEANS
from gna.subscribers.importer import Importer
from gna.subscribers.imports import State, chunks, problems
from gna.subscribers.leave import remove, unsubscribe
from gna.subscribers.table import subscribers, suppressions
from tests.factories import NOW, SITE, a_subscriber, count, the_subscriber

EXPORTS = Path(__file__).parent / "exports"
KEY = "k" * 40


def importer(db: Database, *, secret: str | None = KEY) -> Importer:
    return Importer(db, worker=ids.new(), publication=Publication(SITE, secret))


def run(
    db: Database, content: str | bytes, *, name: str = "people.csv", dry_run: bool = False, secret: str | None = KEY
) -> Any:
    """Import a file to its end; the row of the import, with `fates`."""
    data = content.encode() if isinstance(content, str) else content
    one = importer(db, secret=secret)
    with db.write() as tx:
        import_id = timed(imports.accept)(tx, io.BytesIO(data), name=name, dry_run=dry_run, worker=one.worker)
    return one.finish(import_id)


def fates(row: Any) -> dict[str, int]:
    """What happened, without what did not."""
    return {fate: number for fate, number in row.counts.items() if number}


def person(db: Database, email: str) -> Any:
    with db.read() as tx:
        return the_subscriber(tx, email)


def reasons(db: Database) -> list[tuple[int, str]]:
    with db.read() as tx:
        return [(row.row, row.reason) for row in tx.execute(sa.select(problems).order_by(problems.c.number))]


class TestOwnFormat:
    """The columns of the contract."""

    def test_people_come_in_activated_and_get_no_mail(self, db: Database) -> None:
        row = run(db, "email,nickname\nana@example.org,Ana\nbo@example.org,\n")
        assert (row.state, row.position, fates(row)) == (State.DONE, 2, {"new": 2})
        assert person(db, "ana@example.org").nickname == "Ana"
        assert person(db, "bo@example.org").activated_at is not None
        with db.read() as tx:
            assert (count(tx, messages), count(tx, chunks)) == (0, 0)

    def test_every_column(self, db: Database) -> None:
        run(
            db,
            "email,nickname,status,activated_at,ocd_ids,state,lists,shoe size\n"
            "ana@example.org,Ana,activated,2020-02-03T04:05:06Z,ocd/a; ocd/b;ocd/a,RO,news;sport,38\n",
        )
        ana = person(db, "ana@example.org")
        assert clock.iso(ana.activated_at) == clock.iso(ana.created_at) == "2020-02-03T04:05:06.000000Z"
        assert (ana.ocd_ids, ana.attributes) == (["ocd/a", "ocd/b"], {"state": "RO", "shoe size": "38"})
        with db.read() as tx:
            assert [one.list_key for one in lists.of(tx, [ana.id])[ana.id]] == ["news", "sport"]

    def test_without_lists_they_are_on_general(self, db: Database) -> None:
        run(db, "email\nana@example.org\n")
        ana = person(db, "ana@example.org").id
        with db.read() as tx:
            assert [one.list_key for one in lists.of(tx, [ana])[ana]] == ["general"]

    def test_pending_people_are_asked_to_confirm(self, db: Database) -> None:
        assert fates(run(db, "email,status,lists\nana@example.org,Pending,news\n")) == {"new": 1}
        ana = person(db, "ana@example.org")
        assert (ana.activated_at, ana.confirmation_token is None) == (None, False)
        with db.read() as tx:
            assert tx.scalars(sa.select(messages.c.to_email)).all() == ["ana@example.org"]
            assert [one.list_key for one in lists.of(tx, [ana.id])[ana.id]] == ["news"]
        assert fates(run(db, "email,status\nana@example.org,Pending\n")) == {"unchanged": 1}
        with db.read() as tx:
            assert count(tx, messages) == 1, "nobody is asked twice by the same file"

    def test_a_pending_person_whom_the_file_knows_as_activated_is_activated(self, db: Database) -> None:
        run(db, "email,status\nana@example.org,Pending\n")
        assert fates(run(db, "email,status\nana@example.org,Activated\n")) == {"updated": 1}
        ana = person(db, "ana@example.org")
        assert (ana.activated_at is None, ana.confirmation_token) == (False, None)
        with db.read() as tx:
            assert count(tx, messages) == 0, "the question is not needed any more"

    def test_bad_rows_are_left_out_with_their_reasons(self, db: Database) -> None:
        row = run(
            db,
            "email,nickname,status,lists\n"
            "ana@,x,,\n"
            ",x,,\n"
            f"bo@example.org,{'x' * 51},,\n"
            "cy@example.org,,Maybe,\n"
            "dan@example.org,,,not a key\n"
            "eve@example.org,Eve,,\n",
        )
        assert fates(row) == {"invalid": 5, "new": 1}
        assert reasons(db) == [
            (2, "Email is not a valid address"),
            (3, "Email is required"),
            (4, "Nickname must be 1–50 characters"),
            (5, f"Status must be Activated or Pending; {SAY_WHAT_IT_MEANS}"),
            (6, "A list key is 1–64 letters, digits or - _ . :"),
        ]

    def test_letters_beyond_ascii_are_one_person_in_any_case(
        self, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Reach, "international", True)
        content = "email,status\nÖzil@example.org,Pending\nplain@example.org,Activated\n"
        assert fates(run(db, content)) == {"new": 2}
        again = "email,status\nözil@example.org,Pending\nÖZIL@example.org,Pending\n"
        assert "new" not in fates(run(db, again))

    def test_the_same_file_twice_changes_nothing(self, db: Database) -> None:
        content = "email,nickname,city\nana@example.org,Ana,Cluj\nANA@example.org,Ana,Cluj\n"
        assert fates(run(db, content)) == {"new": 1, "unchanged": 1}
        before = person(db, "ana@example.org")
        assert fates(run(db, content)) == {"unchanged": 2}
        assert person(db, "ana@example.org") == before

    def test_what_the_file_says_replaces_and_what_it_leaves_out_stays(self, db: Database) -> None:
        run(db, "email,nickname,city,shoe\nana@example.org,Ana,Cluj,38\n")
        assert fates(run(db, "email,nickname,city,lists\nana@example.org,,Iași,news\n")) == {"updated": 1}
        ana = person(db, "ana@example.org")
        assert (ana.nickname, ana.attributes) == ("Ana", {"city": "Iași", "shoe": "38"})
        with db.read() as tx:
            assert [one.list_key for one in lists.of(tx, [ana.id])[ana.id]] == ["general", "news"]

    def test_a_later_row_of_one_person_comes_on_top(self, db: Database) -> None:
        assert fates(run(db, "email,nickname\nana@example.org,Ana\nana@example.org,Anca\n")) == {"new": 1, "updated": 1}
        assert person(db, "ana@example.org").nickname == "Anca"

    @pytest.mark.parametrize("nickname", ["=Sum", ";=1+1;", "a;'=1", "Ana;  -Maria", "' =1"])
    def test_our_own_export_comes_back_as_it_was(self, db: Database, nickname: str) -> None:
        from gna.subscribers.export import export

        with db.write() as tx:
            a_subscriber(tx, email="+x@example.org", nickname=nickname, activated=True)
        exported = "".join(export(db))
        before = person(db, "+x@example.org")
        with db.write() as tx:
            remove(tx, [before.id])
        assert fates(run(db, exported)) == {"new": 1}
        after = person(db, "+x@example.org")
        assert (after.email, after.nickname, after.activated_at) == (before.email, before.nickname, before.activated_at)


class TestStayingAway:
    """Whoever left is not brought back."""

    @pytest.mark.parametrize("secret", [KEY, None])
    def test_one_who_unsubscribed_is_not_imported_again(self, db: Database, secret: str | None) -> None:
        run(db, "email\nana@example.org\n", secret=secret)
        with db.write() as tx:
            unsubscribe(tx, the_subscriber(tx, "ana@example.org").unsubscribe_token, secret=secret, now=NOW)
        assert fates(run(db, "email\nANA@example.org\nbo@example.org\n", secret=secret)) == {"suppressed": 1, "new": 1}
        assert person(db, "ana@example.org") is None
        assert [row for row, _ in reasons(db)] == [2]

    def test_a_key_that_is_set_later_does_not_forget(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, activated=True)
            unsubscribe(tx, the_subscriber(tx, "ana@example.org").unsubscribe_token, secret=None, now=NOW)
        assert fates(run(db, "email\nana@example.org\n", secret=KEY)) == {"suppressed": 1}

    def test_one_whom_an_admin_removed_may_be_imported_again(self, db: Database) -> None:
        with db.write() as tx:
            remove(tx, [a_subscriber(tx, activated=True)])
        assert fates(run(db, "email\nana@example.org\n")) == {"new": 1}

    def test_one_who_came_back_and_was_removed_may_be_imported_again(self, db: Database) -> None:
        from gna.subscribers.confirm import confirm
        from gna.subscribers.signup import SignUp, subscribe

        with db.write() as tx:
            a_subscriber(tx, activated=True)
            unsubscribe(tx, the_subscriber(tx, "ana@example.org").unsubscribe_token, secret=KEY, now=NOW)
            subscribe(tx, SignUp("ana@example.org"), site=SITE, secret=KEY, now=NOW)
            url = tx.execute(sa.select(messages.c.slots)).scalar_one()["confirm_url"]
            confirm(tx, url.partition("token=")[2], secret=KEY, now=NOW)
            assert count(tx, suppressions) == 0
            remove(tx, [the_subscriber(tx, "ana@example.org").id])
        assert fates(run(db, "email\nana@example.org\n")) == {"new": 1}

    def test_the_hash_tells_nobody_the_address(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, activated=True)
            unsubscribe(tx, the_subscriber(tx, "ana@example.org").unsubscribe_token, secret=KEY, now=NOW)
            [row] = tx.execute(sa.select(suppressions)).all()
        assert len(row.hash) == 64
        assert "ana" not in str(row)

    def test_unsubscribed_and_cleaned_people_of_another_product_stay_away(self, db: Database) -> None:
        out = "Email Address,First Name,Last Name,UNSUB_TIME,LEID,EUID\nana@example.org,A,B,2024-01-01 10:00:00,1,e1\n"
        cleaned = (
            "Email Address,First Name,Last Name,CLEAN_TIME,LEID,EUID\nbo@example.org,B,B,2024-01-01 10:00:00,2,e2\n"
        )
        assert fates(run(db, out)) == {"opted_out": 1}
        assert fates(run(db, cleaned)) == {"opted_out": 1}
        assert fates(run(db, "email\nana@example.org\nbo@example.org\n")) == {"suppressed": 2}
        with db.read() as tx:
            assert sorted(tx.scalars(sa.select(suppressions.c.reason))) == ["cleaned", "unsubscribed_elsewhere"]

    def test_an_opt_out_elsewhere_ends_what_is_older_here(self, db: Database) -> None:
        header = "Email Address,First Name,Last Name,UNSUB_TIME,LEID,EUID\n"
        with db.write() as tx:
            signed_up = NOW - timedelta(hours=1)
            a_subscriber(tx, email="before@example.org", activated=True, created_at=signed_up)
            a_subscriber(tx, email="after@example.org", activated=True, created_at=signed_up)
        row = run(
            db,
            header
            + "before@example.org,A,B,2026-11-15 12:00:01,1,e1\n"
            + "after@example.org,A,B,2026-11-15 11:59:59,2,e2\n",
        )
        assert fates(row) == {"removed": 1, "unchanged": 1}
        assert person(db, "before@example.org") is None
        assert person(db, "after@example.org") is not None

    @pytest.mark.parametrize("date", ["", "2026-11-15"])
    def test_an_opt_out_ends_an_import_whichever_came_first(self, db: Database, date: str) -> None:
        opt_out = "Email Address,First Name,UNSUB_TIME,LEID,EUID\nana@example.org,A,2021-03-03 10:00:00,1,e1\n"
        assert fates(run(db, f"email,activated_at\nana@example.org,{date}\n")) == {"new": 1}
        assert fates(run(db, opt_out)) == {"removed": 1}
        assert person(db, "ana@example.org") is None

    def test_a_list_that_somebody_left_stays_left(self, db: Database) -> None:
        from gna.subscribers.lists import Leaving, leave

        run(db, "email,lists\nana@example.org,news\n")
        with db.write() as tx:
            leave(tx, Leaving("ana@example.org", "news"), now=NOW)
        run(db, "email,lists\nana@example.org,news;sport\n")
        ana = person(db, "ana@example.org").id
        with db.read() as tx:
            assert [(one.list_key, one.unsubscribed_at) for one in lists.of(tx, [ana])[ana]] == [
                ("news", NOW),
                ("sport", None),
            ]

    def test_all_three_files_of_mailchimp_in_one_zip(self, db: Database) -> None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for file in sorted(EXPORTS.glob("mailchimp*.csv")):
                archive.write(file, file.name)
        row = run(db, packed.getvalue(), name="export.zip")
        assert row.state == State.DONE
        assert row.format == "mailchimp"
        assert fates(row)["new"] >= 1
        assert fates(row)["opted_out"] >= 2


@pytest.mark.parametrize("ended", ["Unsubscribed", "Cleaned"])
@pytest.mark.parametrize("left_first", [True, False])
def test_an_address_that_stands_twice_once_as_left_stays_away(db: Database, ended: str, left_first: bool) -> None:
    rows = [f"ana@example.org,{ended},2021-01-01 10:00:00", "ANA@example.org,Subscribed,"]
    rows = rows if left_first else rows[::-1]
    content = "\n".join(["Email Address,STATUS,UNSUB_TIME", *rows, "dan@example.org,Subscribed,"])
    foreseen = run(db, content, dry_run=True)
    assert fates(run(db, content)) == fates(foreseen) == {"opted_out": 1, "suppressed": 1, "new": 1}
    with db.read() as tx:
        assert tx.scalars(sa.select(subscribers.c.email)).all() == ["dan@example.org"]


def test_an_import_that_reads_twice_goes_on_in_the_second_reading(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 2)
    people = [f"p{n}@example.org,{'Unsubscribed' if n % 2 else 'Subscribed'}" for n in range(9)]
    content = "\n".join(["mail,Mailing status", *people]).encode()
    with db.write() as tx:
        import_id = timed(imports.accept)(tx, io.BytesIO(content), name="p.csv", dry_run=False)
    shares = []
    for _ in range(20):
        one = importer(db)  # each worker dies after one batch
        if not one._begin(import_id):
            break
        assert one._run
        one._batch(one._run)
        one._close()
        with db.write() as tx:
            shares.append(imports.the_import(tx, import_id).read)
            tx.execute(sa.update(imports.imports).values(claimed_by="dead"))
    with db.read() as tx:
        row = imports.the_import(tx, import_id)
    assert fates(row) == {"opted_out": 4, "new": 5}
    assert shares == sorted(shares)


class TestDryRun:
    """Counts and nothing else."""

    def test_it_counts_as_the_import_then_does_and_writes_nothing(self, db: Database) -> None:
        with db.write() as tx:
            a_subscriber(tx, email="known@example.org", nickname="Old", activated=True)
            a_subscriber(tx, email="gone@example.org", activated=True)
            unsubscribe(tx, the_subscriber(tx, "gone@example.org").unsubscribe_token, secret=KEY, now=NOW)
        content = (
            "email,nickname\nnew@example.org,A\nknown@example.org,New\ngone@example.org,\nbad@,\nnew@example.org,B\n"
        )
        foreseen = run(db, content, dry_run=True)
        with db.read() as tx:
            assert count(tx, subscribers) == 1
        assert person(db, "known@example.org").nickname == "Old"
        done = run(db, content)
        assert foreseen.counts == done.counts
        assert fates(done) == {"new": 1, "updated": 2, "suppressed": 1, "invalid": 1}


class TestCrashes:
    """A killed worker loses and repeats nothing."""

    def test_another_worker_goes_on_where_a_dead_one_stopped(
        self, db: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(importing, "BATCH", 3)
        content = "email,nickname\n" + "".join(f"p{n}@example.org,P{n}\n" for n in range(10)) + "bad@,\n"
        with db.write() as tx:
            import_id = imports.accept(tx, io.BytesIO(content.encode()), name="p.csv", dry_run=False, now=clock.now())
        dead = importer(db)
        dead._begin(None)
        assert dead._run
        dead._batch(dead._run)
        with db.read() as tx:
            assert count(tx, subscribers) == 3
            assert imports.the_import(tx, import_id).state == State.RUNNING
        dead._close()
        done = importer(db).finish(import_id)
        assert (done.state, done.position, fates(done)) == (State.DONE, 11, {"new": 10, "invalid": 1})
        with db.read() as tx:
            assert count(tx, subscribers) == 10

    def test_a_living_worker_is_not_robbed(self, db: Database) -> None:
        with db.write() as tx:
            imports.accept(
                tx, io.BytesIO(b"email\na@example.org\n"), name="p.csv", dry_run=False, worker="w1", now=clock.now()
            )
            timed(workers.beat)(tx, "w1")
        assert importer(db).work() is False

    def test_two_workers_never_share_an_import(self, db: Database) -> None:
        with db.write() as tx:
            imports.accept(tx, io.BytesIO(b"email\na@example.org\n"), name="p.csv", dry_run=False, now=clock.now())
            timed(workers.beat)(tx, "w1")
            assert timed(imports.claim)(tx, worker="w1") is not None
            assert timed(imports.claim)(tx, worker="w2") is None


class TestFilesThatCannotBeImported:
    """One clear sentence, and nothing changed."""

    @pytest.mark.parametrize(
        "content", [b"", b"\n\n", b"name,city\nAna,Cluj\n", b"<!doctype html><p>x", b"PK\x03\x04broken"]
    )
    def test_it_fails_with_a_reason(self, db: Database, content: bytes) -> None:
        row = run(db, content)
        assert row.state == State.FAILED
        assert row.error
        with db.read() as tx:
            assert (count(tx, subscribers), count(tx, chunks)) == (0, 0)

    def test_old_imports_are_forgotten(self, db: Database) -> None:
        row = run(db, "email\nbad@\n")
        with db.write() as tx:
            imports.forget(tx, now=clock.now())
            assert imports.the_import(tx, row.id)
            imports.forget(tx, now=clock.now() + imports.KEPT)
            assert count(tx, imports.imports) == 0
            assert count(tx, problems) == 0


class TestWhatStrangersCanDo:
    """A form that anybody can fill in opens no door."""

    def test_a_form_filled_in_by_a_stranger_does_not_lift_a_suppression(self, db: Database) -> None:
        from gna.subscribers.signup import SignUp, subscribe

        with db.write() as tx:
            a_subscriber(tx, activated=True)
            unsubscribe(tx, the_subscriber(tx, "ana@example.org").unsubscribe_token, secret=KEY, now=NOW)
            subscribe(tx, SignUp("ana@example.org"), site=SITE, secret=KEY, now=clock.now())
        for dry_run in (True, False):
            assert fates(run(db, "email,status\nana@example.org,Activated\n", dry_run=dry_run)) == {"suppressed": 1}
        assert person(db, "ana@example.org").activated_at is None

    def test_an_address_that_was_given_up_is_not_imported(self, db: Database) -> None:
        from gna import tokens
        from gna.subscribers.confirm import Confirmed, confirm

        token = tokens.new()
        soon = clock.now() + timedelta(hours=1)
        with db.write() as tx:
            a_subscriber(
                tx,
                activated=True,
                pending_email="new@example.org",
                confirmation_token=tokens.digest(token),
                confirmation_expires_at=soon,
            )
            assert confirm(tx, token, secret=KEY, now=clock.now()) is Confirmed.ADDRESS_CHANGED
        assert fates(run(db, "email\nana@example.org\nnew@example.org\n")) == {"suppressed": 1, "unchanged": 1}


def test_a_dry_run_may_go_through_many_threads(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "SLICE", 0.001)
    monkeypatch.setattr(importing, "BATCH", 2)
    content = b"email\n" + b"".join(b"p%d@example.org\n" % n for n in range(20))
    with db.write() as tx:
        import_id = imports.accept(tx, io.BytesIO(content), name="p.csv", dry_run=True, now=clock.now())
    one = importer(db)
    for _ in range(40):
        with ThreadPoolExecutor(1) as thread:
            thread.submit(one.work).result()
    with db.read() as tx:
        row = imports.the_import(tx, import_id)
    assert (row.state, fates(row)) == (State.DONE, {"new": 20})


def test_the_same_file_with_lists_twice_changes_nothing(db: Database) -> None:
    content = "email,lists\nana@example.org,news\n"
    assert fates(run(db, content)) == {"new": 1}
    assert fates(run(db, content)) == {"unchanged": 1}


def test_people_who_leave_while_they_are_imported_do_not_stop_it(db: Database) -> None:
    with db.write() as tx:
        tokens_ = []
        for n in range(300):
            a_subscriber(tx, email=f"p{n}@example.org", activated=True)
            tokens_.append(the_subscriber(tx, f"p{n}@example.org").unsubscribe_token)
    content = "email,lists\n" + "".join(f"p{n}@example.org,news\n" for n in range(300))

    def leave(token: str) -> None:
        with db.write() as tx:
            unsubscribe(tx, token, secret=KEY, now=clock.now())

    with ThreadPoolExecutor(4) as pool:
        leaving = [pool.submit(leave, token) for token in tokens_]
        row = run(db, content)
        for one in leaving:
            one.result()
    assert row.state == State.DONE
    with db.read() as tx:
        assert count(tx, subscribers) == 0
