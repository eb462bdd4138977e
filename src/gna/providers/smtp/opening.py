"""Opening a connection: the greeting, encryption and login. After it the connection is ready to carry mails."""

import asyncio
import base64
import os
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from gna.errors import CannotStart, ProviderAway
from gna.providers.smtp.offers import Offers, offers
from gna.providers.smtp.replies import Reader, Reply, enhanced, reason
from gna.providers.smtp.server import Auth, Server, Timeouts, Tls

GREETING, WELCOME, DONE, LOGGED_IN, CONTINUE = 220, 220, 250, 235, 334
QUIT = b"QUIT\r\n"
BY_OURSELVES = (Auth.PLAIN, Auth.LOGIN)  # the ways that we choose from, best first


class Opened(NamedTuple):
    """A connection that is ready, and what its server can do."""

    transport: asyncio.Transport
    offers: Offers


class Conversation(asyncio.Protocol):
    """Question and answer, one at a time."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._replies: asyncio.Queue[Reply | None] = asyncio.Queue()
        self.is_lost = False

    def data_received(self, data: bytes) -> None:
        for reply in self._reader.feed(data):
            self._replies.put_nowait(reply)

    def connection_lost(self, _: Exception | None) -> None:
        self.is_lost = True
        self._replies.put_nowait(None)

    async def answer(self, patience: float) -> Reply:
        """The next reply."""
        async with asyncio.timeout(patience):
            reply = await self._replies.get()
        if reply is None:
            raise ConnectionResetError("The server hung up")
        return reply

    @property
    def is_over(self) -> bool:
        """Whether all that the server said was listened to."""
        return self._replies.empty() and not self._reader.in_between


class Opening:
    """The steps from nothing to a connection that is ready, in their order."""

    def __init__(self, server: Server, timeouts: Timeouts, tls: Callable[[], ssl.SSLContext]) -> None:
        self._server = server
        self._timeouts = timeouts
        self._tls = tls
        self._conversation = Conversation()
        self._transport: asyncio.Transport | None = None
        self.offers = Offers()

    async def open(self) -> Opened:
        """Raises CannotStart if only the operator can mend it, and ProviderAway if it may mend itself."""
        try:
            return await self._steps()
        except BaseException as error:
            if self._transport:
                let_go(self._transport)
            raise self._in_our_words(error) from None

    async def try_sender(self, sender: str) -> None:
        """Find out whether mail from this address would be taken, without sending any."""
        try:
            reply = await self._ask(f"MAIL FROM:<{sender}>")
        except Exception as error:
            raise self._in_our_words(error) from None
        if reply.code >= 400:
            advice = "Is a user missing in SMTP_URL, or ?tls=starttls, or must EMAIL_FROM_ADDRESS be another?"
            raise self._refusal(f"takes no mail from {sender}", reply, advice)

    async def leave(self) -> None:
        """Say goodbye again, and wait a moment for the answer."""
        with suppress(OSError):
            self._wire.write(QUIT)
            await self._conversation.answer(self._timeouts.goodbye)
            self._wire.close()
            await self._conversation.answer(self._timeouts.goodbye)  # there is none: it ends with the connection
        let_go(self._wire)

    async def _steps(self) -> Opened:
        await self._connect()
        await self._greet()
        if self._server.tls is Tls.STARTTLS:
            await self._encrypt()
            await self._introduce()
        if self._server.user is not None and (self.offers.auth or not self._server.may_skip_login):
            await self._log_in(self._server.user, self._server.password or "")
        if self._conversation.is_lost or not self._conversation.is_over:
            raise ProviderAway(f"{self._server.where} said more than it was asked.")
        return Opened(self._wire, self.offers)

    @property
    def _wire(self) -> asyncio.Transport:
        if self._transport is None:
            raise ConnectionResetError("The server hung up")
        return self._transport

    async def _connect(self) -> None:
        loop, server = asyncio.get_running_loop(), self._server
        context = self._tls() if server.tls is Tls.IMPLICIT else None
        name = server.host if context else None
        async with asyncio.timeout(self._timeouts.connect):
            self._transport, _ = await loop.create_connection(
                lambda: self._conversation, server.host, server.port, ssl=context, server_hostname=name
            )

    async def _greet(self) -> None:
        reply = await self._conversation.answer(self._timeouts.reply)
        if reply.code != GREETING:
            raise self._refusal("refuses connections", reply, "Ask who runs it.")
        await self._introduce()

    async def _introduce(self) -> None:
        """Say who we are and learn what the server can do; the oldest servers know HELO alone."""
        name = _own_name(self._wire)
        reply = await self._ask(f"EHLO {name}")
        self.offers = offers(reply) if reply.code == DONE else Offers()
        if reply.code >= 500:
            reply = await self._ask(f"HELO {name}")
        if reply.code != DONE:
            raise self._refusal("does not want to talk to us", reply, "Ask who runs it.")

    async def _encrypt(self) -> None:
        where = self._server.where
        if not self.offers.starttls:
            raise CannotStart(
                f"{where} does not offer STARTTLS, so nothing was sent to it. If it encrypts from the first byte, "
                "add ?tls=implicit to SMTP_URL; if the way to it is safe without, add ?tls=none."
            )
        reply = await self._ask("STARTTLS")
        if reply.code != WELCOME:
            raise self._refusal("offers STARTTLS and refuses it", reply, "Ask who runs it.")
        if not self._conversation.is_over:
            # Somebody on the way may have put it there, to be taken for what the server says encrypted.
            raise ProviderAway(f"{where} spoke between STARTTLS and the encryption; nothing was sent.")
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._timeouts.connect):
            self._transport = await loop.start_tls(
                self._wire, self._conversation, self._tls(), server_hostname=self._server.host
            )

    async def _log_in(self, user: str, password: str) -> None:
        ways: dict[Auth, Callable[[str, str], Awaitable[Reply]]] = {
            Auth.PLAIN: self._plain,
            Auth.LOGIN: self._login,
            Auth.XOAUTH2: self._xoauth2,
        }
        reply = await ways[self._server.auth or self._best_way()](user, password)
        if reply.code != LOGGED_IN:
            # The code alone: some servers repeat what they were told, and that is the password.
            code = reply.text.partition(b" ")[0] if enhanced(reply) else b""
            raise self._refusal(
                "refuses the login", Reply(reply.code, code), "Check the user and the password in SMTP_URL."
            )

    def _best_way(self) -> Auth:
        for way in BY_OURSELVES:
            if way.upper() in self.offers.auth:
                return way
        offered = ", ".join(sorted(self.offers.auth)).lower() or "none"
        raise CannotStart(
            f"{self._server.where} offers no way to log in that Gna uses by itself (it offers: {offered}). "
            "Remove the user from SMTP_URL, add ?auth=xoauth2 if the password is a token, or see to its encryption."
        )

    async def _plain(self, user: str, password: str) -> Reply:
        return await self._ask("AUTH PLAIN " + _base64(f"\0{user}\0{password}"))

    async def _login(self, user: str, password: str) -> Reply:
        reply = await self._ask("AUTH LOGIN")
        for answer in (user, password):
            if reply.code == CONTINUE:
                reply = await self._ask(_base64(answer))
        return reply

    async def _xoauth2(self, user: str, token: str) -> Reply:
        reply = await self._ask("AUTH XOAUTH2 " + _base64(f"user={user}\1auth=Bearer {token}\1\1"))
        # A refusal comes as a question with the details; the empty answer brings the code.
        return await self._ask("") if reply.code == CONTINUE else reply

    async def _ask(self, line: str) -> Reply:
        self._wire.write(f"{line}\r\n".encode())
        return await self._conversation.answer(self._timeouts.reply)

    def _refusal(self, what: str, reply: Reply, advice: str) -> CannotStart | ProviderAway:
        said = f"{self._server.where} {what}: {reason(reply).rstrip('.')}."
        return CannotStart(f"{said} {advice}") if reply.code >= 500 else ProviderAway(said)

    def _in_our_words(self, error: BaseException) -> BaseException:
        where = self._server.where
        if isinstance(error, ssl.SSLCertVerificationError):
            return CannotStart(
                f"The certificate of {where} does not verify: {error.verify_message}. Use the host name that is in "
                "the certificate; if it is signed by an authority of your own, name its file in SSL_CERT_FILE."
            )
        if isinstance(error, ssl.SSLError):
            why = error.reason or "the handshake failed"
            return CannotStart(f"{where} cannot be spoken to encrypted: {why}. Check tls and the port in SMTP_URL.")
        if isinstance(error, TimeoutError):
            hint = (
                ""
                if self._server.tls is Tls.IMPLICIT
                else " Does it want TLS from the start? Then write ?tls=implicit."
            )
            return ProviderAway(f"{where} does not answer in time.{hint}")
        if isinstance(error, OSError):
            return ProviderAway(f"{where} cannot be reached: {_in_words(error)}.")
        return error


def let_go(transport: asyncio.WriteTransport) -> None:
    """End a connection at once, also one that has ended: encrypted ones of older Pythons do not expect that."""
    with suppress(AttributeError):
        transport.abort()


def _own_name(transport: asyncio.Transport) -> str:
    """Our end of the connection as an address literal: a name may be slow to find, and tells more than is needed."""
    ip = str(transport.get_extra_info("sockname")[0]).partition("%")[0]
    return f"[IPv6:{ip}]" if ":" in ip else f"[{ip}]"


def _in_words(error: OSError) -> str:
    # The loop's own text repeats addresses and ports; the system's is shorter. Names not found have negative numbers.
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
