"""The words by which files say how people stand."""

import unicodedata

from gna.subscribers.formats.person import Standing

ACTIVATED, UNCONFIRMED = Standing.ACTIVATED, Standing.UNCONFIRMED
UNSUBSCRIBED, CLEANED = Standing.UNSUBSCRIBED, Standing.CLEANED

TRUE = ("true", "yes", "1", "t", "y")
FALSE = ("false", "no", "0", "f", "n")
# A form may be filled in by hand, in another language or with a mark.
YES = (*TRUE, "on", "x", "✓", "✔", "checked", "da", "ja", "oui", "si", "sim", "tak")
NO = (*FALSE, "off", "unchecked", "nu", "nein", "non", "nao", "nee", "nie")
# What programs write where there is nothing. MySQL writes a date that is not set as zeros.
NOTHING = ("", "null", "none", "nil", "n/a", "na", "[]", "{}", "0000 00 00", "0000 00 00 00:00:00")

_SPELLED = (
    dict.fromkeys(("active", "activated", "subscribed", "subscriber", "enabled", "confirmed", "opted in"), ACTIVATED)
    | dict.fromkeys(("inactive", "unsubscribed", "unsubscribe", "disabled", "opted out", "opt out"), UNSUBSCRIBED)
    | dict.fromkeys(("optout", "cancelled", "canceled", "suppressed", "blacklisted"), UNSUBSCRIBED)
    | dict.fromkeys(("unreachable", "blocklisted", "cleaned", "blocked", "undeliverable"), CLEANED)
    | dict.fromkeys(("bounced", "hard bounced", "hard bounce", "complained", "complaint", "spam complaint"), CLEANED)
    | dict.fromkeys(("unconfirmed", "not confirmed", "awaiting confirmation", "pending", "unactivated"), UNCONFIRMED)
    | dict.fromkeys(("non subscribed", "nonsubscribed", "not subscribed", "never subscribed"), UNCONFIRMED)
    | dict.fromkeys(("transactional", "archived", "no permissions set", "not set"), UNCONFIRMED)
    | dict.fromkeys(("activ", "activat", "abonat", "confirmat"), ACTIVATED)
    | dict.fromkeys(("inactiv", "dezactivat", "dezabonat"), UNSUBSCRIBED)
    | dict.fromkeys(("neconfirmat", "neabonat", "în așteptare"), UNCONFIRMED)
    | dict.fromkeys(("aktiv", "angemeldet", "abonniert", "bestätigt"), ACTIVATED)
    | dict.fromkeys(("inaktiv", "deaktiviert", "abgemeldet"), UNSUBSCRIBED)
    | dict.fromkeys(("unbestätigt", "nicht bestätigt", "nicht abonniert", "ausstehend"), UNCONFIRMED)
    | dict.fromkeys(("actif", "abonné", "inscrit", "confirmé"), ACTIVATED)
    | dict.fromkeys(("inactif", "désactivé", "désabonné", "désinscrit"), UNSUBSCRIBED)
    | dict.fromkeys(("non confirmé", "non abonné", "en attente"), UNCONFIRMED)
    | dict.fromkeys(("respins", "blocat", "gesperrt", "unzustellbar", "rejeté", "bloqué"), CLEANED)
    | dict.fromkeys(("abonată", "confirmată", "eingetragen", "abonnée", "inscrite", "confirmée"), ACTIVATED)
    | dict.fromkeys(("dezabonată", "ausgetragen", "abbestellt", "désabonnée", "désinscrite"), UNSUBSCRIBED)
    # Spanish and Portuguese
    | dict.fromkeys(("activo", "suscrito", "suscrita", "confirmado", "ativo", "inscrito", "subscrito"), ACTIVATED)
    | dict.fromkeys(("inactivo", "baja", "dado de baja", "dada de baja", "desuscrito", "cancelado"), UNSUBSCRIBED)
    | dict.fromkeys(("inativo", "descadastrado", "desinscrito", "desinscrita"), UNSUBSCRIBED)
    | dict.fromkeys(("no suscrito", "no confirmado", "não inscrito", "não confirmado"), UNCONFIRMED)
    | dict.fromkeys(("pendiente", "pendente"), UNCONFIRMED)
    | dict.fromkeys(("rebotado", "bloqueado"), CLEANED)
    # Italian
    | dict.fromkeys(("attivo", "iscritto", "iscritta", "confermato"), ACTIVATED)
    | dict.fromkeys(("inattivo", "disattivato", "disiscritto", "disiscritta", "cancellato"), UNSUBSCRIBED)
    | dict.fromkeys(("non iscritto", "non confermato", "in attesa"), UNCONFIRMED)
    | dict.fromkeys(("bloccato",), CLEANED)
    # Dutch
    | dict.fromkeys(("actief", "ingeschreven", "aangemeld", "geabonneerd", "bevestigd"), ACTIVATED)
    | dict.fromkeys(("inactief", "uitgeschreven", "afgemeld"), UNSUBSCRIBED)
    | dict.fromkeys(("niet bevestigd", "niet ingeschreven", "in afwachting"), UNCONFIRMED)
    | dict.fromkeys(("geblokkeerd",), CLEANED)
    # Polish
    | dict.fromkeys(("aktywny", "zapisany", "zapisana", "potwierdzony"), ACTIVATED)
    | dict.fromkeys(("nieaktywny", "wypisany", "wypisana"), UNSUBSCRIBED)
    | dict.fromkeys(("niepotwierdzony", "oczekujący"), UNCONFIRMED)
    | dict.fromkeys(("zablokowany",), CLEANED)
)


# Categories of Unicode: marks on letters, such as accents, and signs without a width.
INVISIBLE = ("Mn", "Cf")


def loose(cell: str) -> str:
    """A word as it is compared, without case and diacritics: `NEVER_SUBSCRIBED` is `never subscribed`."""
    if not cell.isascii():
        letters = unicodedata.normalize("NFKD", cell)
        cell = "".join(letter for letter in letters if unicodedata.category(letter) not in INVISIBLE)
    return " ".join(cell.casefold().replace("_", " ").replace("-", " ").split())


STATUS = {loose(word): standing for word, standing in _SPELLED.items()}
# Words of leaving that other columns use too, for example one of disabilities or of orders.
EVERYDAY = frozenset(
    {"inactive", "disabled", "cancelled", "canceled", "blocked", "unreachable", "cleaned", "complaint"}
    | {"inactiv", "dezactivat", "respins", "blocat", "inaktiv", "deaktiviert", "gesperrt"}
    | {"inactif", "desactive", "rejete", "bloque", "inactivo", "baja", "cancelado", "rebotado", "inativo"}
    | {"bloqueado", "inattivo", "disattivato", "cancellato", "bloccato", "inactief", "geblokkeerd"}
    | {"nieaktywny", "zablokowany"}
)
# Our own words, and those by which other products tell of people who left.
STANDINGS = STATUS | {"activated": ACTIVATED, "pending": Standing.PENDING}
# A column may answer whether the person subscribed. A plain no is not an opt-out: the person is left out, not barred.
ANSWERS = dict.fromkeys(YES, ACTIVATED) | dict.fromkeys(NO, UNCONFIRMED)
