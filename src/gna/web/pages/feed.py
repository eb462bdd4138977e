"""The archive as RSS 2.0."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from email.utils import format_datetime

from gna.campaigns.issues import Issue
from gna.mail.render import Frame
from gna.web.language import translated

ATOM = "http://www.w3.org/2005/Atom"
CONTENT = "http://purl.org/rss/1.0/modules/content/"
ET.register_namespace("atom", ATOM)
ET.register_namespace("content", CONTENT)
# What XML 1.0 cannot carry, not even escaped.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
MEDIA_TYPE = "application/rss+xml"
# The same words as on the archive's page.
ABOUT = "Everything we have sent by email, newest first."


def rss(issues: Sequence[Issue], frame: Frame) -> bytes:
    """The feed; the library escapes, so that no content can end its element."""
    root = ET.Element("rss", version="2.0")
    channel = ET.SubElement(root, "channel")
    _say(channel, "title", frame.site)
    _say(channel, "link", f"{frame.base_url}/archive")
    _say(channel, "description", translated(ABOUT, frame.language))
    _say(channel, "language", frame.language)
    if issues:
        _say(channel, "lastBuildDate", format_datetime(max(issue.updated_at for issue in issues), usegmt=True))
    itself = {"href": f"{frame.base_url}/archive.xml", "rel": "self", "type": MEDIA_TYPE}
    ET.SubElement(channel, f"{{{ATOM}}}link", itself)
    for issue in issues:
        _item(channel, issue)
    written: bytes = ET.tostring(root, "utf-8", xml_declaration=True)
    return written


def _item(channel: ET.Element, issue: Issue) -> None:
    item = ET.SubElement(channel, "item")
    _say(item, "title", issue.title)
    _say(item, "link", issue.url)
    _say(item, "guid", issue.url, isPermaLink="true")
    _say(item, "pubDate", format_datetime(issue.published_at, usegmt=True))
    _say(item, "description", issue.excerpt)
    _say(item, f"{{{CONTENT}}}encoded", issue.html)


def _say(parent: ET.Element, name: str, text: str, **attributes: str) -> None:
    ET.SubElement(parent, name, attributes).text = FORBIDDEN.sub("", text)
