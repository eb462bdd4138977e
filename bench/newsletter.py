"""A newsletter as people really send them: some 28 kB on the wire, with letters that need quoted-printable."""

import itertools
from collections.abc import Iterator
from textwrap import fill

from gna.mail.content import Content

GREETING = "Good morning {{ nickname }}, here is what we found on our walks this week – eight stories, ten minutes."
GOODBYE = "That was it for this week. Write back if you like; we read everything. – Éloïse, Ștefan and the others"
READ_ON = "Read on – it takes two minutes"
ADDRESS = "The Quiet Café, Strada Căței 7, Brașov. You get this because you asked for it on our page."
STORIES = {
    "The bakery that opens at four": (
        "Before the trams run, the only light in Strada Lungă comes from the cellar of the Brezoianu family. They have "
        "baked there since 1931, and the recipe has not changed: flour, water, salt, and a leaven that is older than "
        "the baker. “You cannot hurry it,” says Ioana, who took over from her father in spring. Regulars know that "
        "the first loaves leave the oven at ten past four, that they cost €3, and that there are none left by six. We "
        "went three nights in a row, and on the last one we were finally early enough to be handed a warm half."
    ),
    "A café where nobody may talk": (
        "It began as a joke between two librarians: a café with the rules of a reading room. One year later there is a "
        "queue on Sundays. You order by pointing, you pay by putting coins on a scale – a coffee is €2.50, a slice of "
        "the plum cake €4 – and the only sound is the machine, which they have wrapped in felt. Some guests write "
        "letters, most just look out of the window. “People thank us as if we had given them something,” one of the "
        "two wrote on a card for us, “but all that we did was take something away.”"
    ),
    "How to mend a coat": (
        "Zoë Lefèvre mends what others throw away, and teaches it on Thursdays in the back of the old pharmacy. The "
        "first hour is always the same: you learn to look. Where does it pull, where is the cloth still strong, what "
        "would the tear do if you left it alone? Only then does she hand out needles. Bring one thing that you would "
        "be sorry to lose, and a thread in a colour that you like – “a mend may be seen, it is nothing to be ashamed "
        "of.” The course is free; the box at the door is for the rent, and €5 is usual."
    ),
    "The last paper map": (
        "There are eleven shops in Europe that still print their own city maps, and one of them is around the corner. "
        "Mr Müller draws each new street by hand, on film, and asks the people who live in it what they call it. So "
        "his map knows the Goat Stairs and the Short Cut, which no telephone has ever heard of. The new edition has "
        "taken him four years. It is as large as a tablecloth, costs €18, and has a mistake in it that he put there "
        "on purpose, “so that I recognise it when somebody copies me.”"
    ),
    "Swimming in November": (
        "The lake has nine degrees, and at seven in the morning there are forty people in it. They are not athletes: "
        "we met a notary, two nurses coming from their night, and a man of eighty-three who has not missed a day since "
        "he retired. You stay in as many minutes as the water has degrees, never more, and you never go alone. "
        "Afterwards there is tea from a samovar that somebody’s grandmother brought from Kraków. If you want to try – "
        "come on Saturday, bring a woollen hat, and tell Grzegorz that it is your first time."
    ),
    "What the bees did": (
        "In May we reported that the town hall had put six hives on its roof. Here is how it went: two swarms left, "
        "one of them into the organ of Saint Nicholas, from where it was moved with much patience and no stings. The "
        "other four gave sixty-one kilos, mostly lime and chestnut. The jars are sold at the information desk for €7 "
        "– one for each family, please – and the money goes into the hedge along the ring road, because, says the "
        "beekeeper, “honey is the easy part, flowers are the work.”"
    ),
    "A letter from a reader": (
        "“Dear all, you asked which sound of the town we would miss. For me it is the man who calls for old iron, on "
        "the first Monday of the month, from a cart with a bell. I have lived here for forty years and have never "
        "understood a word of what he shouts, and still I put down whatever I am doing and go to the window. My "
        "daughter recorded it for me when I was in hospital – twelve seconds, and I was at home. Yours, Mrs Ångström, "
        "third floor.” Thank you. Which one is yours? We shall print the best, as always without the names."
    ),
    "Eight benches": (
        "A bench is an invitation, and our town sends out fewer each year: of the hundred and twelve that stood along "
        "the river in 1990, eight are left. Inès and Bjørn have sat on every one of them, for an hour, at the same "
        "time of day, and drawn what they saw. The drawings hang in the waiting room of the ferry until the end of "
        "the month – free, but mind the step. On the last page of the visitors’ book somebody has already pledged "
        "€400 for a ninth, “with a back to lean on, and please not facing the car park.”"
    ),
}
SANS = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
SHOP = "https://news.example.org/stories"


def _text() -> str:
    stories = [
        f"{title.upper()}\n\n{fill(words, 72)}\n\n{READ_ON}:\n{_link(number)}" for number, (title, words) in _numbered()
    ]
    links = "Change what you get: {{ profile_url }}\nUnsubscribe: {{ unsubscribe_url }}"
    rule = "\n\n* * *\n\n"
    return rule.join((fill(GREETING, 72), *stories, fill(GOODBYE, 72), f"{fill(ADDRESS, 72)}\n{links}\n"))


def _html() -> str:
    stories = "\n".join(_story(number, title, words) for number, (title, words) in _numbered())
    return f"""<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>The Quiet Café</title>
  <style>
    @media (max-width: 600px) {{ .column {{ width: 100% !important }} .story {{ padding: 20px !important }} }}
    @media (prefers-color-scheme: dark) {{ .page {{ background: #131211 !important; color: #f1efeb !important }} }}
  </style>
</head>
<body class="page" style="margin:0;padding:0;background:#faf9f7;color:#1d1b18">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
  <tr>
    <td align="center" style="padding:32px 16px">
      <table class="column" role="presentation" width="600" cellpadding="0" cellspacing="0" border="0">
{_row('<h1 style="margin:0;font-size:28px;line-height:36px">The Quiet Café</h1>')}
{_row(f'<p style="margin:0;font-size:18px;line-height:28px">{GREETING}</p>')}
{stories}
{_row(f'<p style="margin:0;font-size:16px;line-height:26px">{GOODBYE}</p>')}
{_row(_footer())}
      </table>
    </td>
  </tr>
</table>
</body>
</html>
"""


def _story(number: int, title: str, words: str) -> str:
    """A picture, a heading, the words and a button, laid out with tables because mail programs want it so."""
    picture = f"https://news.example.org/pictures/{number}.jpg"
    return _row(f"""<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
            <tr>
              <td style="padding:0 0 16px 0">
                <a href="{_link(number)}" style="text-decoration:none">
                  <img src="{picture}" width="536" height="268" alt="{title}" style="display:block;width:100%;border:0">
                </a>
              </td>
            </tr>
            <tr>
              <td style="{SANS};font-size:22px;line-height:30px;font-weight:600;color:#1d1b18;padding:0 0 8px 0">
                <a href="{_link(number)}" style="color:#1d1b18;text-decoration:none">{title}</a>
              </td>
            </tr>
            <tr>
              <td style="{SANS};font-size:16px;line-height:26px;color:#33312e;padding:0 0 16px 0">
                {fill(words, 100)}
              </td>
            </tr>
            <tr>
              <td align="left" bgcolor="#1d1b18" style="border-radius:6px;padding:10px 18px">
                <a href="{_link(number)}" style="{SANS};font-size:15px;color:#ffffff;text-decoration:none">{READ_ON}</a>
              </td>
            </tr>
          </table>""")


def _row(inside: str) -> str:
    return f"""        <tr>
          <td class="story" style="{SANS};background:#ffffff;border:1px solid #e5e1da;padding:32px">
          {inside}
          </td>
        </tr>"""


def _footer() -> str:
    links = (("{{ profile_url }}", "Change what you get"), ("{{ unsubscribe_url }}", "Unsubscribe"))
    written = " · ".join(f'<a href="{url}" style="color:#6b655c">{name}</a>' for url, name in links)
    return f'<p style="margin:0;font-size:13px;line-height:20px;color:#6b655c">{ADDRESS}<br>{written}</p>'


def _numbered() -> Iterator[tuple[int, tuple[str, str]]]:
    return enumerate(STORIES.items(), 1)


def _link(number: int) -> str:
    return f"{SHOP}/{number}"


CONTENT = Content(subject="{{ nickname }}, eight stories from the Quiet Café – N° 212", html=_html(), text=_text())

NAMES = ("Ana", "Ben", "Chloé", None, "Ștefan", "Siobhán O'Neill", "Tom & Jo", "Łukasz", None, "Grace", "美咲", "Jörg")
DOMAINS = ("example.org", "mail.example.com", "post.example.net")


def people(count: int) -> Iterator[tuple[str, str | None]]:
    """So many different addresses, each with a nickname or none; the same in every run."""
    names, domains = itertools.cycle(NAMES), itertools.cycle(DOMAINS)
    for number, name, domain in zip(range(count), names, domains, strict=False):
        yield f"reader.{number}@{domain}", name
