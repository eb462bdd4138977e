"""The tags, attributes and style properties that a mail may have: what mail clients show, and nothing that acts."""


def names(*lines: str) -> set[str]:
    """The names in some lines."""
    return set(" ".join(lines).split())


SCHEMES = names("http https mailto tel")
TAGS = names(
    "a abbr address article aside b big blockquote br caption center cite code col colgroup dd del details dfn div dl",
    "dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol p pre q s samp",
    "section small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var wbr",
)
# These go with all that is in them.
GONE = names(
    "applet audio canvas embed iframe math noembed noframes noscript object script select style svg template textarea",
    "title video x-select xmp",
)

CELL = names("align valign width height bgcolor colspan rowspan nowrap abbr scope headers")
ATTRIBUTES = {
    "*": names("style title dir lang align role aria-label aria-hidden"),
    "a": names("href name"),
    "img": names("src alt width height border"),
    "table": names("width height bgcolor border cellpadding cellspacing summary"),
    "td": CELL,
    "th": CELL,
    "tr": names("valign bgcolor height"),
    "col": names("span width"),
    "colgroup": names("span width"),
    "font": names("color face size"),
    "hr": names("width size color noshade"),
    "ol": names("start type reversed"),
    "ul": names("type"),
    "li": names("value type"),
    "details": names("open"),
    "time": names("datetime"),
}
# Where a value is read as text, so that a merge field may stand in it.
SPOKEN = names("title alt aria-label summary abbr")
LINKS = names("href src")

# What Gmail, Outlook and Apple Mail understand, at least in part.
PROPERTIES = names(
    "background background-color border border-collapse border-color border-radius border-spacing border-style",
    "border-width border-bottom border-bottom-color border-bottom-style border-bottom-width border-left",
    "border-left-color border-left-style border-left-width border-right border-right-color border-right-style",
    "border-right-width border-top border-top-color border-top-style border-top-width clear color direction display",
    "float font font-family font-size font-style font-variant font-weight height letter-spacing line-height list-style",
    "list-style-position list-style-type margin margin-bottom margin-left margin-right margin-top max-width min-width",
    "mso-line-height-rule mso-padding-alt mso-table-lspace mso-table-rspace overflow-wrap padding padding-bottom",
    "padding-left padding-right padding-top table-layout text-align text-decoration text-indent text-transform",
    "vertical-align white-space width word-break word-spacing word-wrap",
)

# Elements that stand on lines of their own, and of these the ones with an empty line around them.
APART = names("blockquote center dl figure h1 h2 h3 h4 h5 h6 hr ol p pre table ul")
BLOCKS = APART | names(
    "address article aside caption dd details div dt figcaption footer header li main nav section summary"
)
