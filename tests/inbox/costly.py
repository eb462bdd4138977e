"""Mails that are made to keep a reader busy: each repeats what one of our patterns or loops likes least."""

from collections.abc import Callable

FROM = b"From: Shop <news@shop.example>\r\nDate: Mon, 16 Nov 2026 17:23:03 +0000\r\n"
HTML = b"Content-Type: text/html; charset=utf-8\r\n\r\n"
TEXT = b"Content-Type: text/plain; charset=utf-8\r\n\r\n"
FLOWED = b"Content-Type: text/plain; format=flowed\r\n\r\n"
LINK = b"<a href='https://shop.example/unsubscribe'>Unsubscribe</a>"
FORM = b"<form action='https://shop.example/unsubscribe'>"
MARKS = "\u0301\u0327".encode()
HEBREW = "\u05b0\u0301\uff9e".encode()

Mail = Callable[[int], bytes]


def filled(before: bytes, unit: bytes, size: int, after: bytes = b"") -> bytes:
    """The unit, over and over, up to this size."""
    return before + unit * ((size - len(before) - len(after)) // len(unit)) + after


def html(unit: bytes, before: bytes = b"", after: bytes = b"") -> Mail:
    return lambda size: filled(FROM + HTML + before, unit, size, after)


def text(unit: bytes, before: bytes = b"", after: bytes = b"") -> Mail:
    return lambda size: filled(FROM + TEXT + before, unit, size, after)


def field(name: bytes, unit: bytes, before: bytes = b"", after: bytes = b"") -> Mail:
    return lambda size: filled(
        (b"" if name == b"From" else FROM) + name + b": " + before, unit, size, after + b"\r\n\r\nhi"
    )


def numbered(unit: bytes, before: bytes = b"", after: bytes = b"") -> Mail:
    """Each unit another one."""
    return lambda size: FROM + HTML + before + b"".join(unit % n for n in range(size // len(unit % 10_000))) + after


def nested(size: int) -> bytes:
    """Parts in parts, each with a boundary that all the others start with."""
    parts = (
        b"--a%s\r\nContent-Type: multipart/mixed; boundary=a%s\r\n\r\n" % (b"a" * n, b"a" * (n + 1)) for n in range(300)
    )
    return filled(FROM + b"Content-Type: multipart/mixed; boundary=a\r\n\r\n" + b"".join(parts), b"--aaa\r\n\r\n", size)


def crowded(size: int) -> bytes:
    """Words and addresses so that each is near all the others."""
    return (
        filled(FROM + TEXT, b"no longer wish ", size // 2) + b"\r\n" + b"https://a.example/x " * (size // 40) + b"\r\nx"
    )


MAILS: dict[str, Mail] = {
    "forms that do not end": html(b"<form"),
    "forms with a quote": html(b"<form '"),
    "forms with both quotes": html(b"<form \"'>"),
    "forms with an address that do not end": html(b"<form action=https://shop.example/unsubscribe "),
    "forms in a comment": html(b"<form action=https://shop.example/unsubscribe>", b"<!--", b"-->"),
    "forms after an open comment": html(FORM, b"<!--"),
    "small forms": html(FORM + b"<input><button>x</button>"),
    "a form with tags that do not end": html(b"<input ", FORM),
    "a form with long tags": html(b"<input " + b"x=y " * 1000 + b">", FORM),
    "a form with quotes": html(b"<input \"'", FORM),
    "many forms with many fields": html(FORM + b"<input " * 100),
    "a form with buttons": html(b"<button>", FORM, b"</button>"),
    "a form with buttons and words": html(b"<button>a", FORM, b"unsubscribe</button>"),
    "a form with comments": html(b"<!--a>", FORM),
    "a form with empty comments": html(b"<!-->", FORM),
    "a form with marks": html(MARKS, FORM),
    "a name of a tag": html(b"a", b"<form"),
    "a name of a link's tag": html(b"a", b"<a ", LINK),
    "an attribute's name": html(b"a", b"<a ", b">Unsubscribe</a>"),
    "a link with comments": html(b"<!--a>", b"<a href='https://shop.example/a'>Unsubscribe "),
    "links with comments": html(LINK[:-4] + b"<!--a>"),
    "a link with marks": html(MARKS, b"<a href='https://shop.example/a'>Unsubscribe ", b"</a>"),
    "a link with marks of several kinds": html(HEBREW, b"<a href='https://shop.example/a'>Unsubscribe ", b"</a>"),
    "links": html(LINK),
    "links that do not end": html(b'<a href="'),
    "links with a quote and words": html(b"<a href=' unsubscribe "),
    "links with both quotes": html(b"<a x=\"' unsubscribe >"),
    "links without anything": html(b"<a "),
    "links without anything that say it": html(b"<a >unsubscribe"),
    "links that say here": html(b"unsubscribe <a href=https://shop.example/z>here</a>"),
    "links of their own": numbered(b"<a href=https://shop.example/unsubscribe/%d>unsubscribe</a>"),
    "links that all say something else": numbered(
        b"<a/href=b>%d.</a>", after=b"<a >unsubscribe here manage preferences"
    ),
    "links with breaks": html(
        b"<br", b"<a href=https://shop.example/z>", b"no longer wish <a href=https://shop.example/>here</a>"
    ),
    "breaks around links": html(b"<br " * 500 + b"<a href=https://shop.example/z>here</a>"),
    "a base": html(b"<a href=u>unsubscribe</a>", b"<base href='http://x'>"),
    "bases": html(b"<base "),
    "addresses": html(b"href", b"<a ", b">unsubscribe</a>"),
    "addresses after spaces": html(b" ", b"<a href", b">unsubscribe</a>"),
    "addresses with numbers for letters": html(
        b"&#", b"<a href='https://shop.example/unsubscribe", b"'>Unsubscribe</a>"
    ),
    "what pictures say": html(b"alt = ", b"<a ", b">unsubscribe</a>"),
    "pictures that say it": numbered(
        b"<img alt='unsubscribe %d'>",
        b"<a href=https://shop.example/z>",
        b"<a >" + b"nsubscribe 0123456789" * 10_000 + b"</a>" + b" " * 12_000,
    ),
    "pictures in links": numbered(b"<a href=https://shop.example/z><img alt='unsubscribe %d'></a>"),
    "links that say all": html(b"<a href=https://shop.example/%s>manage preferences no longer wish here</a>"),
    "a link that says it after much": html(b"<b>", b"<a href=https://shop.example/u>", b"unsubscribe</a>"),
    "links that are hidden in each other": html(
        b"<p style='visibility:hidden'><p>" * 60 + b"<a href=https://shop.example/u>unsubscribe</a>"
    ),
    "elements that do not end": html(b"<p style='display:none' " * 200 + LINK * 5),
    "styles": html(b"<div style='display:none'>", after=LINK),
    "styles around links": html(b"<div style='display:none'>" * 80 + LINK),
    "styles in a comment": html(b"<p display:none ", b"<!--", b"-->" + b"<p display:none " * 300 + LINK * 200),
    "styles in a comment around links": html(
        b"<p display:none " * 20 + b"<a href=https://shop.example/unsubscribe>unsubscribe</a>", b"<!--", b"-->"
    ),
    "styles without a tag": html(b"display:none", b"", LINK),
    "sizes of letters": html(b"font-size : ", b"<a style='", b"' href='https://shop.example/'>unsubscribe</a>"),
    "sizes of letters with spaces": html(
        b" ", b"<a href='https://shop.example/' style='font-size:0", b"'>unsubscribe</a>"
    ),
    "quotes": html(b"<blockquote ", after=LINK * 50 + b"</blockquote>"),
    "quotes in quotes": html(b"<blockquote>", after=LINK * 50 + b"</blockquote>" * 50),
    "quotes in a comment": html(b"<gmail_quote ", b"<!--", b"-->" + LINK * 100),
    "quotes of another program": html(b"<gmail_quote ", after=LINK * 100),
    "quotes of another program in a comment": html(b"<p>", b"<!--" + b"<gmail_quote " * 700, b"-->" + LINK * 100),
    "scripts": html(b"<script", after=LINK * 100 + b"</script"),
    "links in scripts": html(b"<script>" + LINK),
    "styles that do not end": html(b"<style"),
    "comments that do not end": html(b"<!--", after=LINK),
    "links in comments that do not end": html(b"<!--" + LINK),
    "comments and links": html(b"<!-- -->" + LINK),
    "CDATA": html(b"<![CDATA[", after=LINK),
    "numbers of letters": html(b"&#x", b"<a href='https://shop.example/u'>unsubscribe ", b"</a>"),
    "a number of a letter": html(b"9", b"<a href='https://shop.example/u'>unsubscribe &#", b"</a>"),
    "a hexadecimal number of a letter": html(b"f", b"<a href='https://shop.example/u'>unsubscribe &#x", b"</a>"),
    "names of letters": html(b"&notit", b"<a href='https://shop.example/u'>unsubscribe ", b"</a>"),
    "angles": html(b"<", after=LINK),
    "closing angles": html(b">", b"<a href=https://shop.example/u>", b"unsubscribe"),
    "words that nearly say it": html(b"unsubscri unsubscrunsubscribunsubscri", b"<a href=https://shop.example/u>"),
    "words in other letters": html("отпи配信停 ".encode(), b"<a href=https://shop.example/u>"),
    "an address in brackets with spaces": text(b"<http://" + b" " * 4000),
    "brackets with spaces": text(b"<    "),
    "a bracket with spaces": text(b" ", b"http://a <", b"x"),
    "an address with dots": text(b".", b"http://a"),
    "an address with brackets": text(b")", b"http://a"),
    "an address with brackets of both kinds": text(b"(])", b"http://a"),
    "addresses with brackets": text(b"http://aaa" + b")" * 200 + b" "),
    "an address with headlines": text(b"-----a/", b"http://a.example/unsubscribe/"),
    "addresses with headlines": text(b"http://a.example/unsubscribe/" + b"/-----" * 1000 + b" "),
    "links with headlines": html(b"<a href=http://a.example/unsubscribe" + b"/-----" * 1000 + b">x</a>"),
    "addresses in a text": text(b"http://aaa "),
    "addresses on lines": text(b"unsubscribe\r\nhttp://aaa.example/\r\n"),
    "addresses below long lines": text(b"no longer " * 500 + b"\r\nhttp://aaa.example/\r\n"),
    "addresses around a long line": crowded,
    "a text with marks": text(MARKS, b"unsubscribe http://aaa "),
    "a text with marks on lines": text(MARKS * 500 + b"\r\nhttp://aaa.example/\r\n"),
    "lines": text(b"\r\n", b"http://aaa.example/"),
    "colons": text(b":\r\n", b"http://aaa.example/"),
    "schemes": text(b"mailto:"),
    "references": text(b"unsubscribe [1] ", after=b"\r\n[1] http://aaa.example/\r\n"),
    "references on lines": text(b"unsubscribe\r\n[1]\r\n", after=b"\r\n[1] http://aaa.example/\r\n"),
    "references in front": text(b"[1]a ", after=b"unsubscribe\r\n[1] http://aaa.example/\r\n"),
    "lists of links": text(b"[1] http://aaa.example/\r\n", b"unsubscribe [1]\r\n"),
    "gaps": text(b"   ", b"http://aaa.example/", b"unsubscribe"),
    "gaps between addresses": text(b"unsubscribe    http://aaa.example/"),
    "mailboxes": text(b"mail a@b ", b"unsubscribe ", b"http://aaa.example/"),
    "mailboxes between addresses": text(b"unsubscribe mail mail mail @ http://aaa.example/ "),
    "mailboxes in brackets": text(b"<a@", b"http://aaa.example/"),
    "sentences": text(b"unsubscribe. ", b"", b"here http://aaa.example/"),
    "sentences before addresses": text(b"here. " * 150 + b"http://aaa.example/\r\n"),
    "lines that go on": text(b"to unsubscribe from this\r\n", b"", b"http://aaa.example/"),
    "lines that go on between addresses": text(b"to unsubscribe from\r\nthis and that\r\nhttp://aaa.example/x\r\n"),
    "rules": text(b"-- "),
    "rules with words": text(b"--aaaaa", after=b"\r\nhttp://aaa.example/"),
    "ampersands": text(b"&amp;", b"http://aaa.example/?", b"unsubscribe"),
    "numbers of ampersands": text(b"&#0000", b"http://aaa.example/?", b"unsubscribe"),
    "lines that flow": lambda size: filled(FROM + FLOWED, b"unsubscribe \r\n", size, b"http://aaa.example/"),
    "empty lines that flow": lambda size: filled(FROM + FLOWED, b" \r\n", size),
    "quotes without a mark": html(b"<blockquote><p>a wrote:", after=LINK * 50 + b"</blockquote>" * 50),
    "attributions": html(b"wrote: ", after=b"<blockquote>" + LINK * 50 + b"</blockquote>"),
    "attributions of many quotes": html(b"wrote:<blockquote>" + LINK + b"</blockquote>"),
    "a From with quotes": field(b"From", b'\\"', b'"'),
    "a From with single quotes": field(b"From", b'"'),
    "a From with at signs": field(b"From", b"@", b"<"),
    "a From with angles": field(b"From", b"<@"),
    "a From without an end": field(b"From", b"a"),
    "a From with brackets": field(b"From", b"(a"),
    "a From with spaces": field(b"From", b" ", b"x <", b"y"),
    "a From with encoded words": field(b"From", b"=?utf-8?q?=22?= "),
    "a From with dots": field(b"From", b"a.", b"x@"),
    "a Subject with encoded words": field(b"Subject", b"=?utf-8?q?x?= "),
    "a Subject with starts of encoded words": field(b"Subject", b"=?a?q?"),
    "a Subject with question marks": field(b"Subject", b"=?"),
    "a Subject with languages": field(b"Subject", b"=?a*"),
    "a Subject with charsets": lambda size: (
        FROM + b"Subject: " + b"".join(b"=?x%d?q?x?= " % n for n in range(size // 16)) + b"\r\n\r\n"
    ),
    "a long Date": lambda size: b"From: a@b.example\r\nDate: " + b"1 " * (size // 2) + b"\r\n\r\n",
    "a List-Unsubscribe with angles": field(b"List-Unsubscribe", b"<"),
    "a List-Unsubscribe with commas": field(b"List-Unsubscribe", b","),
    "a List-Unsubscribe with brackets": field(b"List-Unsubscribe", b"("),
    "a List-Unsubscribe with addresses": field(b"List-Unsubscribe", b"http://a "),
    "List-Unsubscribe with escaped brackets": lambda size: (
        FROM + (b"List-Unsubscribe: (" + b"\\(" * 4000 + b"\r\n") * (size // 8020) + b"\r\n"
    ),
    "List-Unsubscribe with brackets in brackets": lambda size: (
        FROM + (b"List-Unsubscribe: (" + b"(\\)" * 2600 + b"\r\n") * (size // 7820) + b"\r\n"
    ),
    "List-Unsubscribe with a long address": lambda size: (
        FROM + (b"List-Unsubscribe: http://" + b"a, " * 2600 + b">\r\n") * (size // 7830) + b"\r\n"
    ),
    "List-Unsubscribe with a mail of many parameters": lambda size: (
        FROM + (b"List-Unsubscribe: <mailto:a@b.example?" + b"&a=b" * 2000 + b">\r\n") * (size // 8040) + b"\r\n"
    ),
    "List-Unsubscribe with a host of many parts": lambda size: (
        FROM + (b"List-Unsubscribe: <https://" + b"a." * 2000 + b"example/>\r\n") * (size // 4040) + b"\r\n"
    ),
    "List-Unsubscribe with a host of other letters": lambda size: (
        FROM + (b"List-Unsubscribe: <https://" + "ü".encode() * 2000 + b".example/>\r\n") * (size // 4040) + b"\r\n"
    ),
    "List-Unsubscribe with an encoded host": lambda size: (
        FROM + (b"List-Unsubscribe: <https://" + b"xn--a-7fa." * 390 + b"example/>\r\n") * (size // 4040) + b"\r\n"
    ),
    "List-Unsubscribe with escapes": lambda size: (
        FROM + (b"List-Unsubscribe: <https://a.example/?" + b"%252e" * 800 + b">\r\n") * (size // 4040) + b"\r\n"
    ),
    "List-Unsubscribe with commands": lambda size: (
        FROM
        + (b"List-Unsubscribe: <https://a.example/?x=" + b";%20%20union%20all%20" * 180 + b">\r\n") * (size // 4040)
        + b"\r\n"
    ),
    "fields": lambda size: FROM + b"List-Unsubscribe:a\r\n" * (size // 20) + b"\r\n",
    "fields without a name": lambda size: FROM + b":\r\n" * (size // 3) + b"\r\n",
    "a List-Id": field(b"List-Id", b"<"),
    "an Authentication-Results with signers": field(b"Authentication-Results", b"header.i=", b"x; dkim=pass "),
    "an Authentication-Results with brackets": field(b"Authentication-Results", b"(", b"x; dkim=pass "),
    "an Authentication-Results with results": field(b"Authentication-Results", b"; dkim=pass header.i=@a", b"x"),
    "signatures": lambda size: FROM + (b"DKIM-Signature: " + b";a" * 5000 + b"\r\n") * (size // 10_020) + b"\r\n",
    "a signature with tags": field(b"DKIM-Signature", b";a=b"),
    "a signature with spaces": field(b"DKIM-Signature", b" ", b";a", b"b"),
    "a signature of fields": field(b"DKIM-Signature", b"list-unsubscribe:", b"d=b.example;h=list-unsubscribe-post:"),
    "a signature of a long domain": field(b"DKIM-Signature", b"a.", b"h=list-unsubscribe-post:list-unsubscribe;d="),
    "a Content-Type with boundaries": field(b"Content-Type", b" boundary ", b"multipart/mixed;"),
    "a Content-Type with spaces": field(b"Content-Type", b" ", b"multipart/mixed; boundary", b"x"),
    "a Content-Type with quotes": field(b"Content-Type", b' boundary="\\', b"multipart/mixed;"),
    "a Content-Type with backslashes": field(b"Content-Type", b'\\"', b'multipart/mixed; boundary="'),
    "parts": lambda size: filled(FROM + b"Content-Type: multipart/mixed; boundary=a\r\n\r\n", b"--a\r\n\r\n", size),
    "parts that are none": lambda size: filled(
        FROM + b"Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n\r\n", b"\n--ab", size
    ),
    "parts in parts": nested,
    "base64 that is none": lambda size: filled(FROM + b"Content-Transfer-Encoding: base64\r\n" + HTML, b"=?a-", size),
    "quoted-printable that is none": lambda size: filled(
        FROM + b"Content-Transfer-Encoding: quoted-printable\r\n" + HTML, b"=", size
    ),
    "quoted-printable with spaces": lambda size: filled(
        FROM + b"Content-Transfer-Encoding: quoted-printable\r\n" + HTML, b" ", size
    ),
    "another charset": lambda size: filled(FROM + HTML.replace(b"utf-8", b"utf-7"), b"+", size),
    "another charset of two bytes": lambda size: filled(FROM + HTML.replace(b"utf-8", b"hz"), b"~{", size),
    "the end of a header that does not come": lambda size: filled(FROM + b"X: ", b"\r\n ", size),
}
