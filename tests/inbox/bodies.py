"""HTML as mails have it, made up: tables in tables, styles in tags, and somewhere a way out, or something like it."""

from hypothesis import strategies as st

LABELS = (
    "Unsubscribe",
    "UNSUBSCRIBE NOW",
    "un<b>sub</b>scribe",
    "<span style='color:red'>Abmelden</span>",
    "Newsletter abbestellen",
    "Se d&eacute;sabonner",
    "se désinscrire",
    "Darse de&nbsp;baja",
    "Отписаться",
    "ОТПИСАТЬСЯ",
    "&#1054;&#1090;&#1087;&#1080;&#1089;&#1072;&#1090;&#1100;&#1089;&#1103;",
    "配信停止はこちら",
    "수신거부",
    "Odhlásit se",
    "Leiratkoz&aacute;s",
    "unsub&shy;scribe",
    "opt-out",
    "no longer<br>wish to receive this?",
    "unsubscribe preferences",
    "Manage preferences",
    "E-Mail-Einstellungen",
    "here",
    "Klicken Sie hier",
    "<b>click</b> here",
    "ici",
    "こちら",
    "https://news.example.com/x",
    "Read more",
    "Subscribe",
    "A description of inscriptions",
    "Shop &gt; all",
    "",
    "word " * 40 + "unsubscribe",
    "<img src=a.png alt='Unsubscribe'>",
    '<img src="b.png" ALT="Abmelden" style="display:block">',
    "<img src=c.png alt=Product>",
    "<img src=c.png title='Manage preferences'>",
)
SENTENCES = (
    "To unsubscribe, ",
    "If you no longer wish to receive this, ",
    "View it in your browser: ",
    " to unsubscribe. ",
    " to read on, ",
    " or ",
    " or unsubscribe ",
    "Follow us ",
    "You may unsubscribe at any time. ",
    "To be removed ",
    "Please follow this ",
    " | ",
    ". ",
    "Wenn Sie keinen Newsletter mehr erhalten m&ouml;chten, ",
    "Lorem ipsum dolor sit amet. ",
    "You subscribed at our shop. ",
    "<br>",
    "<br><br />",
    "<em>kostenlos</em> abbestellen.",
    "Pour ne plus recevoir nos messages, ",
    "<!-- unsubscribe -->",
)
ADDRESSES = (
    "https://news.example.com/{}",
    "https://news.example.com/unsubscribe?u={}&amp;copy=2&amp;l=1",
    "https://optout.example.com/{}",
    "https://news.example.com/2026/how-we-halved-our-unsubscribe-rate-{}",
    "http://news.example.com/email-preferences/{}",
    "mailto:leave-{}@example.com?subject=unsubscribe",
    "https://click.example.com/ls/click?upn=AbCdEf{}",
    "leave/{}",
    "#top{}",
)
STYLES = (
    "",
    ' style="color:#333;text-decoration:none"',
    " style='display:block'",
    ' class="button" target=_blank',
    ' title="Product"',
    ' TITLE="Unsubscribe"',
    ' style="display:none"',
    ' style="visibility:hidden;color:red"',
    ' style="font-size:0;line-height:0"',
    ' aria-label="abmelden"',
    ' data-note="a > b"',
)
AROUND = (
    "{}",
    "<p>{}</p>",
    '<div style="padding:0">{}</div>',
    "<table><tr><td>{}</td></tr></table>",
    '<TABLE BORDER=0><TBODY><TR><TD STYLE="padding:1px">{}</TD><TD>x</TD></TR></TBODY></TABLE>',
    '<div style="display:none">{}</div>',
    '<div style="Display: None"><div>{}</div></div>',
    "<span>{}</span>",
    "<!--[if mso]>{}<![endif]-->",
    "<!--[if !mso]><!-->{}<!--<![endif]-->",
    "<blockquote>{}</blockquote>",
    "<BLOCKQUOTE TYPE=cite>{}</BLOCKQUOTE>",
    "<blockquote class='x gmail_quote'>{}</blockquote>",
    "<div>On Monday Ann &lt;ann@example.com&gt; wrote:<br></div><blockquote style='margin:0'>{}</blockquote>",
    "<p>Am 2. Mai schrieb Ann:</p><p> </p><blockquote>{}</blockquote>",
    '<div class="gmail_quote">{}</div>',
    "<ul><li>{}</li><li>y</li></ul>",
    "<center><font size=1>{}</font></center>",
)
HEADS = (
    "",
    "<html><head><title>News</title><style>.a{display:none} p > a{color:red}</style></head><body>",
    '<base href="https://base.example.com/a/">',
    "<BASE target=_blank HREF='https://base.example.com/'>",
)
CONTROLS = (
    '<input type="hidden" name="list" value="a &amp; b">',
    "<INPUT TYPE=hidden NAME=do VALUE=unsubscribe>",
    "<input name=email value='reader@example.org'>",
    "<input name=why>",
    "<input type=checkbox name=all checked>",
    "<input type=radio name=one value=1>",
    "<input type=submit value=Search>",
    '<input type="submit" name="go" value="Unsubscribe">',
    "<button name=b value=1><b>Ab</b>melden</button>",
    "<button type=button name=c>Unsubscribe</button>",
    "You no longer want this?",
    "Search",
)


@st.composite
def forms(draw: st.DrawFn) -> str:
    action = draw(st.sampled_from(ADDRESSES)).format("form")
    method = draw(st.sampled_from(("", " method=post", ' METHOD="GET"', " method='POST'")))
    inside = "".join(draw(st.lists(st.sampled_from(CONTROLS), max_size=5)))
    return f'<form action="{action}"{method}>{inside}</form>'


@st.composite
def anchors(draw: st.DrawFn) -> str:
    number = draw(st.integers(0, 99))
    address = draw(st.sampled_from(ADDRESSES)).format(number)
    href = draw(st.sampled_from(('href="{}"', "href='{}'", "HREF={}", 'href = "{}"', 'href="\n{}"'))).format(address)
    style = draw(st.sampled_from(STYLES))
    first, second = (style, f" {href}") if draw(st.booleans()) else (f" {href}", style)
    name, end = draw(st.sampled_from((("a", "</a>"), ("A", "</A>"), ("a", "</a >"))))
    return f"<{name}{first}{second}>{draw(st.sampled_from(LABELS))}{end}"


SENTENCE = st.lists(st.sampled_from(SENTENCES) | anchors() | forms(), max_size=4).map("".join)
BLOCK = st.builds(lambda around, inside: around.replace("{}", inside), st.sampled_from(AROUND), SENTENCE)
NESTED = st.builds(
    lambda around, inside: around.replace("{}", "".join(inside)),
    st.sampled_from([around for around in AROUND if not around.startswith("<!--[if mso")]),
    st.lists(BLOCK, max_size=2),
)
BODIES = st.builds(
    lambda head, blocks: head + "".join(blocks), st.sampled_from(HEADS), st.lists(BLOCK | NESTED, max_size=3)
)
