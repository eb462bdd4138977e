"""What a header tells of a mail's kind, as bits of a number: a database can add them up by sender."""

import re
from enum import IntFlag

KEYWORDS = (
    "sale",
    "offer",
    "discount",
    "deal",
    "promotion",
    "coupon",
    "savings",
    "free shipping",
    "limited time",
    "newsletter",
    "marketing",
    "advertisement",
)
BIT = {word: 1 << number for number, word in enumerate(KEYWORDS)}
# Whole words only: a wholesaler is no sale, and offers are several.
WORDS = re.compile(rf"\b(?:{'|'.join(KEYWORDS)})\b")


class Sign(IntFlag):
    """One thing that a header says."""

    # A mailing list: everybody may write to it (List-Post), or its owner alone (List-Post: NO).
    DISCUSSION = 1
    ANNOUNCEMENTS = 2
    # Sent to many: Precedence: bulk, list or junk; Feedback-ID, X-CSA-Complaints.
    BULK = 4
    # Sent by a machine: Auto-Submitted, other than `no`.
    AUTOMATIC = 8
    # An answer: In-Reply-To.
    REPLY = 16


def keywords_in(subject: str) -> int:
    """The marketing words of a subject, each a bit."""
    found = 0
    for word in WORDS.findall(subject.lower()):
        found |= BIT[word]
    return found


def keywords_of(bits: int) -> tuple[str, ...]:
    """The words again."""
    return tuple(word for word, bit in BIT.items() if bits & bit)
