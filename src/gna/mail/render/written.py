"""What a publisher wrote, as the parts of a mail that belong to nobody yet."""

from functools import cached_property
from html import escape

from gna.errors import Refused
from gna.lines import shortened
from gna.mail.content import one_line
from gna.mail.render.draft import Draft, Format, printable
from gna.mail.render.fields import Words
from gna.mail.render.nesting import check_nesting, style_sheets, without_drawings
from gna.mail.render.sanitise import sanitised
from gna.mail.render.text import as_text, prose

# Each takes a second or two at most; a tenth of this is a long mail.
LONGEST_MARKDOWN = 100_000
MOST_COLUMNS = 500
# Rules times tags, and declarations times tags, each of which may be written into each.
MOST_MATCHES, MOST_DECLARED = 5_000_000, 1_500_000


class Written:
    """The parts of a draft, each made when it is asked for, with words in place of the merge fields."""

    def __init__(self, draft: Draft, base_url: str, *, forgiving: bool = False) -> None:
        self._draft = draft
        self._base_url = base_url
        self.words = Words(*map(printable, draft.texts), forgiving=forgiving)

    @property
    def subject(self) -> str:
        """One line."""
        return one_line(self.words.hold(printable(self._draft.subject)))

    @property
    def preheader(self) -> str:
        """One line; empty if the publisher wrote none."""
        return one_line(self.words.hold(printable(self._draft.preheader or "")))

    @cached_property
    def html(self) -> str:
        """The body as a sanitised fragment."""
        return sanitised(self.unchecked, self.words, self._base_url)

    @cached_property
    def text(self) -> str:
        """The body as plain text: what the publisher wrote for it, else what the HTML says."""
        if self._draft.body_text is None:
            return as_text(self.html)
        return self.words.hold(printable(self._draft.body_text)).strip()

    def beginning(self, length: int) -> str:
        """What an inbox, or a list, shows of it: the preheader, else how the text begins."""
        if self.preheader:
            return shortened(self.preheader, length)
        return shortened(prose(self.html, length) if self._draft.body_text is None else self.text, length)

    @cached_property
    def as_html(self) -> str:
        """The body as HTML, whatever is in it."""
        body = self.words.hold(printable(self._draft.body), decode=True)
        return from_markdown(body) if self._draft.body_format is Format.MARKDOWN else body

    @cached_property
    def unchecked(self) -> str:
        """The body as HTML that a parser can read, its style sheets in its style attributes."""
        html = without_drawings(self.as_html)
        check_nesting(html)
        return _inlined(html)


def markdown_to_html(text: str) -> str:
    """The HTML that a Markdown body becomes, with its merge fields; for an author who goes on in HTML."""
    text = printable(text)
    words = Words(text, forgiving=True)
    rendered = from_markdown(words.hold(text, decode=True))
    return words.put_back(rendered, lambda field: escape(field.slot, quote=False)).strip()


def from_markdown(text: str) -> str:
    """Markdown as HTML, with what raw HTML is in it; what would take minutes is refused."""
    from markdown_it import MarkdownIt

    if len(text) > LONGEST_MARKDOWN:
        raise Refused(f"The Markdown is longer than {LONGEST_MARKDOWN:,} characters; shorten it, or write HTML")
    if any(line.count("|") > MOST_COLUMNS for line in text.split("\n")):
        raise Refused(f"A table has more than {MOST_COLUMNS} columns; no mail shows so many")
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def _inlined(html: str) -> str:
    """The HTML with its style sheets in its style attributes: nothing else of them outlives the sanitiser."""
    import css_inline

    found = style_sheets(html)
    if not found:
        return html
    tags, rules = html.count("<"), found.count("{") + found.count(",")
    if rules * tags > MOST_MATCHES or found.count(":") * (tags - html.count("</")) > MOST_DECLARED:
        raise Refused("The style sheet has too many rules for so long a text; leave out what it does not need")
    return css_inline.CSSInliner(load_remote_stylesheets=False).inline(html)
