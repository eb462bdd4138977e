"""The `smtp` provider: any mail server, by a few connections that are kept busy.

`server` reads the setting, `opening` makes a connection ready, `pool` shares the mails among the connections,
`carrier` carries them over one, and `replies` says what a server's answer means for a mail.
"""

from gna.providers.smtp.provider import Smtp
from gna.providers.smtp.server import Auth, Server, Timeouts, Tls, parse

__all__ = ["Auth", "Server", "Smtp", "Timeouts", "Tls", "parse"]
