import json
import logging
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from gna import log
from gna.db import Database
from gna.errors import DatabaseAway
from tests.factories import a_subscriber


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    yield
    logging.getLogger().handlers.clear()


def test_a_line_is_json_with_time_level_and_details(capsys: pytest.CaptureFixture[str]) -> None:
    log.setup(level="info", format="json")
    log.get("gna.test").info("sent", count=3)
    line = json.loads(capsys.readouterr().err)
    assert line["event"] == "sent"
    assert line["level"] == "info"
    assert line["count"] == 3
    assert line["time"].endswith("Z")


def test_a_line_for_people_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    log.setup(level="info", format="console")
    log.get("gna.test").warning("took back", count=3)
    assert capsys.readouterr().err.endswith("warning took back  count=3\n")


def test_debug_lines_stay_silent_at_info(capsys: pytest.CaptureFixture[str]) -> None:
    log.setup(level="info", format="console")
    log.get("gna.test").debug("hidden")
    logging.getLogger("uvicorn").info("hidden too")
    assert capsys.readouterr().err == ""


def test_a_failed_statement_is_logged_without_the_address_in_it(
    db: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    log.setup(level="info", format="console")
    with pytest.raises(sa.exc.IntegrityError) as caught, db.write() as tx:
        a_subscriber(tx, email="Ana@example.org")
        a_subscriber(tx, email="ana@example.org")
    log.get("gna.test").error("failed", exc_info=caught.value)
    logged = capsys.readouterr().err
    assert "IntegrityError" in logged
    assert "ana@" not in logged.lower()


def test_a_failure_says_where_and_in_our_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    log.setup(level="info", format="json")
    try:
        Database("postgresql://nobody@127.0.0.1:1/none").read().__enter__()
    except DatabaseAway as error:
        log.get("gna.test").error("failed", exc_info=error)
    line = json.loads(capsys.readouterr().err)
    assert line["error"] == "DatabaseAway"
    assert "Connection refused" in line["reason"]
    assert line["at"].startswith("db.py:")


def test_the_whole_traceback_is_shown_at_debug(capsys: pytest.CaptureFixture[str]) -> None:
    log.setup(level="debug", format="console")
    try:
        raise KeyError("ana@example.org")
    except KeyError:
        log.get("gna.test").exception("failed")
    assert "ana@example.org" in capsys.readouterr().err
