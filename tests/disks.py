"""Disks that are small, full or read-only, and a process that may not write: as far as this machine permits them."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A disk of its own size, in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self, *, leaving: int = 0) -> None:
        """Leave so many bytes of room, or none at all."""
        with self._ballast.open("ab", buffering=0) as ballast:
            try:
                while shutil.disk_usage(self.folder).free > leaving or leaving == 0:
                    ballast.write(bytes(4096))
            except OSError:
                return

    def make_room(self) -> None:
        """Have room again."""
        self._ballast.unlink()

    def make_read_only(self) -> None:
        """As a disk becomes after an error."""
        _mount("-o", "remount,ro", str(self.folder))

    def make_writable(self) -> None:
        """As before."""
        _mount("-o", "remount,rw", str(self.folder))


@contextmanager
def small_disk(folder: Path, *, megabytes: int) -> Iterator[SmallDisk]:
    """A mounted disk of that size; without the right to mount, the test is skipped."""
    folder.mkdir()
    try:
        _mount("-t", "tmpfs", "-o", f"size={megabytes}m,mode=777", "tmpfs", str(folder))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount a small disk; run the tests as root, with CAP_SYS_ADMIN")
    try:
        yield SmallDisk(folder)
    finally:
        # Lazily: a server may still be closing its files.
        subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True, timeout=30)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True, timeout=30)


def bound_by_modes() -> tuple[str, ...]:
    """The start of a command line for a process that file modes bind, as they bind every user but root."""
    if os.geteuid() != 0:
        return ()
    prefix = ("setpriv", "--bounding-set=-dac_override")
    try:
        subprocess.run([*prefix, "true"], check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("root may write everywhere, and setpriv cannot take that right away here")
    return prefix
