"""Uploads that wait for a person: kept, tried, started, stopped, forgotten."""

import io
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from gna import clock
from gna.db import Database, timed
from gna.errors import NotAllowedNow, NotFound
from gna.jobs import workers
from gna.outbox import messages
from gna.subscribers import importer as importing
from gna.subscribers import imports
from gna.subscribers.formats import AS_IT_IS, Mapping
from gna.subscribers.imports import State, chunks, problems
from gna.subscribers.leave import unsubscribe
from gna.subscribers.table import subscribers
from tests.factories import NOW, a_subscriber, count, the_subscriber
from tests.subscribers.test_imports import KEY, fates, importer, person, reasons

ODD = "Kontakt;Vor;Nach;Stand\nana@example.org;Ana;Pop;aktiv\ndan@example.org;Dan;;abgemeldet\nbad@;;;\n"
MAPPING = Mapping.parse({"columns": ["email", "nickname", "nickname", "status"]}, ["Kontakt", "Vor", "Nach", "Stand"])


def opened(db: Database, content: str = ODD) -> str:
    """An upload that nobody has started."""
    with db.write() as tx:
        return str(timed(imports.keep)(tx, io.BytesIO(content.encode()), name="people.csv", format=None))


def started(db: Database, import_id: str, mapping: Mapping = MAPPING, *, trial: bool = False) -> None:
    with db.write() as tx:
        imports.start(tx, import_id, mapping=mapping, trial=trial)


def row_of(db: Database, import_id: str) -> Any:
    with db.read() as tx:
        return imports.the_import(tx, import_id)


def rows_in(db: Database, table: sa.Table) -> int:
    with db.read() as tx:
        return count(tx, table)


def test_no_worker_touches_an_open_upload(db: Database) -> None:
    import_id = opened(db)
    assert importer(db).work() is False
    assert importer(db).finish(import_id).state == State.OPEN
    assert rows_in(db, subscribers) == 0


def test_it_is_read_as_the_person_said(db: Database) -> None:
    import_id = opened(db)
    started(db, import_id)
    row = importer(db).finish(import_id)
    assert (row.state, fates(row)) == (State.DONE, {"new": 1, "opted_out": 1, "invalid": 1})
    assert person(db, "ana@example.org").nickname == "Ana Pop"
    assert person(db, "dan@example.org") is None
    assert rows_in(db, chunks) == 0


def test_a_trial_counts_as_the_import_then_does_and_leaves_the_file_open(db: Database) -> None:
    import_id = opened(db)
    started(db, import_id, trial=True)
    tried = importer(db).finish(import_id)
    assert (tried.state, tried.dry_run, fates(tried)) == (State.OPEN, True, {"new": 1, "opted_out": 1, "invalid": 1})
    assert rows_in(db, subscribers) == 0
    assert [row for row, _ in reasons(db)] == [4]
    started(db, import_id)
    done = importer(db).finish(import_id)
    assert (done.state, done.dry_run, done.counts) == (State.DONE, False, tried.counts)
    assert [row for row, _ in reasons(db)] == [4], "the problems of the trial are not kept beside"


def test_a_trial_that_cannot_be_read_says_why_and_may_be_tried_again(db: Database) -> None:
    import_id = opened(db, 'Kontakt;Name\nana@example.org;"Ana\n')
    names = Mapping.parse({"columns": ["email", "nickname"]}, ["Kontakt", "Name"])
    started(db, import_id, names, trial=True)
    row = importer(db).finish(import_id)
    assert (row.state, "quotation mark" in row.error) == (State.OPEN, True)
    started(db, import_id, names)
    assert importer(db).finish(import_id).state == State.FAILED
    assert rows_in(db, chunks) == 0


def test_pending_people_are_asked_to_confirm_and_put_on_the_list(db: Database) -> None:
    import_id = opened(db, "email\nana@example.org\n")
    started(db, import_id, Mapping.parse({"status": "Pending", "lists": ["news"]}, []))
    assert fates(importer(db).finish(import_id)) == {"new": 1}
    assert person(db, "ana@example.org").activated_at is None
    with db.read() as tx:
        assert tx.scalars(sa.select(messages.c.to_email)).all() == ["ana@example.org"]


def test_one_who_leaves_while_their_address_lies_in_an_open_upload_stays_away(db: Database) -> None:
    with db.write() as tx:
        a_subscriber(tx, activated=True)
    import_id = opened(db, "Kontakt\nana@example.org\n")
    with db.write() as tx:
        unsubscribe(tx, the_subscriber(tx, "ana@example.org").unsubscribe_token, secret=KEY, now=NOW)
    started(db, import_id, Mapping.parse({"columns": ["email"]}, ["Kontakt"]))
    assert fates(importer(db).finish(import_id)) == {"suppressed": 1}
    assert person(db, "ana@example.org") is None


def test_it_is_started_once(db: Database) -> None:
    import_id = opened(db)
    started(db, import_id)
    with pytest.raises(NotAllowedNow):
        started(db, import_id)
    with pytest.raises(NotFound):
        started(db, "nothing")


def test_it_is_discarded_only_while_it_is_open(db: Database) -> None:
    import_id = opened(db)
    with db.write() as tx:
        imports.discard(tx, import_id)
    assert (rows_in(db, imports.imports), rows_in(db, chunks)) == (0, 0)
    import_id = opened(db)
    started(db, import_id)
    with db.write() as tx, pytest.raises(NotAllowedNow):
        imports.discard(tx, import_id)
    with db.write() as tx, pytest.raises(NotFound):
        imports.discard(tx, "nothing")


def test_an_open_upload_is_forgotten_after_two_hours(db: Database) -> None:
    opened(db)
    for hours, left in ((1.9, 1), (2.1, 0)):
        with db.write() as tx:
            imports.forget(tx, now=clock.now() + timedelta(hours=hours))
        assert (rows_in(db, imports.imports), rows_in(db, chunks)) == (left, left)


class TestStopping:
    """A person takes an import away from its worker."""

    @pytest.fixture(autouse=True)
    def small_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(importing, "BATCH", 3)

    def content(self) -> str:
        return "email\n" + "".join(f"p{n}@example.org\n" for n in range(10))

    def begun(self, db: Database, *, trial: bool = False) -> tuple[str, Any]:
        """An import with one batch behind it, and its worker."""
        import_id = opened(db, self.content())
        started(db, import_id, AS_IT_IS, trial=trial)
        worker = importer(db)
        with db.write() as tx:
            timed(workers.beat)(tx, worker.worker)
        worker._begin(import_id)
        assert worker._run
        worker._batch(worker._run)
        return import_id, worker

    def stop(self, db: Database, import_id: str) -> None:
        with db.write() as tx:
            timed(imports.stop)(tx, import_id)

    def test_whoever_is_in_stays_and_the_batch_in_hand_is_undone(self, db: Database) -> None:
        import_id, worker = self.begun(db)
        self.stop(db, import_id)
        assert worker.work() is True
        row = row_of(db, import_id)
        assert (row.state, row.position, fates(row)) == (State.STOPPED, 3, {"new": 3})
        assert (rows_in(db, subscribers), rows_in(db, chunks)) == (3, 0)
        assert worker.work() is False, "nobody goes on with it"

    def test_one_that_waits_is_stopped_before_it_begins(self, db: Database) -> None:
        import_id = opened(db, self.content())
        started(db, import_id, AS_IT_IS)
        self.stop(db, import_id)
        assert importer(db).work() is False
        assert (row_of(db, import_id).state, rows_in(db, chunks)) == (State.STOPPED, 0)

    def test_a_trial_lies_open_again(self, db: Database) -> None:
        import_id, worker = self.begun(db, trial=True)
        self.stop(db, import_id)
        worker.work()
        row = row_of(db, import_id)
        assert (row.state, row.counts, row.position, row.finished_at) == (State.OPEN, {}, 0, None)
        started(db, import_id, AS_IT_IS)
        assert fates(importer(db).finish(import_id)) == {"new": 10}

    def test_a_worker_that_comes_to_its_end_too_late_deletes_nothing(self, db: Database) -> None:
        import_id, worker = self.begun(db, trial=True)
        self.stop(db, import_id)
        worker._end(State.DONE)
        assert (row_of(db, import_id).state, rows_in(db, chunks)) == (State.OPEN, 1)

    def test_what_does_not_run_is_not_stopped(self, db: Database) -> None:
        import_id = opened(db, self.content())
        with pytest.raises(NotAllowedNow):
            self.stop(db, import_id)
        started(db, import_id, AS_IT_IS)
        importer(db).finish(import_id)
        with pytest.raises(NotAllowedNow):
            self.stop(db, import_id)
        with pytest.raises(NotFound):
            self.stop(db, "nothing")


def test_another_worker_goes_on_with_the_mapping_where_a_dead_one_stopped(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 3)
    content = "Kontakt;Vor\n" + "".join(f"p{n}@example.org;P{n}\n" for n in range(10)) + "bad@;x\n"
    mapping = Mapping.parse({"columns": ["email", "nickname"], "lists": ["news"]}, ["Kontakt", "Vor"])
    import_id = opened(db, content)
    started(db, import_id, mapping)
    dead = importer(db)
    dead._begin(None)
    assert dead._run
    dead._batch(dead._run)
    dead._close()
    assert rows_in(db, subscribers) == 3
    done = importer(db).finish(import_id)
    assert (done.state, done.position, fates(done)) == (State.DONE, 11, {"new": 10, "invalid": 1})
    assert person(db, "p9@example.org").nickname == "P9"
    assert rows_in(db, problems) == 1
