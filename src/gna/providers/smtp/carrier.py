"""One open connection that carries mails.

Where the server can, each mail takes one write and one round trip: the content of a mail, its final dot, and the
envelope of the next mail travel together. Everything happens in callbacks, without a task switch: that is what
makes it fast. At any time one method waits for the next reply (`_handle`), and at most one is about to write
(`_then`); it writes once all that the server has said was heard, so that a reply too many is noticed.
"""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING

from gna.mail.address import without_addresses
from gna.providers.protocol import Accepted, RefusedForGood, TryLater, Unknown
from gna.providers.smtp.envelope import Envelope, envelope
from gna.providers.smtp.offers import Offers
from gna.providers.smtp.opening import QUIT, let_go
from gna.providers.smtp.parcel import Parcel
from gna.providers.smtp.replies import (
    GARBAGE,
    REFUSES_US,
    Reader,
    Reply,
    Stage,
    enhanced,
    outcome,
    queue_id,
    reason,
)

if TYPE_CHECKING:
    from gna.providers.smtp.pool import Pool

DATA, DOT, RESET = b"DATA\r\n", b".\r\n", b"RSET\r\n"
GO_AHEAD, LEAVING, BAD_SEQUENCE = 354, 421, 503
# Encryption makes what waits to be written longer than what was said; two records at most hold an envelope.
ENCRYPTION = 512
SHUTTING_DOWN = (3, 2)


class State(Enum):
    """What a connection is at."""

    RESTING = "resting"
    WORKING = "working"
    LEAVING = "leaving"
    OVER = "over"


class Group(Enum):
    """How the commands of an envelope were sent together. A server may understand the one and not the other."""

    ALONE = "alone"
    BEHIND_CONTENT = "behind content"


class Carrier(asyncio.Protocol):
    """Takes mails from the pool, hands them over and settles them, until there are none or the connection ends."""

    def __init__(self, pool: "Pool", transport: asyncio.Transport, offers: Offers) -> None:
        self.state = State.RESTING
        self.fruitful = False  # whether the server ever said what became of a mail
        self.closed = asyncio.get_running_loop().create_future()
        self._pool = pool
        self._known = pool.known
        self._times = pool.timeouts
        self._transport = transport
        self._offers = offers
        self._reader = Reader()
        self._handle: Callable[[Reply], None] = self._on_too_many
        self._then: Callable[[], None] | None = None
        self._mail: Parcel | None = None  # the mail that is being handed over
        self._next: Parcel | None = None  # the mail whose envelope went behind the content of that one
        self._content_went = False  # whether the content of `_mail` was written, with its dot
        self._group: Group | None = None  # how the last envelope was sent, if its commands went together
        self._refusal: RefusedForGood | TryLater | None = None  # of `_mail`, while the server tidies up
        self._begun = 0
        self._now = asyncio.get_running_loop().time
        self._deadline = self._now() + self._times.idle
        self._beat = asyncio.get_running_loop().call_later(self._times.beat, self._look_at_the_clock)
        transport.set_protocol(self)

    # -- What the pool and the event loop call --

    def work(self) -> None:
        """Begin the next mail; rest if there is none."""
        self._mail = self._take()
        if self._mail is None:
            self._rest()
            return
        self.state = State.WORKING
        self._write_envelope()

    def leave(self) -> None:
        """Say goodbye; whatever the server still says is of no interest."""
        self.state = State.LEAVING
        self._wait(self._on_goodbye, self._times.goodbye)
        self._then = None
        self._transport.write(QUIT)

    def abort(self) -> None:
        """Let go of the connection at once; its mails are settled or go back."""
        self._end("The sender was closed.")
        let_go(self._transport)

    def data_received(self, data: bytes) -> None:
        """Hear all that was said, then go on."""
        for reply in self._reader.feed(data):
            self._handle(reply)
        while self._then is not None and not self._reader.in_between:
            then, self._then = self._then, None
            then()

    def eof_received(self) -> None:
        """The server hung up. What it has not read by now it will not read."""
        self._lose("The mail server hung up.")

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is gone, by whomever."""
        self._lose(f"The connection to the mail server broke: {error or 'it hung up'}.")
        self._beat.cancel()
        if not self.closed.done():
            self.closed.set_result(None)

    # -- Writing --

    def _write_envelope(self) -> None:
        mail = self._present
        if self._may_pipeline():
            self._group = Group.ALONE
            self._wait(self._on_mail, self._group_patience())
            self._transport.write(mail.envelope.mail_from + mail.envelope.rcpt_to + DATA)
        else:
            self._group = None
            self._wait(self._on_mail, self._times.reply)
            self._transport.write(mail.envelope.mail_from)

    def _write_recipient(self) -> None:
        self._wait(self._on_rcpt, self._times.reply)
        self._transport.write(self._present.envelope.rcpt_to)

    def _write_data(self) -> None:
        self._wait(self._on_data, self._times.reply)
        self._transport.write(DATA)

    def _write_content(self) -> None:
        """The content and its dot; behind them the envelope of the next mail, if there is one.

        No line of a content begins with a dot (`Mail.raw`), so that none needs to be doubled: looking for them would
        take as long as everything else here.
        """
        mail = self._present
        if not mail.mail.may_be_sent():
            # The envelope left before this process was stopped for a while; only a new connection forgets it.
            self._end("This process was stopped, and another worker may be sending its mails.", excused=True)
            return
        following = self._take() if self._may_pipeline() else None
        self._next = following
        self._content_went = True
        self._wait(self._on_content, self._times.content)
        if following is None:
            mail.content.append(DOT)
        else:
            self._group = Group.BEHIND_CONTENT
            mail.content += (DOT, *following.envelope, DATA)
        self._transport.write(b"".join(mail.content))
        mail.content = []  # the transport has it now

    def _write_lone_dot(self) -> None:
        """There is nobody to get it: RFC 2920 ends such a mail at once, without content."""
        self._wait(self._on_tidied, self._times.reply)
        self._transport.write(DOT)

    def _write_reset(self) -> None:
        self._wait(self._on_tidied, self._times.reply)
        self._transport.write(RESET)

    # -- Replies, in the order of a mail --

    def _on_mail(self, reply: Reply) -> None:
        if 200 <= reply.code < 300:
            self._begun += 1
        elif not self._bear_refusal(Stage.MAIL, reply):
            return
        if self._group:
            self._handle = self._on_rcpt
        else:
            self._continue(self._settle_refusal if self._refusal else self._write_recipient)

    def _on_rcpt(self, reply: Reply) -> None:
        if 200 <= reply.code < 300:
            if self._refusal:
                # A recipient without a sender: an end of this would send an empty mail.
                self._misunderstood(reply)
                return
        elif not self._bear_refusal(Stage.RCPT, reply):
            return
        if self._group:
            self._handle = self._on_data
        else:
            self._continue(self._write_reset if self._refusal else self._write_data)

    def _on_data(self, reply: Reply) -> None:
        if reply.code == GO_AHEAD:
            self._continue(self._write_lone_dot if self._refusal else self._write_content)
            if self._group:
                self._known.groups.add(self._group)
        elif self._bear_refusal(Stage.DATA, reply):
            self._continue(self._write_reset)

    def _on_content(self, reply: Reply) -> None:
        mail = self._present
        if 200 <= reply.code < 300:
            if self._dot_is_here():
                self._misunderstood(reply)  # it cannot have what was not sent
                return
            self._move_on()
            mail.settle(Accepted(queue_id(reply.text)))
        elif reply.code >= 400:
            self._move_on()
            mail.settle(outcome(Stage.CONTENT, reply))
        else:
            self._end(f"The mail server answered with what is no answer: {reason(reply)}")
            return
        if reply.code == LEAVING:
            self._end(without_addresses(reason(reply)))

    def _on_tidied(self, reply: Reply) -> None:
        """Whatever it says to RSET or a lone dot, the mail before is over."""
        self._settle_refusal()
        if reply.code == LEAVING or reply.code == GARBAGE:
            self._end(without_addresses(reason(reply)))

    def _on_goodbye(self, _: Reply) -> None:
        self._transport.close()

    def _on_too_many(self, reply: Reply) -> None:
        """Nothing was asked."""
        if reply.code == LEAVING:
            self._end(without_addresses(reason(reply)))
        else:
            self._misunderstood(reply)

    # -- Moves --

    def _continue(self, then: Callable[[], None]) -> None:
        """Write once everything was heard; until then the server has nothing to say."""
        self._then = then
        self._handle = self._on_too_many

    def _move_on(self) -> None:
        """The present mail is decided. The next may have been begun behind it."""
        self.fruitful = True
        self._content_went = False
        self._refusal = None
        self._mail, self._next = self._next, None
        if self._mail is None:
            self._continue(self.work)
        else:
            self._wait(self._on_mail, self._group_patience())

    def _settle_refusal(self) -> None:
        mail, refusal = self._present, self._refusal
        self._move_on()
        if refusal:
            mail.settle(refusal)

    def _rest(self) -> None:
        if self._is_used_up():
            self._known.limit_was_kept()
            self._pool.retire(self)
            return
        if self._pool.is_too_large:
            self._pool.retire(self)
            return
        self.state = State.RESTING
        self._wait(self._on_too_many, self._times.idle)
        self._pool.rested(self)

    def _take(self) -> Parcel | None:
        """The next mail from the queue, with its envelope; those that this server cannot take are settled here."""
        if self._is_used_up() or self._pool.is_too_large:
            return None
        while parcel := self._pool.next():
            try:
                parcel.content = parcel.mail.pieces()
                written = envelope(parcel.mail, sum(map(len, parcel.content)), self._offers)
            except Exception as error:
                # The class alone: what it says may hold what was to be in the mail.
                parcel.settle(TryLater(f"The mail could not be composed: {type(error).__name__}"))
                continue
            if isinstance(written, Envelope):
                parcel.envelope = written
                return parcel
            parcel.settle(written)
        return None

    # -- When it does not go as it should --

    def _bear_refusal(self, stage: Stage, reply: Reply) -> bool:
        """Keep what a refusal means for the mail. False if it ended the connection instead."""
        if self._refusal and reply.code >= 400 and reply.code != LEAVING:
            return True  # it follows from the first
        if reply.code < 400 or (self._group and reply.code == BAD_SEQUENCE):
            self._misunderstood(reply)
            return False
        meaning = outcome(stage, reply)
        assert isinstance(meaning, RefusedForGood | TryLater)
        if not self._is_about_the_connection(stage, reply, meaning):
            self._refusal = meaning
            if reply.code != LEAVING and reply.code not in REFUSES_US:
                return True
        self._end(without_addresses(reason(reply)))
        return False

    def _is_about_the_connection(self, stage: Stage, reply: Reply, meaning: RefusedForGood | TryLater) -> bool:
        """Whether the mail is not to blame: the server has had enough of this connection."""
        if not isinstance(meaning, TryLater) or meaning.after or meaning.away:
            return False
        if stage is Stage.MAIL and self._begun:
            if enhanced(reply) != SHUTTING_DOWN:
                self._known.limit(self._begun)
            return True
        return reply.code == LEAVING

    def _misunderstood(self, reply: Reply) -> None:
        """A reply that cannot be one to what was asked. Without pipelining there is less to get wrong."""
        self._known.pipelining = False
        self._end(f"The mail server answered out of turn: {reason(reply)}", excused=self._group is not None)

    def _lose(self, why: str) -> None:
        """The server fell silent or hung up, without a word."""
        if self.state in (State.LEAVING, State.OVER):
            return
        in_doubt = self._pipelining_is_in_doubt()
        if in_doubt:
            self._known.pipelining = False
        elif self.fruitful and self._mail and not self._content_went:
            self._known.hung_up_after(self._begun)
        self._end(why, excused=in_doubt)

    def _end(self, why: str, *, excused: bool = False) -> None:
        """The connection is no good any more: say of each of its mails what is known, and go."""
        if self.state in (State.LEAVING, State.OVER):
            return
        excused = excused or self.state is State.RESTING
        self.state = State.OVER
        self._handle, self._then = self._on_goodbye, None
        dot_is_here = self._dot_is_here()
        let_go(self._transport)
        self._give_back(why, dot_is_here=dot_is_here)
        self._pool.ended(self, why, excused=excused)

    def _give_back(self, why: str, *, dot_is_here: bool) -> None:
        mail, following = self._mail, self._next
        self._mail = self._next = None
        if following:
            self._pool.put_back(following, why)
        if not mail:
            return
        if self._refusal:
            mail.settle(self._refusal)
        elif not self._content_went:
            self._pool.put_back(mail, why)
        else:
            mail.settle(TryLater(why) if dot_is_here else Unknown(why))

    def _dot_is_here(self) -> bool:
        """Whether the final dot certainly never left: more is unwritten than what stands behind it."""
        behind = sum(map(len, self._next.envelope)) + len(DATA) if self._next else 0
        return self._transport.get_write_buffer_size() > behind + ENCRYPTION

    def _look_at_the_clock(self) -> None:
        if self._now() > self._deadline:
            self._be_impatient()
        if not self.closed.done():
            self._beat = asyncio.get_running_loop().call_later(self._times.beat, self._look_at_the_clock)

    def _be_impatient(self) -> None:
        if self.state is State.RESTING:
            self._pool.retire(self)
        elif self.state is State.WORKING:
            self._lose("The mail server did not answer in time.")
        else:
            let_go(self._transport)

    # -- Questions --

    @property
    def _present(self) -> Parcel:
        assert self._mail is not None
        return self._mail

    def _wait(self, handle: Callable[[Reply], None], patience: float) -> None:
        self._handle = handle
        self._deadline = self._now() + patience

    def _may_pipeline(self) -> bool:
        return self._offers.pipelining and self._known.pipelining

    def _group_patience(self) -> float:
        return self._times.reply if self._group in self._known.groups else self._times.pipelining

    def _pipelining_is_in_doubt(self) -> bool:
        """An envelope sent together is not fully answered, and this server has never answered one sent so."""
        waits = self._next or (self._mail and not self._content_went and not self._refusal)
        return bool(waits and self._group and self._group not in self._known.groups)

    def _is_used_up(self) -> bool:
        limit = self._known.mails_per_connection
        return limit is not None and self._begun >= limit
