import pytest
from starlette.testclient import TestClient

from gna import ids
from gna.config import Settings
from gna.mail.compile import Compiled, Mail, Sender
from gna.mail.content import Content, letter


def a_mail(settings: Settings, *, to: str = "ana@example.org", content: Content | None = None) -> str:
    """Put a mail into the folder as the provider would, and return its id."""
    mail_id = ids.new()
    slots = {"site": "The <Quiet> Web", "confirm_url": "http://127.0.0.1:8000/confirm?token=abc&x=1"}
    compiled = Compiled(content or letter("confirm"), Sender("News <n@example.org>", "http://127.0.0.1:8000"))
    raw = Mail(compiled, mail_id, to, slots).raw()
    settings.mailbox_dir.mkdir(exist_ok=True)
    (settings.mailbox_dir / f"{mail_id}.eml").write_bytes(raw)
    return mail_id


def test_an_empty_mailbox_says_what_to_do(client: TestClient) -> None:
    assert "No mail yet" in client.get("/admin/mailbox").text


def test_the_newest_mail_is_open_with_its_link(client: TestClient, settings: Settings) -> None:
    a_mail(settings, to="first@example.org")
    newest = a_mail(settings, to="second@example.org")
    html = client.get("/admin/mailbox").text
    assert html.index("second@example.org") < html.index("first@example.org")
    assert '<a href="http://127.0.0.1:8000/confirm?token=abc&amp;x=1">' in html
    assert f'<iframe src="/admin/mailbox/{newest}/html"' in html
    assert "The &lt;Quiet&gt; Web" in html


def test_a_chosen_mail_is_shown(client: TestClient, settings: Settings) -> None:
    older = a_mail(settings, to="first@example.org")
    a_mail(settings, to="second@example.org")
    assert "To first@example.org" in client.get(f"/admin/mailbox/{older}").text


def test_the_html_of_a_mail_cannot_act_or_load(client: TestClient, settings: Settings) -> None:
    evil = Content("x", "<script>alert(1)</script><img src='https://spy.example'>", "x")
    answer = client.get(f"/admin/mailbox/{a_mail(settings, content=evil)}/html")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-popups")
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    assert "default-src 'none'" in policy
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"


@pytest.mark.parametrize(
    "path", ["unknown", "01a1e3a8-05b4-72e7-abf6-978b6a355d1b", "..%2f..%2fgna", "../../etc/passwd"]
)
def test_there_is_no_other_file_to_read(client: TestClient, settings: Settings, path: str) -> None:
    (settings.mailbox_dir.parent / "gna.eml").write_text("secret")
    assert client.get(f"/admin/mailbox/{path}").status_code == 404
    assert client.get(f"/admin/mailbox/{path}/html").status_code == 404


def test_a_broken_file_does_not_break_the_page(client: TestClient, settings: Settings) -> None:
    settings.mailbox_dir.mkdir()
    (settings.mailbox_dir / f"{ids.new()}.eml").mkdir()
    (settings.mailbox_dir / "zz.eml").mkdir()
    (settings.mailbox_dir / f"{ids.new()}.eml").write_bytes(b"\xff\xfe Date: nonsense\r\n\r\n\xff")
    assert client.get("/admin/mailbox").status_code == 200
