"""The products whose exports are known, each as a table of facts.

Nothing about places, devices, payments or habits is taken over: an address moves here, a profile does not.
"""

from gna.subscribers.formats.cells import data_in, quoted_tags, tags_by
from gna.subscribers.formats.foreign import Product
from gna.subscribers.formats.leaving import Meanings, Sign
from gna.subscribers.formats.person import Standing
from gna.subscribers.formats.words import FALSE, STATUS, TRUE

ACTIVATED, UNCONFIRMED = Standing.ACTIVATED, Standing.UNCONFIRMED
UNSUBSCRIBED, CLEANED = Standing.UNSUBSCRIBED, Standing.CLEANED

NEVER_KEPT = frozenset({"ip", "ip address", "ip_address", "signup_ip", "optin_ip", "confirm_ip", "stripe_customer_id"})

SUBSCRIBED = dict.fromkeys(TRUE, ACTIVATED) | dict.fromkeys(FALSE, UNSUBSCRIBED)
# That a person did not leave does not say that they confirmed.
DISABLED: Meanings = {**dict.fromkeys(TRUE, UNSUBSCRIBED), **dict.fromkeys((*FALSE, ""), None)}
# A shop's customer who does not accept marketing, or of whom it is not known, never subscribed or left: the file does
# not say which, so the person is left out but not barred.
ACCEPTS: Meanings = {**dict.fromkeys(TRUE, ACTIVATED), **dict.fromkeys((*FALSE, ""), UNCONFIRMED)}


def _filled(*columns: str, means: Standing = UNSUBSCRIBED) -> Sign:
    return Sign(columns, {"": None}, otherwise=means)


def _true(*columns: str, means: Standing = UNSUBSCRIBED) -> Sign:
    """A box that is ticked for those who left; any other value than a no counts as a tick."""
    return Sign(columns, {**dict.fromkeys(TRUE, means), **dict.fromkeys((*FALSE, ""), None)}, otherwise=means)


_MAILCHIMP_TECHNICAL = frozenset(
    {"member_rating", "optin_time", "optin_ip", "confirm_time", "confirm_ip", "latitude", "longitude", "gmtoff"}
    | {"dstoff", "timezone", "cc", "region", "last_changed", "leid", "euid", "notes", "tags", "email_type"}
    | {"unsub_time", "unsub_campaign_title", "unsub_campaign_id", "unsub_reason", "unsub_reason_other"}
    | {"clean_time", "clean_campaign_title", "clean_campaign_id"}
)


def _mailchimp(
    marks: tuple[frozenset[str], ...],
    signs: tuple[Sign, ...],
    *,
    marks_as_spelled: tuple[frozenset[str], ...] = (),
) -> Product:
    return Product(
        "mailchimp",
        marks=marks,
        marks_as_spelled=marks_as_spelled,
        signs=signs,
        activated=("confirm_time", "optin_time"),
        ended=("unsub_time", "clean_time"),
        unpack={"tags": quoted_tags},
        renamed={"timezone": "timezone", "cc": "country", "region": "region", "notes": "notes"},
        technical=_MAILCHIMP_TECHNICAL,
        localised=True,
    )


# A file of all people, put together from several exports or written through the API: each row speaks for itself.
# `status` is also subscribed, unsubscribed, cleaned, pending, transactional, archived; empty says nothing.
MAILCHIMP_MERGED = _mailchimp(
    (
        frozenset({"unsub_time", "clean_time"}),
        frozenset({"unsub_time", "status"}),
        frozenset({"clean_time", "status"}),
        frozenset({"leid", "euid", "status"}),
        frozenset({"member_rating", "status"}),
        frozenset({"optin_time", "confirm_time", "status"}),
    ),
    (Sign(("status",), {**STATUS, "": None}), _filled("unsub_time"), _filled("clean_time", means=CLEANED)),
    marks_as_spelled=(frozenset({"Email Address", "STATUS"}),),
)
# Mailchimp writes people who left into files of their own, where every row is one of them, whatever the cell holds.
MAILCHIMP_UNSUBSCRIBED = _mailchimp((frozenset({"unsub_time"}),), (Sign(("unsub_time",), {}, otherwise=UNSUBSCRIBED),))
MAILCHIMP_CLEANED = _mailchimp((frozenset({"clean_time"}),), (Sign(("clean_time",), {}, otherwise=CLEANED),))
MAILCHIMP = _mailchimp(
    (frozenset({"leid", "euid"}), frozenset({"member_rating", "optin_time"})),
    (),
    marks_as_spelled=tuple(
        frozenset({"Email Address", column}) for column in ("TAGS", "MEMBER_RATING", "OPTIN_TIME", "CONFIRM_TIME")
    ),
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
# EMAIL_BLACKLISTED: unsubscribed, complained, bounced hard or blocked by hand; empty is no.
BREVO = Product(
    "brevo",
    marks=(frozenset({"email_blacklisted"}),),
    signs=(_true("email_blacklisted"),),
    activated=("added_time", "created_at"),
    dropped=NEVER_KEPT
    | {"contact id", "id", "sms", "sms_blacklisted", "whatsapp", "whatsapp_blacklisted", "landline_number"}
    | {"email_blacklisted_time", "modified_time", "double_opt-in", "_listids"},
)
# The opt-out is empty until it is set for the first time. A non-marketing contact gets no newsletter there either.
# The file does not say which of its types of mail this newsletter is: who opted out of one is left out, not barred.
HUBSPOT = Product(
    "hubspot",
    marks=(
        frozenset({"unsubscribed from all email"}),
        frozenset({"opted out of all email"}),
        frozenset({"portal unsubscribe", "portal bounce"}),
    ),
    signs=(
        _true("unsubscribed from all email"),
        _true("opted out of all email"),
        _true("opted out of email: *", means=UNCONFIRMED),
        _true("portal unsubscribe"),
        _true("portal bounce", means=CLEANED),
        _true("portal spam report", means=CLEANED),
        _true("global bounce", means=CLEANED),
        _true("invalid email address", means=CLEANED),
        _filled("email hard bounce reason", means=CLEANED),
        Sign(("marketing contact status",), {"marketing contact": None, "": None}),
    ),
    # Of a customer file with hundreds of columns only the name is taken.
    keeps_others=False,
)
# Without a consent a profile came from an order or a visit; `[]` is no suppression.
KLAVIYO = Product(
    "klaviyo",
    marks=(frozenset({"email marketing consent"}), frozenset({"email suppressions"})),
    signs=(
        Sign(("email marketing consent",), {**STATUS, "": UNCONFIRMED}),
        Sign(("email suppressions",), {"": None, "[]": None, **dict.fromkeys(FALSE)}, otherwise=UNSUBSCRIBED),
    ),
    activated=("email marketing consent timestamp", "profile created on"),
    dropped=NEVER_KEPT
    | {"klaviyo id", "phone number", "sms marketing consent", "sms marketing consent timestamp", "sms suppressions"}
    | {"email suppressions timestamp", "last active", "last open", "last click", "last source", "source"}
    | {"latitude", "longitude", "address", "address 2", "zip code", "organization"},
)
PERMISSIONS = ("implicit", "implied", "explicit", "express", "permission to send")
# Without a status, or with "No Permissions Set", a contact came from an event or a form and gets no newsletter there.
CONSTANT_CONTACT = Product(
    "constantcontact",
    marks=(frozenset({"email permission status"}), frozenset({"email address", "email status", "email lists"})),
    signs=(
        Sign(("email status",), STATUS),
        Sign(("email permission status",), {**STATUS, **dict.fromkeys(PERMISSIONS, ACTIVATED)}),
    ),
    activated=("email update date", "created at"),
    unpack={"tags": tags_by(",")},
    dropped=NEVER_KEPT | {"source name", "email lists", "updated at", "email update source"},
)
SHOPIFY = Product(
    "shopify",
    marks=(
        frozenset({"accepts email marketing"}),
        frozenset({"accepts marketing", "total spent"}),
        frozenset({"accepts marketing", "tax exempt"}),
    ),
    signs=(Sign(("accepts email marketing", "accepts marketing"), ACCEPTS),),
    unpack={"tags": tags_by(",")},
    keeps_others=False,
)
SQUARESPACE = Product(
    "squarespace",
    marks=(frozenset({"accepts marketing"}),),
    signs=(Sign(("accepts marketing",), ACCEPTS),),
    activated=("subscriber since", "created on"),
    unpack={"tags": tags_by(",")},
    keeps_others=False,
)
# One row for each list of a person. Who left one list is not brought in by its row, but by that of another list.
# Inactive people opened nothing for long; they get nothing there, and did not leave.
MAILPOET = Product(
    "mailpoet",
    marks=(frozenset({"global status"}), frozenset({"list status", "email"})),
    signs=(
        Sign(("global status",), {**STATUS, "inactive": UNCONFIRMED}),
        Sign(("list status",), {"subscribed": ACTIVATED, "": None}),
    ),
    activated=("subscription time", "confirmation time", "created at"),
    dropped=NEVER_KEPT | {"list", "confirmed ip", "subscribed ip"},
)
WIX = Product(
    "wix",
    marks=(frozenset({"email subscriber status"}),),
    signs=(Sign(("email subscriber status",), STATUS),),
    activated=("created at (utc+0)", "created at"),
    unpack={"labels": tags_by(",")},
    keeps_others=False,
    address_column="email 1",
)
# The date on which a person subscribed, and in the file of people who left the date of that.
MAILERLITE = Product(
    "mailerlite",
    marks=(
        frozenset({"subscriber", "subscribed", "sent", "opens", "clicks"}),
        frozenset({"email", "subscribed", "sent", "opens", "clicks"}),
    ),
    signs=(Sign(("status",), {**STATUS, "": None}), _filled("unsubscribed")),
    activated=("opted-in", "subscribed"),
    ended=("unsubscribed",),
    dropped=NEVER_KEPT | {"sent", "opens", "clicks", "location", "updated", "source"},
    address_column="subscriber",
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
    "brevo": "Brevo",
    "hubspot": "HubSpot",
    "klaviyo": "Klaviyo",
    "constantcontact": "Constant Contact",
    "shopify": "Shopify",
    "squarespace": "Squarespace",
    "mailpoet": "MailPoet",
    "wix": "Wix",
    "mailerlite": "MailerLite",
}
# The first that knows its columns is taken.
PRODUCTS = (
    *(MAILCHIMP_MERGED, MAILCHIMP_UNSUBSCRIBED, MAILCHIMP_CLEANED, MAILCHIMP),
    *(SUBSTACK, BUTTONDOWN, GHOST, LISTMONK, KEILA, BEEHIIV, USESEND, HYVOR),
    *(BREVO, HUBSPOT, KLAVIYO, CONSTANT_CONTACT, SHOPIFY, SQUARESPACE, MAILPOET, WIX, MAILERLITE),
)

# A file of an unknown product: what looks like an opt-out is taken for one, and a person is asked about the rest.
ANY = Product(
    "csv",
    activated=("confirmed_at", "confirmed at", "subscribed_at", "subscribed at", "created_at", "created at"),
    ended=("unsubscribed_at", "unsubscribed at", "unsubscribe date", "unsubscribed on", "date unsubscribed"),
    dropped=NEVER_KEPT,
    signs_by_name=True,
)
