"""The products whose exports are known, each as a table of facts.

Nothing about places, devices, payments or habits is taken over: an address moves here, a profile does not.
"""

from gna.subscribers.formats.cells import data_in, quoted_tags, tags_by
from gna.subscribers.formats.foreign import Product, Sign
from gna.subscribers.formats.person import Standing
from gna.subscribers.formats.words import FALSE, STATUS, TRUE

ACTIVATED, UNCONFIRMED = Standing.ACTIVATED, Standing.UNCONFIRMED
UNSUBSCRIBED, CLEANED = Standing.UNSUBSCRIBED, Standing.CLEANED

NEVER_KEPT = frozenset({"ip", "ip address", "ip_address", "signup_ip", "optin_ip", "confirm_ip", "stripe_customer_id"})

SUBSCRIBED = dict.fromkeys(TRUE, ACTIVATED) | dict.fromkeys(FALSE, UNSUBSCRIBED)
DISABLED = dict.fromkeys(TRUE, UNSUBSCRIBED) | dict.fromkeys((*FALSE, ""), ACTIVATED)


def _filled(*columns: str, means: Standing = UNSUBSCRIBED) -> Sign:
    return Sign(columns, {"": ACTIVATED}, otherwise=means)


def _present(column: str, *, means: Standing) -> Sign:
    return Sign((column,), {}, otherwise=means)


MAILCHIMP = Product(
    "mailchimp",
    marks=(frozenset({"leid", "euid"}),),
    signs=(_present("unsub_time", means=UNSUBSCRIBED), _present("clean_time", means=CLEANED)),
    activated=("confirm_time", "optin_time"),
    ended=("unsub_time", "clean_time"),
    unpack={"tags": quoted_tags},
    renamed={"timezone": "timezone", "cc": "country", "region": "region", "notes": "notes"},
    technical=frozenset(
        {"member_rating", "optin_time", "optin_ip", "confirm_time", "confirm_ip", "latitude", "longitude", "gmtoff"}
        | {"dstoff", "timezone", "cc", "region", "last_changed", "leid", "euid", "notes", "tags", "email_type"}
        | {"unsub_time", "unsub_campaign_title", "unsub_campaign_id", "unsub_reason", "unsub_reason_other"}
        | {"clean_time", "clean_campaign_title", "clean_campaign_id"}
    ),
    localised=True,
)
SUBSTACK = Product(
    "substack",
    marks=(
        frozenset({"email", "email_disabled"}),
        frozenset({"email", "active_subscription"}),
        frozenset({"email", "subscription type", "subscription date"}),
    ),
    signs=(Sign(("email_disabled",), DISABLED),),
    activated=("created_at", "subscription date"),
    renamed={"plan": "plan", "type": "type", "subscription type": "type", "subscriber country": "country"},
    keeps_others=False,
)
BUTTONDOWN = Product(
    "buttondown",
    marks=(frozenset({"subscriber_type"}), frozenset({"email_address", "type", "creation_date"})),
    signs=(
        Sign(
            ("subscriber_type", "type"),
            # Somebody of another type, such as `unpaid`, gets nothing there and is not mailed here either.
            dict.fromkeys(
                ("regular", "premium", "gifted", "trialed", "churning", "churned", "paused", "past_due"), ACTIVATED
            )
            | dict.fromkeys(("unsubscribed", "removed"), UNSUBSCRIBED)
            | dict.fromkeys(
                ("complained", "blocked", "undeliverable", "spammy", "bounced", "malformed", "banned"), CLEANED
            ),
        ),
    ),
    activated=("subscription_date", "creation_date"),
    ended=("unsubscription_date",),
    unpack={"tags": tags_by(";"), "metadata": data_in("metadata")},
    dropped=NEVER_KEPT
    | {"id", "secondary_id", "referrer_url", "utm_source", "utm_medium", "utm_campaign", "source", "avatar_url"},
)
GHOST = Product(
    "ghost",
    marks=(frozenset({"subscribed_to_emails"}),),
    signs=(Sign(("subscribed_to_emails",), SUBSCRIBED), _filled("deleted_at")),
    activated=("created_at",),
    ended=("deleted_at",),
    unpack={"labels": tags_by(",")},
    dropped=NEVER_KEPT | {"id", "gift_id", "complimentary_plan"},
)
LISTMONK = Product(
    "listmonk",
    marks=(frozenset({"uuid", "email", "attributes"}), frozenset({"email", "name", "attributes"})),
    signs=(Sign(("status",), STATUS),),
    activated=("created_at",),
    unpack={"attributes": data_in("attributes")},
    dropped=NEVER_KEPT | {"uuid", "updated_at"},
)
KEILA = Product(
    "keila",
    marks=(frozenset({"data", "status", "external id"}), frozenset({"first name", "last name", "data", "status"})),
    signs=(Sign(("status",), STATUS),),
    unpack={"data": data_in("data")},
    renamed={"external id": "external_id"},
)
BEEHIIV = Product(
    "beehiiv",
    marks=(
        frozenset({"status", "tier", "created_at", "stripe_customer_id"}),
        frozenset({"status", "tier", "created_at", "unsubscribed_at"}),
    ),
    # An active person may keep the date of an earlier goodbye: the status counts.
    signs=(Sign(("status",), STATUS),),
    activated=("created_at",),
    ended=("unsubscribed_at",),
    dropped=NEVER_KEPT,
)
USESEND = Product(
    "usesend",
    marks=(frozenset({"subscribed", "unsubscribe reason", "created at"}),),
    signs=(Sign(("subscribed",), SUBSCRIBED),),
    activated=("created at",),
    dropped=frozenset({"unsubscribe reason"}),
)
HYVOR = Product(
    "hyvor",
    marks=(frozenset({"email", "status", "subscribed at", "source"}),),
    signs=(Sign(("status",), STATUS),),
    activated=("subscribed at",),
    dropped=frozenset({"source"}),
)
# As they write themselves.
TITLES = {
    "gna": "Gna",
    "csv": "CSV",
    "mailchimp": "Mailchimp",
    "substack": "Substack",
    "buttondown": "Buttondown",
    "ghost": "Ghost",
    "listmonk": "listmonk",
    "keila": "Keila",
    "beehiiv": "beehiiv",
    "usesend": "useSend",
    "hyvor": "Hyvor Post",
}
PRODUCTS = (MAILCHIMP, SUBSTACK, BUTTONDOWN, GHOST, LISTMONK, KEILA, BEEHIIV, USESEND, HYVOR)

# A file of nobody we know: whatever looks like a goodbye is taken for one.
ANY = Product(
    "csv",
    signs=(
        Sign(("status", "subscription status", "subscriber status"), STATUS | {"": ACTIVATED}),
        Sign(("subscribed", "opt in", "opt-in", "opted in"), SUBSCRIBED | {"": ACTIVATED}),
        Sign(("unsubscribed", "opted out", "opt out", "opt-out"), DISABLED, otherwise=UNSUBSCRIBED),
        _filled("unsubscribed_at", "unsubscribed at", "unsubscribe date", "unsubscribed on", "date unsubscribed"),
        Sign(("confirmed",), dict.fromkeys((*TRUE, ""), ACTIVATED)),
    ),
    activated=("confirmed_at", "confirmed at", "subscribed_at", "subscribed at", "created_at", "created at"),
    ended=("unsubscribed_at", "unsubscribed at", "unsubscribe date", "unsubscribed on", "date unsubscribed"),
    dropped=NEVER_KEPT,
)
