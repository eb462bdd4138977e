"""Whether receivers can tell that our mail is ours: SPF, DKIM and DMARC, as DNS has them."""

from gna.mail.authentication.check import Report, Sending, check, domain_of, examine, parse_selector
from gna.mail.authentication.findings import SAYS, Finding, Level, Record

__all__ = ["SAYS", "Finding", "Level", "Record", "Report", "Sending", "check", "domain_of", "examine", "parse_selector"]
