"""Reading an answer that may be a trap: it is unpacked in small pieces, and counted before and after."""

import asyncio
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from io import BytesIO

GZIP = 31  # zlib's number for: with the header and the checksum of gzip
PIECE = 65_536
# A web server sends kilobytes at a time. Each piece is work for us, and a flood of crumbs would be work for minutes.
PIECES_MAX = 20_000
# After so many, others get their turn, even if the next ones are here already.
TURN = 50


class TooLarge(Exception):
    """There is more than was asked for."""


class TooManyPieces(Exception):
    """It comes in crumbs."""


class CutOff(Exception):
    """The end is missing."""


class Gunzip:
    """Unpacks gzip. Libraries unpack whatever arrived at once, and a packed kilobyte can be a megabyte."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(GZIP)
        self._is_open = False
        self._is_first = True
        self._is_over = False

    @property
    def is_whole(self) -> bool:
        """Whether what came so far could be all of it."""
        return not self._is_open

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What these bytes unpack to, piece by piece, so that whoever counts can stop in between."""
        while data and not self._is_over:
            if not self._is_open:
                data = self._begin(data)
                continue
            if piece := self._member.decompress(data, PIECE):
                yield piece
            self._is_open = not self._member.eof
            data = self._member.unconsumed_tail if self._is_open else self._member.unused_data

    def _begin(self, data: bytes) -> bytes:
        """A file may have several members, and servers put zeros or other rubbish behind the last one."""
        data = data if self._is_first else data.lstrip(b"\0")
        self._is_over = bool(data) and not self._is_first and not data.startswith(b"\x1f")
        if data and not self._is_over:
            self._member, self._is_open, self._is_first = zlib.decompressobj(GZIP), True, False
        return data


async def beginning(chunks: AsyncIterable[bytes], *, is_packed: bool, largest: int) -> AsyncIterator[bytes]:
    """The first pieces, until there are `largest` bytes of them; raises TooManyPieces or zlib.error."""
    gunzip, length, count = Gunzip(), 0, 0
    async for chunk in chunks:
        count += 1
        if count > PIECES_MAX:
            raise TooManyPieces
        if count % TURN == 0:
            await asyncio.sleep(0)
        for piece in gunzip.pieces(chunk) if is_packed else (chunk,):
            yield piece
            length += len(piece)
            if length >= largest:
                return


async def read(chunks: AsyncIterable[bytes], *, is_packed: bool, largest: int) -> bytes:
    """The whole body; raises TooLarge, TooManyPieces, CutOff or zlib.error."""
    # One buffer, which is the body in the end: a list of a million chunks of one byte weighs fifty times as much.
    body, arrived, gunzip, count = BytesIO(), 0, Gunzip(), 0
    async for chunk in chunks:
        arrived, count = arrived + len(chunk), count + 1
        if count > PIECES_MAX:
            raise TooManyPieces
        if count % TURN == 0:
            await asyncio.sleep(0)
        if arrived > largest:
            raise TooLarge
        for piece in gunzip.pieces(chunk) if is_packed else (chunk,):
            body.write(piece)
            if body.tell() > largest:
                raise TooLarge
    if not gunzip.is_whole:
        raise CutOff
    return body.getvalue()
