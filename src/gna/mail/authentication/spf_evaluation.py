"""SPF as a receiver evaluates it: pyspf follows the record, our own resolver asks DNS."""

import asyncio
import re
import warnings
from collections.abc import Callable

from gna.mail.authentication.spf import Evaluation
from gna.outside.dns import Answer, Asking

with warnings.catch_warnings():
    # pyspf 2.0.14 has an invalid escape sequence in a docstring.
    warnings.simplefilter("ignore")
    import spf as pyspf

# No mail comes from the broadcast address, so no term matches it and every term is evaluated.
NO_CLIENT = "255.255.255.255"
# These macros stand for parts of the mail or its client; what they lead to cannot be known here.
MAIL_MACRO = re.compile(r"%\{[slihpv]", re.IGNORECASE)
MATCHES_NOTHING = [[b"v=spf1 -all"]]
# A pattern of pyspf takes the square of the length: 0.8 seconds for 4096, minutes for 64 KB.
LONGEST_RECORD = 4096

Ask = Callable[[str, str], Answer]


class _Query(pyspf.query):  # type: ignore[misc]  # pyspf has no types
    """One evaluation, with all that it came across."""

    def __init__(self, domain: str, ask: Ask) -> None:
        super().__init__(i=NO_CLIENT, s=f"postmaster@{domain}", h=domain)
        self.p = "unknown"  # the macro p, without asking for the name of the client
        self.domains: list[str] = []
        self.broken_at = ""
        self.unanswered = ""
        self.void: list[str] = []
        self._ask = ask
        self._depends_on_mail: set[str] = set()

    def dns_spf(self, domain: str) -> str | None:
        """The SPF record of a domain."""
        self.domains.append(domain.lower())
        try:
            record: str | None = super().dns_spf(domain)
        except pyspf.PermError:
            self.broken_at = self.broken_at or domain
            raise
        return record

    def check0(self, record: str | None, recursion: int) -> tuple[str, int, str]:
        """Evaluate the record of the domain `self.d`."""
        try:
            result: tuple[str, int, str] = super().check0(record, recursion)
        except pyspf.PermError:
            self.broken_at = self.broken_at or self.d
            raise
        return result

    def expand(self, text: str, stripdot: bool = True) -> str:
        """The text with its macros replaced."""
        name: str = super().expand(text, stripdot)
        if MAIL_MACRO.search(text):
            self._depends_on_mail.add(name)
        return name

    def dns(self, name: str, qtype: str, ignore_void: bool = False) -> list[object]:
        """The records of a name. pyspf's own method asks the resolver of the whole process."""
        if name in self._depends_on_mail or qtype == "PTR":
            return list(MATCHES_NOTHING) if qtype == "TXT" else []
        if not all(0 < len(label) < 64 for label in name.removesuffix(".").split(".")):
            return []
        answer = self._ask(name.removesuffix(".").lower(), qtype)
        if not answer.is_sure:
            self.unanswered = name
            raise pyspf.TempError("DNS did not answer", name)
        if not answer.texts and not ignore_void:
            self._count_void(name)
        return [_parsed(text, qtype) for text in answer.texts]

    def _count_void(self, name: str) -> None:
        self.void.append(name)
        if len(self.void) > pyspf.MAX_VOID_LOOKUPS:
            raise pyspf.PermError(f"More than {pyspf.MAX_VOID_LOOKUPS} look-ups find nothing")


def _parsed(text: str, qtype: str) -> object:
    """A record in the form that pyspf expects."""
    if qtype == "TXT":
        if len(text) > LONGEST_RECORD and text.lower().startswith("v=spf1"):
            raise pyspf.PermError(f"The record is longer than {LONGEST_RECORD} characters")
        return [text.encode()]
    if qtype == "MX":
        preference, _, host = text.partition(" ")
        return int(preference), host.removesuffix(".")
    return text


def _evaluated(domain: str, ask: Ask) -> Evaluation:
    query = _Query(domain, ask)
    try:
        result, _, _ = query.check()
        error = query.perm_error
    except ValueError as wrong:
        # A number of thousands of digits, for example.
        result, error = "permerror", pyspf.PermError(str(wrong))
    return Evaluation(
        result=result,
        matched=query.mechanism or "",
        problem=_problem(error) if error else "",
        broken_at=query.broken_at or domain,
        unanswered=query.unanswered,
        lookups=query.lookups,
        void=tuple(query.void),
        domains=frozenset(query.domains),
    )


def _problem(error: "pyspf.PermError") -> str:
    message = str(error.msg).strip(" :.")
    return f"“{_visible(error.mech)}” ({message})" if error.mech else message


def _visible(term: str) -> str:
    """The term with `\\t` for a tab: it could be the mistake."""
    return re.sub(r"[^ -~]", lambda found: found[0].encode("unicode_escape").decode(), term)


async def evaluate(domain: str, asking: Asking) -> Evaluation:
    """Evaluate the SPF record of a domain; ends with the time limit of `asking`."""
    loop = asyncio.get_running_loop()
    answers: dict[tuple[str, str], Answer] = {}

    def ask(name: str, kind: str) -> Answer:
        if (name, kind) not in answers:
            asked = asyncio.run_coroutine_threadsafe(asking.records(name, kind), loop)
            answers[name, kind] = asked.result()
        return answers[name, kind]

    # pyspf waits for each answer, so it waits in a thread of its own.
    return await asyncio.to_thread(_evaluated, domain, ask)
