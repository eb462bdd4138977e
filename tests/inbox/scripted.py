"""IMAP servers that say what a test wants, also what no server should."""

import re
import socket
from collections.abc import Callable, Collection, Mapping

from gna.inbox.sources.folder_names import numbers
from tests.servers.raw import Raw

Lines = list[str | bytes]
Answers = Callable[[str, str], Lines | None]


def a_server(answers: Answers, *, capabilities: str = "IMAP4rev1 AUTH=PLAIN SASL-IR") -> Raw:
    """An IMAP server that answers each command with lines; without any it says OK."""

    def does(connection: socket.socket) -> None:
        file = connection.makefile("rwb")

        def say(*lines: str | bytes) -> None:
            file.writelines(line if isinstance(line, bytes) else line.encode() + b"\r\n" for line in lines)
            file.flush()

        say(f"* OK [CAPABILITY {capabilities}] hello")
        while line := file.readline().decode("latin-1").rstrip():
            tag, _, command = line.partition(" ")
            lines = answers(tag, command)
            if lines is not None:
                say(*lines)
            elif command == "CAPABILITY":
                say(f"* CAPABILITY {capabilities}", f"{tag} OK done")
            elif command.startswith("AUTHENTICATE"):
                say("+ ")
                file.readline()
                say(f"{tag} OK done")
            else:
                say(f"{tag} OK done")

    return Raw(does)


class Script:
    """A folder of mails, of which some are not given; `fetches` are the commands that asked for any."""

    def __init__(self, mails: Mapping[int, bytes], *, no: str = "[SERVERBUG] sorry") -> None:
        self.mails, self.no = mails, no
        self.refused: Collection[int] = ()
        # Of these the header is given.
        self.bodiless: Collection[int] = ()
        self.fetches: list[str] = []

    def __call__(self, tag: str, command: str) -> Lines | None:
        if command.startswith("EXAMINE"):
            return [f"* {len(self.mails)} EXISTS", "* OK [UIDVALIDITY 7] fine", f"{tag} OK done"]
        if command.startswith("UID SEARCH"):
            first = int(re.findall(r"UID (\d+):", command)[0])
            return [f"* SEARCH {' '.join(str(uid) for uid in self.mails if uid >= first)}", f"{tag} OK done"]
        if command.startswith("UID FETCH"):
            self.fetches.append(command)
            return self._fetched(tag, command)
        return None

    def _fetched(self, tag: str, command: str) -> Lines:
        kept = {*self.refused, *(self.bodiless if "PEEK[]" in command else ())}
        uids = numbers(command.split()[2], most=10_000)
        if kept & {*uids}:
            return [f"{tag} NO {self.no}"]
        date = 'INTERNALDATE "16-Nov-2026 17:23:03 +0000"'
        mails = (f"* 1 FETCH (UID {uid} {date} BODY[] {{{len(self.mails[uid])}}}\r\n".encode() for uid in uids)
        return [*(start + self.mails[uid] + b")\r\n" for start, uid in zip(mails, uids, strict=True)), f"{tag} OK done"]
