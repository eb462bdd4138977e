"""Whatever a feed does, it does it to a process of its own, which has limits."""

import asyncio
import gc
import os
import sys
from pathlib import Path

import pytest

from gna.feeds.entry import Document, Entry
from gna.feeds.reading import child, passing, reader
from gna.feeds.reading.parse import NotAFeed, read
from gna.feeds.reading.reader import read_apart
from tests.feeds.documents import KEPT, URL, Kept, as_json, assert_sound
from tests.feeds.measuring import measured
from tests.feeds.recipes import RECIPES, feed_of
from tests.running import until

# What reading any document may cost, however it is written: seconds of CPU and bytes.
SECONDS_MAX, MEMORY_MAX = 3.0, 150 * 10**6
# An ordinary feed, which is all of them nearly always.
SECONDS_ORDINARY, MEMORY_ORDINARY = 1.0, 60 * 10**6


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.path.name)
def test_every_document_is_read_apart_within_its_limits(kept: Kept) -> None:
    reading = measured(kept.body, content_type=kept.content_type)
    if isinstance(reading.outcome, NotAFeed):
        assert str(reading.outcome) == kept.expected["refused"]
    else:
        assert as_json(reading.outcome) == kept.expected["document"]
    assert reading.seconds < SECONDS_ORDINARY
    assert reading.memory < MEMORY_ORDINARY


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_large_document_is_read_apart_as_its_recipe_says_and_within_its_limits(name: str) -> None:
    recipe = RECIPES[name]
    reading = measured(recipe.make())
    if isinstance(reading.outcome, NotAFeed):
        assert recipe.refusal
        assert recipe.refusal in str(reading.outcome)
    else:
        titles = [entry.title for entry in reading.outcome.entries]
        assert (len(titles), titles[0], titles[-1]) == (recipe.entries, recipe.first, recipe.last)
        assert_sound(reading.outcome)
    assert reading.seconds < SECONDS_MAX
    assert reading.memory < MEMORY_MAX


def test_a_document_comes_back_exactly_as_it_was_read() -> None:
    body = feed_of(20)
    assert asyncio.run(read_apart(body, content_type="", url=URL)) == read(body, url=URL)
    for document in (Document(), Document("Ü\u2028", "https://x.example/", (Entry("1"), Entry()), "h", "t")):
        assert passing.answered(passing.answer(document)) == document


def test_a_question_keeps_every_byte() -> None:
    body = bytes(range(256)) * 2
    told = passing.asked(body, content_type='x; charset="\n"', url="https://x.example/ä")
    assert passing.question(told) == (body, 'x; charset="\n"', "https://x.example/ä")


def instead(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """The child runs this code in the place of its own."""
    monkeypatch.setattr(reader, "COMMAND", [sys.executable, "-Ic", code])


DEATHS = {
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "failed": "import sys; sys.stdin.buffer.read(); sys.exit(1)",
    "deaf": "import os; os.close(0); os._exit(3)",
    "memory": "from gna.feeds.reading import child; child._limit(); bytearray(child.MEMORY)",
    "time": "from gna.feeds.reading import child; child.SECONDS = 1; child._limit()\nwhile True: pass",
}


@pytest.mark.parametrize("death", sorted(DEATHS))
def test_a_child_that_dies_is_a_feed_that_takes_too_much(monkeypatch: pytest.MonkeyPatch, death: str) -> None:
    instead(monkeypatch, DEATHS[death])
    complaints: list[object] = []

    async def read() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        with pytest.raises(NotAFeed, match="too much time or memory"):
            await read_apart(feed_of(1000), content_type="", url=URL)
        gc.collect()

    asyncio.run(read())
    assert complaints == []


def test_a_child_that_sleeps_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    instead(monkeypatch, SLEEPER.format(tmp_path / "pid"))
    monkeypatch.setattr(reader, "PATIENCE", 1.0)
    with pytest.raises(NotAFeed, match="too much time or memory"):
        asyncio.run(read_apart(b"x", content_type="", url=URL))
    assert is_gone(tmp_path / "pid")


def test_a_child_that_never_stops_talking_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    instead(monkeypatch, "import os\nwhile True: os.write(1, b'x' * 65536)")
    monkeypatch.setattr(reader, "PATIENCE", 0.5)
    with pytest.raises(NotAFeed, match="too much time or memory"):
        asyncio.run(asyncio.wait_for(read_apart(b"x", content_type="", url=URL), 20))


def test_a_child_that_nobody_waits_for_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    instead(monkeypatch, SLEEPER.format(tmp_path / "pid"))

    async def leave() -> None:
        task = asyncio.create_task(read_apart(b"x", content_type="", url=URL))
        await asyncio.to_thread(until, (tmp_path / "pid").exists, within=20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    assert is_gone(tmp_path / "pid")


SLEEPER = """
import os, time
open("{0}~", "w").write(str(os.getpid()))
os.rename("{0}~", "{0}")
time.sleep(60)
"""


def is_gone(pid: Path) -> bool:
    try:
        os.kill(int(pid.read_text()), 0)
    except ProcessLookupError:
        return True
    return False


def test_the_loop_goes_on_while_a_feed_is_read() -> None:
    async def turns() -> int:
        reading = asyncio.create_task(read_apart(feed_of(5000), content_type="", url=URL))
        count = 0
        while not reading.done():
            await asyncio.sleep(0.005)
            count += 1
        assert len(reading.result().entries) == 1000
        return count

    # It takes half a second. Read in our own process, it would leave us a handful of turns.
    assert asyncio.run(turns()) > 20


def told_by(monkeypatch: pytest.MonkeyPatch, code: str) -> str:
    """What a child says of itself."""
    instead(monkeypatch, f"import json, os, sys; sys.stdin.buffer.read(); print(json.dumps({{'error': {code}}}))")
    with pytest.raises(NotAFeed) as refusal:
        asyncio.run(read_apart(b"", content_type="", url=URL))
    return str(refusal.value)


def test_the_child_sees_none_of_our_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNA_SECRET_OF_TEST", "secret")
    assert "GNA_SECRET_OF_TEST" not in told_by(monkeypatch, "' '.join(['Sees', *os.environ])")


def test_the_child_carries_no_more_than_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "[__import__(f'gna.feeds.reading.{name}') for name in ('child', 'parse', 'passing')] and ' '.join(sys.modules)"
    )
    carried = set(told_by(monkeypatch, code).split())
    assert "gna.feeds.reading.parse" in carried
    assert not carried & {
        "sqlalchemy",
        "starlette",
        "structlog",
        "pydantic",
        "asyncio",
        "gna.db",
        "gna.mail",
    }


def test_the_server_does_not_carry_the_library() -> None:
    code = "import sys, gna.feeds.reading.reader, gna.feeds.reading.parse; sys.exit('feedparser' in sys.modules)"
    assert os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-Ic", code) == 0


def test_the_limits_are_above_what_documents_need_and_below_what_hurts() -> None:
    assert MEMORY_MAX * 2 < child.MEMORY <= 2**30
    assert SECONDS_MAX * 2 < child.SECONDS < reader.PATIENCE
