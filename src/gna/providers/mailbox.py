"""The `mailbox` provider: mails become `.eml` files in a folder. Nothing leaves the machine."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gna.errors import CannotStart
from gna.mail.compile import Mail
from gna.providers.protocol import Accepted, Outcome, Report, TryLater

# So many files are written before the loop hears of them.
TOGETHER = 50
# Bytes: as much as a mail.
TRIAL = 32 * 1024


class Mailbox:
    """Writes each mail as `<message id>.eml`, so that the same mail sent twice is one file."""

    exactly_once = True
    international = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def send(self, mails: Sequence[Mail], report: Report) -> None:
        """Write in a thread, urgent mails first: disks make an event loop wait."""
        turn = sorted(mails, key=lambda mail: not mail.urgent)
        for start in range(0, len(turn), TOGETHER):
            group = turn[start : start + TOGETHER]
            for mail, outcome in await asyncio.to_thread(self._deliver_all, group):
                report(mail, outcome)

    def recall(self) -> Sequence[Mail]:
        """A file is written in no time: what was taken is finished."""
        return ()

    def share(self, workers: int) -> None:
        """There are no connections to share."""

    async def check(self) -> str:
        """The folder can be written, or made where it will be."""
        nearest = next(path for path in (self._folder, *self._folder.absolute().parents) if path.exists())
        if not nearest.is_dir():
            raise CannotStart(f"MAILBOX_DIR {self._folder} cannot be used: {nearest} is not a folder.")
        try:
            # Trying is the only proof: permissions alone do not tell of read-only or full disks.
            with tempfile.TemporaryFile(dir=nearest) as trial:
                trial.write(bytes(TRIAL))
                trial.flush()
        except OSError as error:
            raise CannotStart(f"MAILBOX_DIR {self._folder} cannot be used: {error.strerror}.") from None
        return f"mails are written to {self._folder}"

    async def close(self) -> None:
        """Nothing is kept open."""

    def _deliver_all(self, mails: Sequence[Mail]) -> list[tuple[Mail, Outcome]]:
        return [(mail, self._deliver(mail)) for mail in mails]

    def _deliver(self, mail: Mail) -> Outcome:
        try:
            raw = mail.raw()
        except Exception as error:
            # The class alone: what it says may hold what was to be in the mail.
            return TryLater(f"The mail could not be composed: {type(error).__name__}")
        return self._write(mail.id, raw)

    def _write(self, id: str, raw: bytes) -> Outcome:
        file = self._folder / f"{id}.eml"
        part = file.with_suffix(".part")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(part, "wb", opener=_private) as writing:
                writing.write(raw)
            # Renaming is atomic: a reader of the folder never sees half a mail.
            part.rename(file)
        except OSError as error:
            return TryLater(f"The mailbox folder cannot be written: {error.strerror}")
        return Accepted(id)


def _private(path: str, flags: int) -> int:
    """Open for the owner alone, whatever the folder's own mode is."""
    return os.open(path, flags, 0o600)
