"""A draft becomes the content of a mail."""

from html import escape

from gna.mail.content import Content
from gna.mail.footer import WORDS, with_footer
from gna.mail.render.draft import Draft
from gna.mail.render.fields import WORD_JOINER, Field, Words, without_slots
from gna.mail.render.pictures import sized
from gna.mail.render.template import Frame, Page, page
from gna.mail.render.written import Written

HELLO = {"en": "Hi", "ro": "Bună"}
# A draft without a preheader shows so much of its text in the inbox list.
PREVIEW = 120
# After the preheader, so that the inbox list shows nothing of the body; as entities, so that the mail can stay ASCII.
PADDING = "&#847;&zwnj;&nbsp;" * 90


def compose(draft: Draft, frame: Frame, *, forgiving: bool = False) -> Content:
    """The mail that a draft becomes, with a slot for each merge field; the same for the same draft and frame.

    `forgiving` is for previews: a field that is unknown or half typed is shown as it stands.
    """
    return composed(Written(draft, frame.base_url, forgiving=forgiving), draft, frame)


def composed(written: Written, draft: Draft, frame: Frame) -> Content:
    """The mail, of what was made of the draft already."""
    around = page(frame)
    content = Content(
        subject=_subject(written),
        html=_html(draft, frame, written, around),
        text=_text(draft, frame, written, around),
    )
    # An operator's template may lack the links; whoever looks at a preview shall see them too.
    return with_footer(content, frame.language)


def _subject(written: Written) -> str:
    # Braces that are no field of ours stand in the subject of a preview alone.
    harmless = without_slots(written.subject, "{" + WORD_JOINER)
    return written.words.put_back(harmless, lambda field: field.slot)


def _html(draft: Draft, frame: Frame, written: Written, around: Page) -> str:
    words = written.words
    preheader, padding = written.preheader or written.beginning(PREVIEW), words.word(Field("padding"))
    values = {
        "archive_url": escape(draft.archive_url or frame.base_url),
        "base_url": escape(frame.base_url),
        "content": sized(written.html, around.column),
        "footer": _footer(draft, frame, words),
        "language": frame.language if frame.language in HELLO else "en",
        "preheader": escape(preheader) + padding,
        "site": escape(frame.site),
        "subject": escape(written.subject),
    }

    def placed(field: Field) -> str:
        return values[field.name] if field.name in values else words.word(_greeted(field, frame))

    inlined = _inlined(around.words.put_back(around.html, placed)).replace("</head>", f"{around.kept}</head>", 1)
    whole = without_slots(inlined, "&#123;")
    return words.put_back(whole, lambda field: PADDING if field.name == "padding" else field.slot)


def _text(draft: Draft, frame: Frame, written: Written, around: Page) -> str:
    words = written.words
    greeting = words.word(_greeted(around.greeting, frame)) + "\n\n" if around.greeting else ""
    links = "".join(f"{said}: {href}\n" for said, href in _links(draft, frame, words))
    whole = without_slots(f"{greeting}{written.text}\n\n--\n{links}", "{" + WORD_JOINER)
    return words.put_back(whole, lambda field: field.slot)


def _greeted(field: Field, frame: Frame) -> Field:
    """The field, with the language's word if it greets with none of its own."""
    if field.name != "greeting" or field.fallback:
        return field
    return Field("greeting", HELLO.get(frame.language, HELLO["en"]))


def _footer(draft: Draft, frame: Frame, words: Words) -> str:
    return " &middot; ".join(f'<a href="{escape(href)}">{said}</a>' for said, href in _links(draft, frame, words))


def _links(draft: Draft, frame: Frame, words: Words) -> list[tuple[str, str]]:
    """What stands under every mail: the words of each link, and where it leads."""
    leave, profile, archive = WORDS.get(frame.language, WORDS["en"])
    links = [(leave, words.word(Field("unsubscribe_url"))), (profile, words.word(Field("profile_url")))]
    return [*links, (archive, draft.archive_url)] if draft.archive_url else links


def _inlined(document: str) -> str:
    import css_inline

    return css_inline.CSSInliner(load_remote_stylesheets=False, keep_at_rules=True).inline(document)
