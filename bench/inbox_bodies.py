"""How many HTML bodies a second are searched for a way out, in all its languages.

The peer builds the tree of the same bodies with selectolax and takes the address and the words of every link: the
least that whoever searches them by a parser has to do, before a single word is compared.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence

from selectolax.lexbor import LexborHTMLParser

from gna.inbox.offers import in_body

ROUNDS = 9
BODIES = 200
LIMIT = 5000
TYPICAL = 40_000
SIZES = (5_000, 10_000, 20_000, 40_000, 60_000, 100_000)

STYLES = (
    ".h{{width:{0}px}} @media only screen and (max-width:480px){{.m{0}{{width:100%!important}}.n{0}{{display:none}}}}\n"
)
# How the big senders build a story: blocks in tables in tables; few tags with long styles; columns of pictures.
TABLES = (
    '<table border="0" cellpadding="0" cellspacing="0" width="100%" class="mcnTextBlock" style="min-width:100%">'
    '<tbody class="mcnTextBlockOuter"><tr><td valign="top" style="padding-top:9px"><!--[if mso]><table><tr><td>'
    '<![endif]--><table align="left" border="0" width="100%"><tbody><tr><td valign="top" class="mcnTextContent" '
    'style="padding:0 18px 9px"><h3>{title}</h3><p style="margin:10px 0"><span style="font-size:14px">{text}</span></p>'
    '<a class="mcnButton" href="{url}" target="_blank" style="font-weight:bold;color:#fff"><span>{more}</span></a>'
    "</td></tr></tbody></table><!--[if mso]></td></tr></table><![endif]--></td></tr></tbody></table>\n"
)
STYLED = (
    '<div style="margin:0 auto;max-width:600px;font-family:-apple-system,Helvetica,Arial,sans-serif;font-size:16px">'
    '<a href="{url}" style="display:block;text-decoration:none;color:#111"><img src="https://img.example.com/{n}.jpg" '
    'alt="{title}" width="600" style="display:block;border:0;width:100%"></a><p style="line-height:26px">{text} '
    '<a href="{url}&amp;r=2" style="color:#06c">{more}</a></p></div>\n'
)
COLUMNS = (
    '<tr><td align="center" style="font-size:0"><div style="display:inline-block;width:50%;vertical-align:top"><table>'
    '<tr><td><a href="{url}"><img src="https://img.example.com/{n}.png" alt="{title}" style="display:block"></a></td>'
    '</tr><tr><td style="font:14px Arial"><b>{title}</b><br>{text}<br><br><a href="{url}&amp;b=1">{more}</a></td></tr>'
    "</table></div></td></tr>\n"
)
STORIES = (TABLES, STYLED, COLUMNS)
LETTERS = (
    "the",
    "and",
    "November",
    "garden",
    "für",
    "été",
    "niños",
    "sale",
    "Straße",
    "week",
    "recipe",
    "letter",
    "“so”",
)
# What is said at the end, and where one reads on.
FOOTERS = (
    ("Read more", 'You get this because you signed up. <a href="{url}">Unsubscribe</a> | <a href="{other}">Home</a>'),
    ("Weiterlesen", 'Wenn Sie nichts mehr lesen wollen, k&ouml;nnen Sie sich <a href="{url}">hier</a> abmelden.'),
    ("Zum Shop", 'Sie k&ouml;nnen den Newsletter jederzeit <a href="{url}"><u>abbestellen</u></a>.'),
    ("Lire la suite", '<a href="{other}">Voir en ligne</a> - <a href="{url}">Se d&eacute;sabonner</a>'),
    ("Leer más", 'Si no desea recibir más mensajes, haga clic <a href="{url}">aquí</a>.'),
    ("Подробнее", '<a href="{url}">Отписаться от рассылки</a> · <a href="{other}">Контакты</a>'),
    ("続きを読む", '<a href="{url}">配信停止はこちら</a>'),
    ("Czytaj dalej", '<a href="{other}">Kontakt</a> | <a href="{url}">Wypisz się</a>'),
    ("Shop now", '<a href="{url}"><img src="https://img.example.com/u.png" alt="Unsubscribe"></a>'),
    ("View order", 'Your order was sent. Questions? <a href="{other}">Write to us</a>.'),
)


def main() -> None:
    """Print bodies a second beside the limit and the peer."""
    chance = random.Random(8058)
    for name, sizes in (("40 kB, as most newsletters", (TYPICAL,)), ("5 to 100 kB", SIZES)):
        bodies = [_body(chance, size) for size, _ in zip(_endlessly(sizes), range(BODIES), strict=False)]
        _compare(name, bodies)


def _endlessly(sizes: Sequence[int]) -> Iterator[int]:
    while True:
        yield from sizes


def _compare(name: str, bodies: Sequence[bytes]) -> None:
    """In turns, so that whatever else the machine does is in both."""
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(_speed(lambda body: in_body(body, ""), bodies))
        theirs.append(_speed(_all_links, bodies))
    mine, peer = statistics.median(ours), statistics.median(theirs)
    found = sum(1 for body in bodies if in_body(body, ""))
    links = statistics.mean(body.count(b"<a ") for body in bodies)
    size = statistics.mean(len(body) for body in bodies)
    print(f"{name}: {len(bodies)} bodies, {size / 1000:.0f} kB and {links:.0f} links each, median of {ROUNDS}")
    verdict = "within" if mine >= LIMIT else "BELOW"
    print(f"  {mine:8,.0f} bodies a second  {verdict} the limit of {LIMIT:,}; a way out is found in {found}")
    print(f"  {mine / peer:8.2f} times the {peer:,.0f} of a parser that only lists all links")


def _speed(search: Callable[[bytes], object], bodies: Sequence[bytes]) -> float:
    started = time.perf_counter()
    for body in bodies:
        search(body)
    return len(bodies) / (time.perf_counter() - started)


def _all_links(body: bytes) -> list[tuple[str | None, str]]:
    return [(link.attributes.get("href"), link.text()) for link in LexborHTMLParser(body).css("a[href]")]


def _body(chance: random.Random, size: int) -> bytes:
    """A newsletter of about this size, as the part of a mail has it."""
    more, footer = chance.choice(FOOTERS)
    story = chance.choice(STORIES)
    head = (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"><html><head><title>News</title><style>'
        + "".join(STYLES.format(number) for number in range(size // 4000))
        + '</style></head><body style="margin:0"><div style="display:none;max-height:0;overflow:hidden">What is new'
        + "&nbsp;&zwnj;" * 20
        + '</div><table width="100%"><tr><td>\n'
    )
    url = "https://click.example.com/ls/click?upn={:x}&amp;k={:x}".format
    foot = footer.format(url=url(chance.getrandbits(256), 1), other=url(chance.getrandbits(256), 2))
    end = f'</td></tr></table><table><tr><td style="font-size:11px;color:#999">{foot}</td></tr></table></body></html>'
    parts, length = [head], len(head) + len(end)
    while length < size:
        text = " ".join(chance.choices(LETTERS, k=60))
        title = " ".join(chance.choices(LETTERS, k=4))
        link = url(chance.getrandbits(256), chance.getrandbits(32))
        parts.append(story.format(n=len(parts), title=title, text=text, url=link, more=more))
        length += len(parts[-1])
    return "".join((*parts, end)).encode()


if __name__ == "__main__":
    main()
