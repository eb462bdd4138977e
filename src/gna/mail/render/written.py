"""What a publisher wrote, as the parts of a mail that belong to nobody yet."""

import re
from functools import cached_property

from gna.mail.content import one_line
from gna.mail.render.draft import Draft, Format, printable
from gna.mail.render.fields import Words
from gna.mail.render.sanitise import sanitised
from gna.mail.render.text import as_text

STYLED = re.compile(r"<style\b", re.IGNORECASE)


class Written:
    """The parts of a draft, each made when it is asked for, with words in place of the merge fields."""

    def __init__(self, draft: Draft, base_url: str) -> None:
        self._draft = draft
        self._base_url = base_url
        self.words = Words(*map(printable, draft.texts))

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

    @cached_property
    def unchecked(self) -> str:
        """The body as HTML that nobody has looked at yet, its style sheets in its style attributes."""
        body = self.words.hold(printable(self._draft.body), decode=True)
        html = _from_markdown(body) if self._draft.body_format is Format.MARKDOWN else body
        return _inlined(html) if STYLED.search(html) else html


def _from_markdown(text: str) -> str:
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def _inlined(html: str) -> str:
    import css_inline

    return css_inline.CSSInliner(load_remote_stylesheets=False).inline(html)
