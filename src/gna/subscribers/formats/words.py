"""The words by which files say how people stand."""

from gna.subscribers.formats.person import Standing

ACTIVATED, UNCONFIRMED = Standing.ACTIVATED, Standing.UNCONFIRMED
UNSUBSCRIBED, CLEANED = Standing.UNSUBSCRIBED, Standing.CLEANED

TRUE, FALSE = ("true", "yes", "1", "t", "y"), ("false", "no", "0", "f", "n")
STATUS = (
    dict.fromkeys(("active", "activated", "subscribed", "enabled", "confirmed"), ACTIVATED)
    | dict.fromkeys(("inactive", "unsubscribed", "disabled", "opted out", "cancelled"), UNSUBSCRIBED)
    | dict.fromkeys(("unreachable", "blocklisted", "cleaned", "bounced", "complained", "blocked"), CLEANED)
    | dict.fromkeys(("activ", "activat", "abonat", "confirmat"), ACTIVATED)
    | dict.fromkeys(("inactiv", "dezactivat", "dezabonat"), UNSUBSCRIBED)
    | dict.fromkeys(("aktiv", "angemeldet", "abonniert", "bestätigt"), ACTIVATED)
    | dict.fromkeys(("inaktiv", "deaktiviert", "abgemeldet"), UNSUBSCRIBED)
    | dict.fromkeys(("actif", "abonné", "inscrit", "confirmé"), ACTIVATED)
    | dict.fromkeys(("inactif", "désactivé", "désabonné", "désinscrit"), UNSUBSCRIBED)
    | dict.fromkeys(("respins", "blocat", "gesperrt", "unzustellbar", "rejeté", "bloqué"), CLEANED)
)
# Our own words, and those by which other products tell of people who left; an import must never take one for a mistake.
STANDINGS = STATUS | {"activated": ACTIVATED, "pending": Standing.PENDING}
# A column may answer whether somebody subscribed. A plain no is no goodbye: such people are left out, not barred.
ANSWERS = dict.fromkeys((*TRUE, "da", "ja", "oui", "sí", "sì", "si"), ACTIVATED) | dict.fromkeys(
    (*FALSE, "nu", "nein", "non"), UNCONFIRMED
)
