"""What harmful addresses look like: shorteners, downloads, commands, and letters that pretend to be others."""

import re

SERVICES = """
    1url.com 2.gp 9qr.de adf.ly amzn.to b.link bc.vc bit.do bit.ly bitly.com bitly.ws bl.ink buff.ly chilp.it clck.ru
    cli.gs cutt.ly cutt.us da.gd db.tt dlvr.it fb.me ff.im gg.gg git.io go2l.ink goo.gl goo.su hubs.ly hyperurl.co
    ift.tt is.gd ity.im j.mp kutt.it linktr.ee ln.run lnkd.in lnk.to mcaf.ee moourl.com n9.cl ouo.io ow.ly po.st
    q.gs qr.ae qr.net rb.gy rebrand.ly s.id short.gy short.io shorte.st shorturl.asia shorturl.at shorturl.com
    shrinkme.io shrtco.de smarturl.it snip.ly snipurl.com soo.gd spoo.me su.pr surl.li t.co t.ly t2m.io tiny.cc
    tiny.one tiny.pl tinyurl.com tinyurl.is tny.im tr.im trib.al twitthis.com u.nu u.to url.ie urlz.fr v.gd v.ht
    vk.cc vzturl.com wp.me x.co x.gd yourls.org zpr.io zzb.bz
"""
SHORTENERS = frozenset(SERVICES.split())
# Not .com, which ends names, nor .pl and .cgi, which many list servers run.
DOWNLOADS = (
    "7z|ace|apk|appimage|bat|bin|cab|cmd|cpl|crx|deb|dll|dmg|docm|exe|gz|hta|img|ipa|iso|jar|lnk|msi|msix|pif|pkg|ps1|"
    "rar|reg|rpm|scr|sh|tar|tgz|vbs|wsf|xlsm|xpi|xz|zip"
)
# What is done by the word itself, whatever stands around it; `deleted` and `undelete` are other words.
ACTIONS = {"delete", "destroy"}
# What is harmful only to an account; `remove-me` and `close-window` are not.
ENDS = {"remove", "close", "cancel", "terminate", "erase", "wipe", "purge", "deactivate", "disable"}
ACCOUNT = {"account", "accounts"}
# The names of parameters; `action`, `domain`, `confirm` and `remove` are what honest senders use.
COMMANDS = ACTIONS | {
    "cmd",
    "command",
    "drop",
    "erase",
    "eval",
    "exec",
    "execute",
    "kill",
    "passthru",
    "powershell",
    "purge",
    "rm",
    "shell",
    "sudo",
    "truncate",
    "wipe",
}
PROGRAMS = "(?:rm|wget|curl|bash|sh|nc|cat|powershell)"
# Plain letters only: Python would else take `ſ` for an s and `ı` for an i, which nothing else does.
INJECTED = re.compile(
    r"<\s*script|javascript\s*:|vbscript\s*:|\$\(|`|\.\./|/etc/passwd|"
    r"\b(?:drop|truncate|alter)\s+table\b|\bunion\s+(?:all\s+)?select\b|\bdelete\s+from\b|"
    rf"[;&|]\s*{PROGRAMS}\b",
    re.IGNORECASE | re.ASCII,
)
# One of these is in every address, without its escapes and in lower case, that anything below refuses; all the others
# are done with by this. What is still escaped may be anything; a + may stand for a space.
HINT = re.compile(
    "|".join(
        (r"[.;<>$`|%]", *sorted(COMMANDS), "account", "script", "table", "select", "passwd", rf"&[\s+]*{PROGRAMS}")
    )
)
ENDING = re.compile(rf"\.(?:{DOWNLOADS})(?=$|[;?])", re.IGNORECASE)
CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
LETTERS = re.compile(r"[a-z]+")


def shortener(host: str) -> str | None:
    """The service that a host belongs to, if it makes long addresses short."""
    labels = host.split(".")
    for size in (2, 3):
        name = ".".join(labels[-size:])
        if name in SHORTENERS:
            return name
    return None


def download(segment: str) -> str | None:
    """The ending of a file that is saved or run instead of shown; an address of a mailbox is no file."""
    found = None if "@" in segment else ENDING.search(segment)
    return found[0].lower() if found else None


def action(text: str) -> str | None:
    """The harm that the words say: `delete`, `destroy`, `remove-account`."""
    said = words(text)
    for word in said:
        if word in ACTIONS:
            return word
    if ACCOUNT.isdisjoint(said):
        return None
    return next((f"{word}-account" for word in said if word in ENDS), None)


def parameter(name: str, value: str) -> str | None:
    """What is suspicious about a parameter. Its value may be text, so only a short one is read as an order."""
    command = next((word for word in words(name) if word in COMMANDS), None) or action(name)
    if command:
        return name
    if INJECTED.search(value) or INJECTED.search(name):
        return f"{name}: what it says could be run"
    is_order = len(LETTERS.findall(value.lower())) <= 3 and "@" not in value
    return f"{name}={value}" if is_order and action(value) else None


def words(text: str) -> list[str]:
    """The words of an identifier, however they are joined: delete-account, delete_account, deleteAccount."""
    return [*LETTERS.findall(text.lower()), *(word.lower() for word in CAMEL.findall(text))]


def odd_letters(host: str) -> list[str]:
    """Warnings about a name that is not written in plain letters."""
    import idna

    try:
        shown = idna.decode(host)
    except UnicodeError:
        return ["The host's name is written in a way that cannot be read"]
    said = [f"The host's name has letters beyond ASCII ({shown[:80]})"]
    if any(len(_scripts(label)) > 1 for label in shown.split(".")):
        said.append("The host's name mixes letters of several scripts, which may pretend to be another name")
    return said


def same_domain(host: str, sender: str) -> bool:
    """Whether both belong to one owner."""
    from gna.inbox.domains import registrable

    return (registrable(host) or host) == (registrable(sender) or sender)


def _scripts(label: str) -> set[str]:
    """The scripts of its letters, by the first word of their names; digits belong to all."""
    import unicodedata

    return {unicodedata.name(letter, "?").split()[0] for letter in label if letter.isalpha()}
