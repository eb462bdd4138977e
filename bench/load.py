"""A load generator that costs little: prepared bytes over a few kept connections, one request at a time on each."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """What a server did with a number of requests."""

    seconds: float
    latencies: Sequence[float]
    statuses: frozenset[int]

    @property
    def per_second(self) -> float:
        """Requests answered in a second."""
        return len(self.latencies) / self.seconds

    @property
    def p99(self) -> float:
        """The time within which 99 of 100 were answered, in milliseconds."""
        return sorted(self.latencies)[int(len(self.latencies) * 0.99)] * 1000


def press(port: int, requests: Sequence[bytes], *, connections: int) -> Load:
    """Send the requests over so many connections and wait for every answer."""
    return asyncio.run(_press(port, requests, connections))


def post_json(path: str, body: bytes, **headers: str) -> bytes:
    """A request as bytes."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def get(path: str) -> bytes:
    """A request as bytes."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


async def trickle(
    port: int,
    requests: Iterable[bytes],
    *,
    connections: int,
    per_second: float,
    answered: Callable[[bytes], None] | None = None,
) -> Load:
    """Send the requests evenly over time, as long as there are any; `answered` is told of each.

    The time of each is counted from when it was to be sent: if it had to wait for a connection, that counts.
    """
    began = time.perf_counter()
    due = ((began + number / per_second, request) for number, request in enumerate(requests))
    latencies, statuses = list[float](), set[int]()

    async def keep_asking(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for moment, request in due:
            await asyncio.sleep(moment - time.perf_counter())
            statuses.add(await _ask(reader, writer, request))
            latencies.append(time.perf_counter() - moment)
            if answered:
                answered(request)
        writer.close()

    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(connections)]
    await asyncio.gather(*(keep_asking(*stream) for stream in streams))
    return Load(time.perf_counter() - began, latencies, frozenset(statuses))


async def _press(port: int, requests: Sequence[bytes], connections: int) -> Load:
    waiting, latencies, statuses = iter(requests), [], set[int]()
    streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(connections)]
    began = time.perf_counter()
    results = await asyncio.gather(*(_keep_asking(reader, writer, waiting) for reader, writer in streams))
    seconds = time.perf_counter() - began
    for times, seen in results:
        latencies += times
        statuses |= seen
    for _, writer in streams:
        writer.close()
    return Load(seconds, latencies, frozenset(statuses))


async def _keep_asking(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, waiting: Iterator[bytes]
) -> tuple[list[float], set[int]]:
    times, statuses = [], set()
    for request in waiting:
        began = time.perf_counter()
        statuses.add(await _ask(reader, writer, request))
        times.append(time.perf_counter() - began)
    return times, statuses


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> int:
    """The status of the answer, once all of it is here."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    start = lower.index(b"content-length:") + 15
    await reader.readexactly(int(lower[start : lower.index(b"\r\n", start)]))
    return int(head[9:12])
