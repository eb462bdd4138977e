"""Columns that say who left, who bounced and who agreed: what their values mean.

Each known product has its own. In a file of an unknown product they are found by their names and by their values.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gna.errors import Refused
from gna.subscribers.formats import dates
from gna.subscribers.formats.header import Header
from gna.subscribers.formats.person import Standing
from gna.subscribers.formats.words import ANSWERS, EVERYDAY, NO, NOTHING, STANDINGS, STATUS, YES, loose

ACTIVATED, UNCONFIRMED = Standing.ACTIVATED, Standing.UNCONFIRMED
UNSUBSCRIBED, CLEANED = Standing.UNSUBSCRIBED, Standing.CLEANED

# Two columns of a row may differ: the graver counts.
GRAVITY = (ACTIVATED, Standing.PENDING, UNCONFIRMED, UNSUBSCRIBED, CLEANED)

# What a value means: a standing, or None if it says nothing of the kind.
Meanings = Mapping[str, Standing | None]
# What a person says that a value means.
MEANINGS: dict[str, Standing | None] = {
    "confirmed": ACTIVATED,
    "left": UNSUBSCRIBED,
    "unconfirmed": UNCONFIRMED,
    "ignore": None,
}
# In the answers: the meaning of every value that has none of its own.
ANY_OTHER = "*"


class UnknownValue(Refused):
    """A value that may say that the person left, and that is not understood."""

    def __init__(self) -> None:
        super().__init__("A column that may say who left has a value that is not known here; say what it means")


@dataclass(frozen=True)
class Sign:
    """A column that says how the person stands: its values, and what any other value means.

    Of several names the first that the file has counts. A name that ends in `*` stands for all that begin so.
    """

    columns: tuple[str, ...]
    says: Meanings
    otherwise: Standing | None = UNCONFIRMED
    # What a date means, if that is not `otherwise`.
    date: Standing | None = None
    # Whether a person must say what any other value means.
    asks: bool = False

    @property
    def is_status(self) -> bool:
        """Whether the column is one of words, and not of dates, numbers or yes and no."""
        return "unsubscribed" in self.says and self.date is None


@dataclass(frozen=True)
class PlacedSign:
    """A sign at its place in a header, with what a person said of its values."""

    at: int
    sign: Sign
    answers: Meanings = field(default_factory=dict)

    def standing(self, cells: Sequence[str]) -> Standing | None:
        """What the cell says; UnknownValue if a person must be asked."""
        cell = cells[self.at].strip()
        sign = self.sign
        if loose(cell) in EVERYDAY and loose(cell) in self.answers:
            return self.answers[loose(cell)]
        for word in (cell.casefold(), loose(cell)):
            if word in sign.says:
                return sign.says[word]
        if sign.date and dates.is_date(cell):
            return sign.date
        for word in (loose(cell), ANY_OTHER):
            if word in self.answers:
                return self.answers[word]
        if sign.asks:
            raise UnknownValue
        return sign.otherwise

    def is_unknown(self, cells: Sequence[str]) -> bool:
        """Whether a person must say what the cell means."""
        if not self.sign.asks:
            return False
        try:
            self.standing(cells)
        except UnknownValue:
            return True
        return False


def gravest(standings: Iterable[Standing | None], default: Standing) -> Standing:
    """How the person stands by several columns; the default if none says anything."""
    return max((standing for standing in standings if standing), key=GRAVITY.index, default=default)


# Names that are no question: a link to leave by is in every row, and a number of bounces is no bounce.
OTHER_FACTS = re.compile(r"\b(url|link|href|token|hash|count|counter|number|rate|total|page)s?\b")
# A person who refuses text messages may want mail.
OTHER_CHANNELS = re.compile(r"\b(sms|mms|phone|mobile|whatsapp|push|fax|calls?|postal)\b|\btele(f|ph)on")
# Facts about an opt-out or an agreement: beside an opt-out they are there only if there was one.
CIRCUMSTANCES = re.compile(r"\b(ip|source|method)s?\b")
# What forms write behind a question.
ANSWER_TO_CHOOSE = re.compile(r"(yesno|yn|truefalse|danu|janein|ouinon)$")
# A name with one of these holds dates.
MOMENT = re.compile(r"\b(at|on|date|time|timestamp|datum|data|fecha|since|am)\b")
# Searched in letters and digits alone: `emailOptOut` and `email opt-out` are the same.
NAMES_LEFT = re.compile(
    r"unsub|opt(ed|ing)?out|blacklist|blocklist|suppress|donot(bulk)?(e?mail|contact|send|disturb)"
    r"|^(no|stop)e?mail|nomail|nocontact|excludedfrom"
    r"|dezabon|abgemeldet|abmeld|abbestell|ausgetragen|desabonn|desinscri|desuscri|disiscri|descadastr"
    r"|^dad[oa]debaja$|uitgeschreven|uitschrijv|afgemeld|afmeld|wypisan"
    r"|^(date|is)?(left|deleted|removed?|cancell?ed|blocked|banned|excluded)(at|on|date)?$|^(e?mail)?dnc(e?mail)?$"
    r"|listaneagra|sperrliste|schwarzeliste|listenoire|listanegra|listanera|zwartelijst|czarnalista"
    r"|^(fechade)?baja$|widerspruch|widersprochen|^gesperrt$|^gekundigt$|^cancellat[oa]$"
    r"|nu(mai)?contacta|nicht(mehr)?(kontaktieren|anschreiben)|ne(pas|plus)contacter|no(volvera)?contactar"
    r"|noncontattare|nietcontacteren"
)
NAMES_BOUNCED = re.compile(
    r"bounce|complain|complaint|spamreport|marked(as)?spam|^cleaned$|^(is)?spam(mer)?$|undeliverable|unzustellbar"
)
_SUBSCRIBED_WORDS = (
    r"(abonata?|abonniert|angemeldet|eingetragen|abonnee?|inscrite?|suscrit[oa]|inscrit[oa]|iscritt[oa]"
    r"|ingeschreven|aangemeld|zapisan[ya])"
)
_TO_THE = r"(la|al|alla|ala|a|zum|furden|fur|na|do|voorde|voor|op)"
_NEWSLETTER = r"(newsletters?|lettre(dinformation)?|infolettre|boletin|nieuwsbrief|newslettera)"
_ACCEPTS = r"(accepts?|accepta|akzeptiert|accepte|acepta|aceita|accetta|accepteert|akceptuje)"
# In English, Romanian, German, French, Spanish, Portuguese, Italian and Dutch.
_WANTS = (
    r"(is|gets?|receives?|wants?|vrea|doreste|primeste|will|mochte|erhalt|bekommt|veut|souhaite|recoit"
    r"|quiere|recibe|quer|recebe|vuole|riceve|wil|ontvangt)"
)
NAMES_AGREED = re.compile(
    rf"consent|opt(ed)?in|{_ACCEPTS}.*(marketing|newsletter)|(marketing|newsletter)accept"
    r"|(mail|mailing|marketing)permission|permissionto(e?mail|contact|send)|agree[ds]?to.*(marketing|newsletter|e?mail)"
    r"|^(is|email|newsletter)?subscribed?(to)?(the)?(newsletters?|e?mails?|marketing|(mailing)?lists?)?"
    r"(at|on|date|time|since)?$|^issubscriber$|^(e?mail)?marketing$"
    r"|(?<!un)(?<!not)confirmed$|einwilligung|zustimmung|einverstandnis|consimt|consenso|toestemming"
    r"|^(is)?(active|enabled)$|^(gdpr|dsgvo|rgpd)$"
    r"|^(can|may)(contact|e?mail|send)$|^(send|allow|receives?|wants?)e?mails?$|^e?mails?(allowed|enabled|permitted)$"
    r"|^mailings?(list)?$"
    rf"|^{_WANTS}?(the|our|den|la|el|il|de)?newsletters?(subscriber|subscription|signup|abonnent|bezieher)?$"
    rf"|^(newsletter)?{_SUBSCRIBED_WORDS}({_TO_THE}?{_NEWSLETTER})?$"
)
# Searched with spaces: `accord` is a word of its own, `accordion` is not about consent.
NAMES_AGREED_AS_WORD = re.compile(r"\b(acord|acordul|accord|accordo|acuerdo|zgoda|zgody)\b")
NAMES_STATUS = re.compile(r"\b(status|statut|stare|starea|etat|estado|stato)\b")
# `Abonnement newsletter`, but not `Type d'abonnement` nor `Data abonare`, which are other facts.
NAMES_SUBSCRIPTION = re.compile(
    r"((newsletter|e ?mail) )?"
    r"(subscription|abonare|abonarea|abonament|abonnement|anmeldung|inscription|suscripcion|inscripcion|iscrizione"
    r"|subscricao|inscricao|assinatura|inschrijving|aanmelding|subskrypcja|prenumerata)"
    r"( (la|a|al|alla|a la|de|do|na|op|voor|fur|zum))?"
    r"( (newsletter|e ?mail|infolettre|boletin|nieuwsbrief|newslettera))?"
)

_NOTHING: Meanings = dict.fromkeys(NOTHING)
_ENDED = {word: standing for word, standing in STATUS.items() if standing in (UNSUBSCRIBED, CLEANED)}
_STAYS = {word: None for word, standing in STATUS.items() if standing not in (UNSUBSCRIBED, CLEANED)}
LEFT = Sign(
    (),
    {**_STAYS, **_ENDED, **dict.fromkeys(YES, UNSUBSCRIBED), **dict.fromkeys(NO), **_NOTHING, "never": None},
    date=UNSUBSCRIBED,
    asks=True,
)
LEFT_AT = Sign((), {**_NOTHING, **dict.fromkeys(NO), "never": None}, otherwise=UNSUBSCRIBED)
BOUNCED = Sign(
    (),
    {**_STAYS, **_ENDED, **dict.fromkeys(YES, CLEANED), **dict.fromkeys(NO), **_NOTHING, "never": None},
    date=CLEANED,
    asks=True,
)
# An empty box beside "I agree" is no agreement.
AGREED = Sign(
    (),
    {**dict.fromkeys(NOTHING, UNCONFIRMED), **STATUS, **ANSWERS, "never": UNCONFIRMED, "granted": ACTIVATED},
    date=ACTIVATED,
    asks=True,
)
AGREED_AT = Sign((), {**STATUS, **ANSWERS, **_NOTHING}, date=ACTIVATED, asks=True)
# A list of subscribers on which a person is marked as not subscribed: they were, and left.
SUBSCRIBED = Sign((), {**AGREED.says, **dict.fromkeys(NO, UNSUBSCRIBED)}, date=ACTIVATED, asks=True)
STATED = Sign((), {**ANSWERS, **STATUS, **_NOTHING}, asks=True)
# A column found by a word of leaving among its values, whatever its name is.
# What an everyday word means in it is asked.
FOUND_BY_VALUES = replace(STATED, says={word: says for word, says in STATED.says.items() if word not in EVERYDAY})
_LONGEST_WORD_OF_LEAVING = max(map(len, _ENDED))
# A person said that this column is the status: `Pending` in it is ours.
STATED_BY_PERSON = Sign((), {**ANSWERS, **STANDINGS, "": None}, asks=True)


def sign_of(key: str) -> Sign | None:
    """What a column with this name asks in a file of an unknown product; None if it is about something else."""
    words = loose(key)
    if OTHER_FACTS.search(words) or OTHER_CHANNELS.search(words):
        return None
    letters = ANSWER_TO_CHOOSE.sub("", "".join(filter(str.isalnum, words)))
    is_moment = bool(MOMENT.search(words))
    if CIRCUMSTANCES.search(words):
        return LEFT_AT if NAMES_LEFT.search(letters) else None
    if NAMES_BOUNCED.search(letters):
        return BOUNCED
    if NAMES_LEFT.search(letters):
        return LEFT_AT if is_moment else LEFT
    if NAMES_STATUS.search(words) or letters.endswith(("status", "statusid", "statuscode")):
        return STATED
    if NAMES_SUBSCRIPTION.fullmatch(words):
        return AGREED_AT
    if NAMES_AGREED.search(letters) or NAMES_AGREED_AS_WORD.search(words):
        if is_moment:
            return AGREED_AT
        return SUBSCRIBED if words in ("subscribed", "is subscribed") else AGREED
    return None


def only_understood(sign: Sign) -> Sign:
    """The sign of a column that may be about something else: only what is understood counts."""
    return replace(sign, otherwise=None, asks=False) if sign.asks else sign


def columns_with_words_of_leaving(rows: Iterable[Sequence[str]]) -> frozenset[int]:
    """The columns in which a whole cell is a word of leaving; a sentence that holds one does not count."""
    columns: set[int] = set()
    for cells in rows:
        for at, cell in enumerate(cells):
            if at not in columns and _is_word_of_leaving(cell):
                columns.add(at)
    return frozenset(columns)


def _is_word_of_leaving(cell: str) -> bool:
    word = cell.strip()
    # Most cells are addresses, numbers or long: comparing those would slow down large files.
    if not 4 <= len(word) <= 2 * _LONGEST_WORD_OF_LEAVING or "@" in word or word[0].isdigit():
        return False
    return loose(word) in _ENDED


def signs_of_unknown(header: Header, answers: Mapping[str, Meanings], *, but: Iterable[int | None]) -> list[PlacedSign]:
    """The columns of an unknown file that say who left or agreed, by name or by values, except these."""
    others = set(but)
    placed = []
    for at, key in enumerate(header.keys):
        if at in others:
            continue
        sign = sign_of(key)
        is_about_mail = OTHER_CHANNELS.search(loose(key)) is None
        if sign is None and is_about_mail and at in header.with_words_of_leaving:
            sign = FOUND_BY_VALUES
        if sign:
            placed.append(PlacedSign(at, sign, answers.get(header.names[at], {})))
    return placed
