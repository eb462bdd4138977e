"""How surely a sender is a subscription, and of what kind. Pure: what all its mails say in, a verdict out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from gna.inbox.signs import Sign, keywords_of

# Points, as the specification has them.
BASE, PER_EMAIL, EMAILS_MOST, PER_KEYWORD, HEADER, BODY_LINK, SAME_DOMAIN, MOST = 15, 2, 30, 10, 15, 10, 5, 100

# Who sends so is a machine.
NO_REPLY = re.compile(r"(?:^|[._+-])(?:no|do[._-]?not)[._-]?reply|^(?:notif|alert|mailer-daemon|postmaster|bounce)")
# Who sends so writes to many.
TO_MANY = re.compile(r"(?:^|[._+-])(?:news|newsletters?|nyhetsbrev|marketing|offers?|deals|promo\w*|digest|updates?)\b")
# Where people have their mailboxes.
FREEMAIL = re.compile(
    r"@(?:gmail|googlemail|outlook|hotmail|live|msn|yahoo|ymail|aol|icloud|me|mac|gmx|web|t-online|proton|protonmail"
    r"|posteo|mailbox|fastmail|zoho|yandex|orange|laposte|free|libero|seznam|wp|o2|interia)"
    r"\.(?:[a-z]{2,3}|co\.[a-z]{2}|com\.[a-z]{2})$"
)
# What a mail is about that somebody needs: an order, money, a way in.
BUSINESS = re.compile(
    r"\b(?:your order|orders? (?:no|number|confirm\w*|#)|invoices?|receipts?|shipped|shipment|deliver(?:y|ed)|tracking"
    r"|payments?|refund(?:ed)?|booking|reservation|itinerary|e-?ticket|statement"
    r"|password|verif(?:y|ication)|security code|one-time|passcode|sign-?in|log-?in|confirm your|activate your"
    r"|rechnung|bestell(?:ung|bestätigung)|lieferung|versandt|passwort|buchung|zahlung|kennwort|bestätigungscode"
    r"|factur[aăe]|comand[aăă]|commande|livraison|mot de passe|paiement|parol[aă]|plat[aă]|rezervare"
    r"|pedido|contraseña|recibo|fattura|ordine|wachtwoord|factuur|bestelling)(?!\w)",
    re.IGNORECASE,
)


class Kind(StrEnum):
    """What a sender sends, as far as its mails tell; advice, and nothing else."""

    NEWSLETTER = "newsletter"
    DISCUSSION = "discussion"
    NOTIFICATION = "notification"
    TRANSACTIONAL = "transactional"
    PERSONAL = "personal"


ADVICE = {
    Kind.NEWSLETTER: "Sent to many; leaving stops it.",
    Kind.DISCUSSION: "A list that people write to; whoever leaves gets none of what they write.",
    Kind.NOTIFICATION: "Sent by a machine about something you use; its own settings often stop it better.",
    Kind.TRANSACTIONAL: "Orders, receipts or ways into an account; who leaves may miss one that is needed.",
    Kind.PERSONAL: "It looks like a person, who has nothing to unsubscribe from.",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What all the mails of one sender say together."""

    sender_email: str
    email_count: int
    # The marketing words of its subjects, each a bit.
    keywords: int = 0
    # Whether any mail has a List-Unsubscribe field; a way out in its body; and whether the way is of its own domain.
    has_header: bool = False
    has_body_link: bool = False
    same_domain: bool = False
    list_id: str | None = None
    # In how many mails each of these signs is.
    discussion: int = 0
    announcements: int = 0
    bulk: int = 0
    automatic: int = 0
    reply: int = 0
    # Of the newest few mails.
    subjects: tuple[str, ...] = ()


# The fields above that count a sign.
COUNTED = {
    "discussion": Sign.DISCUSSION,
    "announcements": Sign.ANNOUNCEMENTS,
    "bulk": Sign.BULK,
    "automatic": Sign.AUTOMATIC,
    "reply": Sign.REPLY,
}


@dataclass(frozen=True, slots=True)
class Score:
    """From 15 to 100, and where each point is from."""

    confidence: int
    reasons: list[str]


def score(evidence: Evidence) -> Score:
    """How surely it is a subscription."""
    parts = [(points, why) for points, why in _points(evidence) if points]
    total = sum(points for points, _ in parts)
    if total > MOST:
        parts.append((MOST - total, f"{MOST} is the most"))
    (base, start), *rest = parts
    return Score(min(total, MOST), [f"{base}: {start}", *(f"{points:+}: {why}" for points, why in rest)])


def _points(evidence: Evidence) -> Iterator[tuple[int, str]]:
    count, words = evidence.email_count, keywords_of(evidence.keywords)
    yield BASE, "every sender starts here"
    yield min(count * PER_EMAIL, EMAILS_MOST), f"{count} email{'s' if count != 1 else ''}"
    yield len(words) * PER_KEYWORD, f"{', '.join(words)} in subjects"
    yield evidence.has_header * HEADER, "List-Unsubscribe in the header"
    yield evidence.has_body_link * BODY_LINK, "a link to unsubscribe in the body"
    yield evidence.same_domain * SAME_DOMAIN, "the link is on the sender's own domain"


def kind(evidence: Evidence) -> Kind:
    """What kind of sender it is; the first rule that fits."""
    local = evidence.sender_email.partition("@")[0]
    is_automatic = evidence.automatic * 2 > evidence.email_count
    has_field = bool(evidence.has_header or evidence.announcements or evidence.list_id)
    if evidence.discussion > evidence.announcements:
        return Kind.DISCUSSION
    if has_field:
        return Kind.NOTIFICATION if is_automatic and not evidence.keywords else Kind.NEWSLETTER
    if _is_business(evidence.subjects):
        return Kind.TRANSACTIONAL
    if evidence.has_body_link or (evidence.bulk and evidence.keywords):
        return Kind.NEWSLETTER
    if is_automatic or NO_REPLY.search(local):
        return Kind.NOTIFICATION
    return _without_signs(evidence, local)


def _is_business(subjects: tuple[str, ...]) -> bool:
    """Whether half of the newest mails or more are about something that was asked for."""
    found = sum(BUSINESS.search(subject) is not None for subject in subjects)
    return found > 0 and found * 2 >= len(subjects)


def _without_signs(evidence: Evidence, local: str) -> Kind:
    """By the address and the subjects alone."""
    if evidence.reply or FREEMAIL.search(evidence.sender_email):
        return Kind.PERSONAL
    if evidence.keywords or TO_MANY.search(local):
        return Kind.NEWSLETTER
    return Kind.NOTIFICATION if evidence.bulk else Kind.PERSONAL
