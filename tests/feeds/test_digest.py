"""A campaign out of posts: what it says, and that it can always be sent."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as fuzzing
from hypothesis import strategies as st

from gna.campaigns.writing import BODY_MAX, PREHEADER_MAX, SUBJECT_MAX, Wish
from gna.errors import Refused
from gna.feeds.digest import TITLES, WHOLE, parse_subject, write
from gna.feeds.entry import ADDRESS_MAX, EXCERPT_MAX, TITLE_MAX
from gna.mail.content import Content
from gna.mail.render import Draft, Format, Frame, Level, check, check_fields, compose

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
FRAME = Frame("The Quiet Web", "https://news.example.org")


@dataclass(frozen=True)
class Post:
    """A post as the database has it."""

    title: str = "Snow in May"
    excerpt: str = "It snowed & froze."
    link: str | None = "https://blog.example.org/snow?a=1&b=2"
    picture: str | None = None
    published_at: datetime | None = NOW - timedelta(days=1)
    found_at: datetime = NOW


@dataclass(frozen=True)
class Feed:
    """A feed as the database has it."""

    url: str = "https://blog.example.org/feed.xml"
    title: str | None = "The Quiet Blog"
    site_url: str | None = "https://blog.example.org/"
    subject: str | None = None
    zone: str = "UTC"
    audience: dict[str, Any] = field(default_factory=dict)
    archived: bool = True


def digest(*posts: Post, language: str = "en", **feed: Any) -> dict[str, Any]:
    return write(Feed(**feed), posts, language=language, now=NOW)


def subject(*posts: Post, language: str = "en", **feed: Any) -> str:
    return str(digest(*posts, language=language, **feed)["subject"])


def some(number: int, **fields: Any) -> list[Post]:
    return [Post(title=f"Post {count}", link=f"https://blog.example.org/{count}", **fields) for count in range(number)]


def draft(said: dict[str, Any]) -> Draft:
    named = {name: said[name] for name in ("subject", "preheader", "body", "body_text")}
    return Draft(**named, body_format=Format(said["body_format"]))


def mail(said: dict[str, Any]) -> Content:
    return compose(draft(said), FRAME)


def errors(said: dict[str, Any]) -> list[str]:
    """What keeps a publisher from sending it."""
    return [finding.message for finding in check(draft(said), FRAME) if finding.level is Level.ERROR]


class TestTheSubject:
    @pytest.mark.parametrize(
        ("posts", "language", "says"),
        [
            (1, "en", "Post 0"),
            (2, "en", "Post 0 and 1 more"),
            (60, "en", "Post 0 and 59 more"),
            (1, "ro", "Post 0"),
            (3, "ro", "Post 0 și încă 2"),
            (2, "tlh", "Post 0 and 1 more"),
        ],
    )
    def test_names_the_newest_post_and_counts_the_others(self, posts: int, language: str, says: str) -> None:
        assert subject(*some(posts), language=language) == says

    @pytest.mark.parametrize(
        ("template", "says"),
        [
            ("{{ feed }}: {{ title }}", "The Quiet Blog: Post 0"),
            ("{{count}} posts, {{  others  }} others", "3 posts, 2 others"),
            ("News of {{ date }}", "News of November 15, 2026"),
            ("{{ nickname | you }}, read {{ title }}", "{{ nickname | you }}, read Post 0"),
            ("{{ title | nothing }} { }", "Post 0 { }"),
        ],
    )
    def test_is_the_publishers_own_if_there_is_one(self, template: str, says: str) -> None:
        assert parse_subject(template) == template
        assert subject(*some(3), subject=template) == says

    @pytest.mark.parametrize(
        ("zone", "language", "says"),
        [
            ("Pacific/Kiritimati", "en", "November 16, 2026"),
            ("Pacific/Pago_Pago", "en", "November 15, 2026"),
            ("Europe/Bucharest", "ro", "15 noiembrie 2026"),
        ],
    )
    def test_has_the_date_of_its_place_and_language(self, zone: str, language: str, says: str) -> None:
        assert subject(Post(), zone=zone, language=language, subject="{{ date }}") == says

    @pytest.mark.parametrize(
        ("post", "feed", "says"),
        [
            (Post(title="", excerpt="How it begins"), {}, "How it begins"),
            (Post(title="", excerpt="word " * 50), {}, "word " * 14 + "word…"),
            (Post(title="", excerpt=""), {}, "The Quiet Blog"),
            (Post(title="", excerpt=""), {"title": None}, "https://blog.example.org/feed.xml"),
            (Post(title="News"), {"title": None, "subject": "{{ feed | The blog }}: {{ title }}"}, "The blog: News"),
            (Post(title="News"), {"title": None, "subject": "{{ feed }}"}, "News"),
            (Post(title=" a \n b\u2028c "), {}, "a b c"),
        ],
    )
    def test_is_never_empty(self, post: Post, feed: dict[str, Any], says: str) -> None:
        assert subject(post, **feed) == says

    @pytest.mark.parametrize(
        ("title", "template", "begins", "ends"),
        [
            ("x" * TITLE_MAX, None, "x", "x…"),
            (
                "word " * 49,
                "[Blog] {{ title }} for {{ nickname | you }}",
                "[Blog] word",
                "word… for {{ nickname | you }}",
            ),
            ("word " * 49, "{{ title }}" * 8, "word", "word"),
            ("{" * TITLE_MAX, None, "{", "…"),
            ("x" * TITLE_MAX, "y" * 240 + " {{ title }}", "xxx", "xxx"),
        ],
    )
    def test_is_never_longer_than_a_campaign_allows(
        self, title: str, template: str | None, begins: str, ends: str
    ) -> None:
        said = subject(Post(title=title), Post(), subject=template)
        assert len(said) <= SUBJECT_MAX
        assert said.startswith(begins)
        assert ends in said
        check_fields(said)

    @pytest.mark.parametrize(
        ("template", "says"),
        [
            ("{{ author }}", "Unknown merge field"),
            ("{{ title", "not closed"),
            ("a\nb", "one line"),
            (5, "must be text"),
        ],
    )
    def test_of_a_publisher_is_checked(self, template: object, says: str) -> None:
        with pytest.raises(Refused, match=says):
            parse_subject(template)


class TestWhatAPostSays:
    @pytest.mark.parametrize("text", ["{{ email }}", "{{ nonsense }}", "{{", "{{{email}}}", "a{", "{{ email", "{" * 99])
    def test_is_never_a_merge_field(self, text: str) -> None:
        link = f"https://blog.example.org/{text}"
        post = Post(title=text, excerpt=text, link=link, picture=link)
        for template in (None, "{{ title }}{", "{{ title }}{{ feed }}"):
            said = digest(post, Post(title=text), subject=template, title=text, site_url=link)
            assert errors(said) == []
            filled = mail(said).merged({"email": "ana@example.org", "nickname": "Ana"} | LINKS)
            assert "ana@example.org" not in f"{filled.subject} {filled.html} {filled.text}"

    def test_is_never_markup(self) -> None:
        evil = "<script>alert(1)</script>\"' & </h2><img src=x onerror=y>"
        body = digest(Post(title=evil, excerpt=evil), *some(WHOLE), Post(title=evil), title=evil)["body"]
        assert not [tag for tag in ("<script", "<img", "onerror=y>") if tag in body]
        assert body.count("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27; &amp; &lt;/h2&gt;") == 4

    def test_stays_within_its_attribute(self) -> None:
        link = "https://blog.example.org/\"onclick='x'>"
        body = digest(Post(link=link, picture=link))["body"]
        assert "&quot;onclick=&#x27;x&#x27;&gt;" in body
        assert "onclick='x'" not in body


class TestTheBody:
    def test_has_all_that_a_post_has(self) -> None:
        assert digest(Post(picture="https://blog.example.org/s.png"))["body"] == (
            '<h2><a href="https://blog.example.org/snow?a=1&amp;b=2" style="text-decoration:none">'
            "Snow in May</a></h2>\n"
            "<p><small>November 14, 2026</small></p>\n"
            '<p><a href="https://blog.example.org/snow?a=1&amp;b=2">'
            '<img src="https://blog.example.org/s.png" alt="" width="520"></a></p>\n'
            "<p>It snowed &amp; froze.</p>\n"
            '<p><a href="https://blog.example.org/snow?a=1&amp;b=2" aria-label="Read more: Snow in May">'
            "Read more</a></p>"
        )

    @pytest.mark.parametrize(
        ("post", "body"),
        [
            (Post("", "", None, None, None), "<p>The Quiet Blog</p>"),
            (Post("Title", "", None, None, None), "<h2>Title</h2>"),
            (Post("", "Text", None, None, None), "<p>Text</p>"),
            (Post("", "", "https://a.example/", None, None), '<p><a href="https://a.example/">Read more</a></p>'),
            (
                Post("", "", None, "https://a.example/p", None),
                '<p><img src="https://a.example/p" alt="" width="520"></p>',
            ),
            (Post("T", "", None, None, NOW + timedelta(seconds=1)), "<h2>T</h2>"),
            (Post("T", "", None, None, NOW), "<h2>T</h2>\n<p><small>November 15, 2026</small></p>"),
        ],
        ids=["nothing", "title", "excerpt", "link", "picture", "from the future", "now"],
    )
    def test_has_no_more_than_a_post_has(self, post: Post, body: str) -> None:
        said = digest(post)
        assert said["body"] == body
        assert errors(said) == []

    def test_speaks_romanian(self) -> None:
        said = digest(*some(WHOLE + TITLES + 5), language="ro")
        for part in ("14 noiembrie 2026", "Citiți mai departe", "Tot noi", "Și încă 5"):
            assert part in said["body"]
        assert "Și încă 5\nhttps://blog.example.org/" in said["body_text"]

    def test_has_the_titles_alone_of_what_is_too_much(self) -> None:
        said = digest(*some(60))
        assert said["body"].count(">Read more<") == said["body_text"].count("Read more: ") == WHOLE
        assert said["body"].count("<li>") == 10
        assert '<li><a href="https://blog.example.org/59">Post 59</a></li>' in said["body"]
        assert "Post 59\nhttps://blog.example.org/59" in said["body_text"]
        assert "more</p>" not in said["body"]

    def test_counts_what_is_far_too_much(self) -> None:
        said = digest(*some(1000))
        assert said["body"].count("<li>") == TITLES
        assert '<p><a href="https://blog.example.org/">And 650 more</a></p>' in said["body"]
        assert said["body_text"].endswith("And 650 more\nhttps://blog.example.org/")
        assert "<p>And 650 more</p>" in digest(*some(1000), site_url=None)["body"]

    def test_a_title_that_is_missing_is_the_beginning_or_the_address(self) -> None:
        posts = [Post(title="", excerpt="How it begins"), Post(title="", excerpt="", link="https://blog.example.org/x")]
        body = digest(*some(WHOLE), *posts)["body"]
        assert ">How it begins</a></li>" in body
        assert ">https://blog.example.org/x</a></li>" in body

    @pytest.mark.parametrize("letter", ["x", "&", '"', "{", "ș", "𝕏"])
    @pytest.mark.parametrize("number", [1, 60, 1000])
    def test_is_never_larger_than_a_campaign_allows(self, letter: str, number: int) -> None:
        link = "https://blog.example.org/" + letter * (ADDRESS_MAX - 25)
        post = Post(letter * TITLE_MAX, letter * EXCERPT_MAX, link, link)
        said = digest(*[post] * number, site_url=link, title=letter * TITLE_MAX)
        assert max(len(said["body"]), len(said["body_text"])) <= BODY_MAX
        assert len(said["preheader"]) <= PREHEADER_MAX
        assert said["body"].count(">Read more<") >= min(number, 5)
        told = {name: said[name] for name in ("subject", "body", "body_text", "preheader", "body_format")}
        assert Wish.parse_new(told, now=NOW).columns.keys() == told.keys()
        listed = said["body"].count(">Read more<") + said["body"].count("<li>")
        assert (f"And {number - listed} more" in said["body"]) is (number > listed)


class TestThePreheader:
    def test_is_how_the_only_post_begins_or_what_else_there_is(self) -> None:
        assert digest(Post())["preheader"] == "It snowed & froze."
        assert digest(Post(excerpt=""))["preheader"] is None
        assert digest(*some(3))["preheader"] == "Post 1 · Post 2"
        assert digest(Post(), Post("", ""), Post("Last"))["preheader"] == "Last"
        assert digest(Post(), Post("", ""))["preheader"] is None


def test_the_text_part_reads_as_if_somebody_had_typed_it() -> None:
    untitled = Post("", "Only a thought.", None, None, None)
    assert digest(Post(picture="https://blog.example.org/s.png"), untitled, Post("Late", "", "https://a.example/"))[
        "body_text"
    ] == (
        "Snow in May\n"
        "November 14, 2026\n"
        "\n"
        "It snowed & froze.\n"
        "\n"
        "Read more: https://blog.example.org/snow?a=1&b=2\n"
        "\n"
        "* * *\n"
        "\n"
        "Only a thought.\n"
        "\n"
        "* * *\n"
        "\n"
        "Late\n"
        "November 14, 2026\n"
        "\n"
        "Read more: https://a.example/"
    )


def test_it_is_for_those_whom_the_feed_is_for() -> None:
    assert digest(Post(), audience={"list": "weekly"})["audience"] == {"list": "weekly"}


LINKS = {"unsubscribe_url": "https://news.example.org/u", "profile_url": "https://news.example.org/p"}
texts = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=60) | st.sampled_from(
    ["{{", "}}{"]
)
posts = st.builds(
    Post,
    title=texts,
    excerpt=texts,
    link=st.none() | texts.map(lambda text: f"https://blog.example.org/{text}"),
    picture=st.none() | texts.map(lambda text: f"https://blog.example.org/{text}"),
    published_at=st.none() | st.integers(-13_000, 60_000).map(lambda days: NOW + timedelta(days=days)),
)


@fuzzing(max_examples=60)
@given(
    posts=st.lists(posts, min_size=1, max_size=4), title=st.none() | texts, zone=st.sampled_from(["UTC", "Asia/Tokyo"])
)
def test_whatever_posts_say_it_can_be_sent(posts: list[Post], title: str | None, zone: str) -> None:
    said = digest(*posts, title=title, zone=zone, subject="{{ feed }}{{ title }}{ {{ nickname | you }}")
    assert errors(said) == []
    mail(said)
