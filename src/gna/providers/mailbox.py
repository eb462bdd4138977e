"""The `mailbox` provider: mails become `.eml` files in a folder. Nothing leaves the machine."""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gna.errors import CannotStart
from gna.providers.protocol import Accepted, Outcome, Outgoing, TryLater


class Mailbox:
    """Writes each mail as `<message id>.eml`, so that the same mail sent twice is one file."""

    exactly_once = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[Outcome]:
        """Write the batch in a thread: disks make an event loop wait."""
        return await asyncio.to_thread(lambda: [self._write(mail) for mail in batch])

    async def check(self) -> str:
        """The folder can be written, or made where it will be."""
        nearest = next(path for path in (self._folder, *self._folder.absolute().parents) if path.exists())
        if not nearest.is_dir():
            raise CannotStart(f"MAILBOX_DIR {self._folder} cannot be used: {nearest} is not a folder.")
        try:
            # Trying is the only proof: permissions alone do not tell of read-only disks.
            tempfile.TemporaryDirectory(dir=nearest).cleanup()
        except OSError as error:
            raise CannotStart(f"MAILBOX_DIR {self._folder} cannot be used: {error.strerror}.") from None
        return f"mails are written to {self._folder}"

    def _write(self, mail: Outgoing) -> Outcome:
        file = self._folder / f"{mail.id}.eml"
        part = file.with_suffix(".part")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(part, "wb", opener=_private) as writing:
                writing.write(mail.raw)
            # Renaming is atomic: a reader of the folder never sees half a mail.
            part.rename(file)
        except OSError as error:
            return TryLater(f"The mailbox folder cannot be written: {error.strerror}")
        return Accepted(mail.id)


def _private(path: str, flags: int) -> int:
    """Open for the owner alone, whatever the folder's own mode is."""
    return os.open(path, flags, 0o600)
