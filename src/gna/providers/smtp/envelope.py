"""The envelope of a mail: from whom, to whom, and what the server must know before it comes."""

from typing import NamedTuple

from gna.mail.address import on_the_wire
from gna.mail.compile import Mail
from gna.providers.protocol import RefusedForGood
from gna.providers.smtp.offers import Offers

NOT_INTERNATIONAL = "An address has letters beyond ASCII before its @, and the mail server takes none such (SMTPUTF8)."


class Envelope(NamedTuple):
    """The two commands."""

    mail_from: bytes
    rcpt_to: bytes


def envelope(mail: Mail, size: int, offers: Offers) -> Envelope | RefusedForGood:
    """The envelope for a server with these offers, or why there cannot be one."""
    sender, to = mail.sender, on_the_wire(mail.to)
    options = ""
    if offers.size is not None:
        if 0 < offers.size < size:
            return RefusedForGood(f"The mail has {size} bytes; the mail server takes {offers.size} at most.")
        options = f" SIZE={size}"
    if not (to.isascii() and sender.isascii()):
        if not offers.international:
            return RefusedForGood(NOT_INTERNATIONAL)
        options += " SMTPUTF8"
    # A line end in an address would be the end of the command, and what follows another one.
    if not (to.isprintable() and sender.isprintable()):
        return RefusedForGood("An address has a character that none can have.", bad_address=not to.isprintable())
    if offers.eight_bit and not mail.is_ascii:
        options += " BODY=8BITMIME"
    return Envelope(b"MAIL FROM:<%b>%b\r\n" % (sender.encode(), options.encode()), b"RCPT TO:<%b>\r\n" % to.encode())
