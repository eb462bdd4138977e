"""What an outcome honestly means, in a word and in a sentence: the same at a terminal and on a page."""

# Only what a server has taken from us for this purpose is plainly an unsubscribe.
MEANINGS = {
    "accepted": (
        "Accepted",
        "The sender's server took the request. Later mail will tell whether it keeps to it.",
    ),
    "page_opened": (
        "Page opened",
        "The page answered. Whether that was enough, only later mail can tell.",
    ),
    "sent": (
        "Mail sent",
        "The mail was handed over. Some lists answer with another mail that asks to confirm.",
    ),
    "needs_confirmation": (
        "Asks again",
        "The page wants another click or a form. Open it in your browser if you trust the sender.",
    ),
    "redirected": (
        "Sent elsewhere",
        "The server pointed to another address, which was not followed.",
    ),
    "unknown": (
        "Unknown",
        "No answer came back that says more. It may have worked; it is not tried again by itself.",
    ),
    "refused": (
        "Refused",
        "The server said no, or could not be asked safely.",
    ),
}
