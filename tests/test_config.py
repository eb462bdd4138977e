from datetime import timedelta
from pathlib import Path

import pytest

from gna import config
from gna.config import Settings
from gna.errors import CannotStart


def load(dotenv: Path = Path("/nonexistent/.env"), /, **environ: str) -> Settings:
    return config.load(environ, dotenv=dotenv)


def test_everything_has_a_default() -> None:
    settings = load()
    assert settings.database_url.get_secret_value() == "sqlite:///gna.db"
    assert settings.email_provider == "mailbox"
    assert settings.jobs_enabled
    assert not settings.disable_auth


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("SEND_RATE", "fast", "SEND_RATE must be a number."),
        ("SEND_RATE", "-1", "SEND_RATE must be greater than 0."),
        ("SEND_RATE", "nan", "SEND_RATE must be a number."),
        ("GNA_PORT", "http", "GNA_PORT must be a whole number."),
        ("GNA_PORT", "70000", "GNA_PORT must be at most 65535."),
        ("SMTP_CONNECTIONS", "0", "SMTP_CONNECTIONS must be at least 1."),
        ("DISABLE_AUTH", "maybe", "DISABLE_AUTH must be true or false."),
        ("PROCESS_ROLE", "boss", "PROCESS_ROLE must be one of 'api', 'worker' or 'both'."),
        ("BULLMQ_PREFIX", "a:b", "BULLMQ_PREFIX must be letters, digits and signs such as - only, without spaces."),
        (
            "DATABASE_URL",
            "mysql://x",
            "DATABASE_URL must be sqlite:///FILE or postgresql://user:password@host/database.",
        ),
        ("DATABASE_URL", "sqlite:///:memory:", "DATABASE_URL must be sqlite:///FILE or"),
        ("DATABASE_URL", "sqlite://", "DATABASE_URL must be sqlite:///FILE or"),
        ("REDIS_URL", "localhost", "REDIS_URL must be an address such as redis://host:6379/0."),
        (
            "PLATFORM_BASE_URL",
            "news.example.org",
            "PLATFORM_BASE_URL must be an address that starts with http://",
        ),
        ("FEED_CHECK_INTERVAL", "soon", "FEED_CHECK_INTERVAL must be a number of seconds, or"),
        ("TRUSTED_PROXIES", "10.0.0.0/8, proxy", "TRUSTED_PROXIES must be a comma list of IP addresses"),
        ("CORS_ORIGINS", "https://a.org/path", "CORS_ORIGINS must be * or a comma list of origins"),
        ("PLATFORM_BASE_URL", "https://a.org/?b=c", "PLATFORM_BASE_URL must be an address"),
        ("PLATFORM_BASE_URL", "https://user:pw@a.org", "PLATFORM_BASE_URL must be an address"),
        ("PLATFORM_BASE_URL", "http://[::1", "PLATFORM_BASE_URL must be an address"),
        ("PLATFORM_BASE_URL", "http://a.org:port", "PLATFORM_BASE_URL must be an address"),
        ("REDIS_URL", "redis://u:hunter2/x@127.0.0.1:1/0", "REDIS_URL must be an address such as"),
        ("SMTP_URL", "rubbish", "SMTP_URL must be an address such as smtp://"),
        ("SECRET_KEY", "short", "SECRET_KEY must be at least 32 characters long."),
        ("DKIM_PRIVATE_KEY", "nonsense", "DKIM_PRIVATE_KEY must be a private key in PEM"),
        ("DKIM_DOMAIN", "not a domain", "DKIM_DOMAIN must be letters, digits"),
        ("FEED_CHECK_INTERVAL", "0", "FEED_CHECK_INTERVAL must be longer than nothing."),
        ("EMAIL_FROM_ADDRESS", "x:y@example.org", "EMAIL_FROM_ADDRESS must be an address"),
        ("EMAIL_FROM_ADDRESS", "a..b@example.org", "EMAIL_FROM_ADDRESS must be an address"),
        ("EMAIL_FROM_ADDRESS", "x@exa,mple.org", "EMAIL_FROM_ADDRESS must be an address"),
        ("EMAIL_FROM_ADDRESS", "nobody", "EMAIL_FROM_ADDRESS must be an address, or a name with an address"),
        ("EMAIL_FROM_ADDRESS", "A <a@b.org>\r\nBcc: c@d.org", "EMAIL_FROM_ADDRESS must be an address"),
        ("EMAIL_FROM_ADDRESS", "News <ştiri@example.org>", "EMAIL_FROM_ADDRESS must be an address"),
        ("EMAIL_FROM_ADDRESS", "News <news@>", "EMAIL_FROM_ADDRESS must be an address"),
        ("EMAIL_FROM_ADDRESS", "A <a@b.org>, C <c@d.org>", "EMAIL_FROM_ADDRESS must be an address"),
        ("EMAIL_FROM_ADDRESS", "For\udceat <a@b.org>", "EMAIL_FROM_ADDRESS must be "),
        ("ADMIN_EMAIL", "a@b.org, c@d.org", "ADMIN_EMAIL must be an address, or a name with an address"),
        ("PLATFORM_BASE_URL", "https://a\\b/", "PLATFORM_BASE_URL must be an address that starts with"),
        ("CF_ACCESS_TEAM_NAME", "my team", "CF_ACCESS_TEAM_NAME must be the team's name alone (myteam), or"),
        ("CF_ACCESS_TEAM_NAME", "myteam.example.org", "CF_ACCESS_TEAM_NAME must be the team's name alone"),
        ("CF_ACCESS_TEAM_NAME", "a.cloudflareaccess.com.b.org", "CF_ACCESS_TEAM_NAME must be the team's name alone"),
        ("CF_ACCESS_CERTS_URL", "certs", "CF_ACCESS_CERTS_URL must be an address that starts with"),
        ("CF_ACCESS_ISSUER", "https://a b", "CF_ACCESS_ISSUER must be letters, digits and signs"),
        ("CF_ACCESS_HEADER", "X-Token:", "CF_ACCESS_HEADER must be letters, digits and signs"),
        ("CF_ACCESS_ALGORITHM", "HS256", "CF_ACCESS_ALGORITHM must be one of 'RS256' or 'ES256'."),
        ("CF_ACCESS_ALGORITHM", "none", "CF_ACCESS_ALGORITHM must be one of 'RS256' or 'ES256'."),
    ],
)
def test_a_wrong_value_stops_the_start_with_one_sentence(name: str, value: str, sentence: str) -> None:
    with pytest.raises(CannotStart) as refusal:
        load(**{name: value})
    assert str(refusal.value).startswith(sentence)
    assert len(str(refusal.value).splitlines()) == 1


def test_each_wrong_value_has_its_own_sentence() -> None:
    with pytest.raises(CannotStart) as refusal:
        load(SEND_RATE="x", GNA_PORT="y")
    assert set(str(refusal.value).splitlines()) == {
        "SEND_RATE must be a number.",
        "GNA_PORT must be a whole number.",
    }


def test_a_refusal_never_repeats_a_secret() -> None:
    with pytest.raises(CannotStart) as refusal:
        load(DATABASE_URL="mysql://root:hunter2@host/db")
    assert "hunter2" not in str(refusal.value)


def test_settings_never_show_a_secret() -> None:
    settings = load(DATABASE_URL="postgresql://gna:hunter2@host/db", SECRET_KEY="hunter2" * 8)
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in settings.model_dump_json()


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("2", 2), ("90s", 90), ("15m", 900), ("1h", 3600), ("7d", 604800), ("1.5h", 5400)],
)
def test_durations_are_seconds_or_carry_a_unit(written: str, seconds: float) -> None:
    assert load(FEED_CHECK_INTERVAL=written).feed_check_interval == timedelta(seconds=seconds)


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret" * 6 + "\n")
    secret = load(SECRET_KEY_FILE=str(tmp_path / "key")).secret_key
    assert secret is not None
    assert secret.get_secret_value() == "s3cret" * 6


def test_a_secret_file_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"SECRET_KEY_FILE points at .*, which cannot be read: No such file"):
        load(SECRET_KEY_FILE=str(tmp_path / "missing"))


def test_a_dotenv_file_that_is_not_text_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"GNA_PORT=\xff\xfe")
    with pytest.raises(CannotStart, match="cannot be read: it is not text"):
        load(tmp_path / ".env")


def test_an_empty_secret_file_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    with pytest.raises(CannotStart, match=r"DATABASE_URL_FILE points at .*, which is empty"):
        load(DATABASE_URL_FILE=str(tmp_path / "key"))


def test_a_line_of_the_dotenv_file_that_means_nothing_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("GNA_PORT=9000\nLOG_LEVEL debug\n")
    with pytest.raises(CannotStart, match="line 2 cannot be understood: write NAME=value"):
        load(tmp_path / ".env")


def test_a_sender_in_quotes_stands_in_quotes_of_the_other_kind(tmp_path: Path) -> None:
    sender = '"Meet @ Berlin" <news@example.org>'
    (tmp_path / ".env").write_text(f"EMAIL_FROM_ADDRESS={sender}\n")
    with pytest.raises(CannotStart, match="in quotes of the other kind"):
        load(tmp_path / ".env")
    (tmp_path / ".env").write_text(f"EMAIL_FROM_ADDRESS='{sender}'\n")
    assert load(tmp_path / ".env").email_from_address == sender


def test_a_secret_given_twice_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="SECRET_KEY and SECRET_KEY_FILE are both set"):
        load(SECRET_KEY="x", SECRET_KEY_FILE=str(tmp_path))


def test_the_environment_beats_the_dotenv_file(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("sqlite:///env.db")
    (tmp_path / ".env").write_text("GNA_PORT=9000\nLOG_LEVEL=debug\nDATABASE_URL=sqlite:///file.db\n")
    settings = load(tmp_path / ".env", GNA_PORT="9001", DATABASE_URL_FILE=str(tmp_path / "url"))
    assert settings.database_url.get_secret_value() == "sqlite:///env.db"
    assert (settings.gna_port, settings.log_level) == (9001, "debug")


def test_an_empty_value_counts_as_not_set() -> None:
    assert load(GNA_PORT="", REDIS_URL="").gna_port == 8000


def test_unknown_names_in_the_dotenv_file_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret" * 6)
    (tmp_path / ".env").write_text(f"EMAIL_PROVDER=smtp\nSECRET_KEY_FILE={tmp_path / 'key'}\n")
    found = config.origin({"GNA_PORT": "1"}, dotenv=tmp_path / ".env")
    assert found.unknown == ("EMAIL_PROVDER",)
    assert found.given == {"GNA_PORT", "SECRET_KEY"}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "gna.example.org"])
def test_auth_cannot_be_disabled_where_others_can_reach(host: str) -> None:
    with pytest.raises(CannotStart, match="DISABLE_AUTH=true would open /admin"):
        load(DISABLE_AUTH="true", GNA_HOST=host)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_auth_can_be_disabled_on_loopback(host: str) -> None:
    assert load(DISABLE_AUTH="true", GNA_HOST=host).disable_auth


def test_auth_can_be_disabled_in_declared_development() -> None:
    assert load(DISABLE_AUTH="true", GNA_HOST="0.0.0.0", GNA_ENV="development").disable_auth


@pytest.mark.parametrize(
    ("environ", "lacks"),
    [
        ({}, ("CF_ACCESS_TEAM_NAME", "CF_ACCESS_AUD")),
        ({"CF_ACCESS_TEAM_NAME": "t"}, ("CF_ACCESS_AUD",)),
        ({"CF_ACCESS_TEAM_NAME": "t", "CF_ACCESS_AUD": "a", "CF_ACCESS_ISSUER": "i"}, ()),
        ({"CF_ACCESS_AUD": "a", "CF_ACCESS_ISSUER": "i"}, ("CF_ACCESS_CERTS_URL",)),
        ({"CF_ACCESS_AUD": "a", "CF_ACCESS_ISSUER": "i", "CF_ACCESS_CERTS_URL": "https://idp.example.org/keys"}, ()),
    ],
)
def test_sign_in_needs_an_issuer_and_an_audience(environ: dict[str, str], lacks: tuple[str, ...]) -> None:
    assert load(**environ).sign_in_lacks == lacks


def test_what_is_said_of_the_issuer_beats_what_the_teams_name_says() -> None:
    settings = load(
        CF_ACCESS_TEAM_NAME="myteam",
        CF_ACCESS_ISSUER="https://idp.example.org/",
        CF_ACCESS_CERTS_URL="http://127.0.0.1:1/k",
    )
    assert (settings.access_issuer, settings.access_certs_url) == ("https://idp.example.org/", "http://127.0.0.1:1/k")
    assert load(CF_ACCESS_ALGORITHM="es256").cf_access_algorithm == "ES256"


def test_a_provider_that_is_not_here_yet_is_refused_before_anything_else() -> None:
    with pytest.raises(CannotStart, match="EMAIL_PROVIDER=resend is not part of this version yet"):
        load(EMAIL_PROVIDER="resend")


def test_a_mail_server_needs_an_address() -> None:
    with pytest.raises(CannotStart, match="EMAIL_PROVIDER=smtp needs SMTP_URL"):
        load(EMAIL_PROVIDER="smtp")


def test_real_mail_needs_a_sender_and_links_that_lead_somewhere() -> None:
    smtp = {"EMAIL_PROVIDER": "smtp", "SMTP_URL": "smtp://mail.example.net:587"}
    sender, links = {"EMAIL_FROM_ADDRESS": "n@example.net"}, {"PLATFORM_BASE_URL": "https://news.example.net"}
    with pytest.raises(CannotStart, match=r"real mail to mail\.example\.net; set EMAIL_FROM_ADDRESS first"):
        load(**smtp, **links)
    with pytest.raises(CannotStart, match="set PLATFORM_BASE_URL first"):
        load(**smtp, **sender)
    assert load(**smtp, **sender, **links).smtp_address == "smtp://mail.example.net:587"
    assert load(**smtp, GNA_ENV="development")
    assert load(**smtp | {"SMTP_URL": "smtp://127.0.0.1:2525"})


def test_a_signing_key_needs_its_name() -> None:
    with pytest.raises(CannotStart, match="DKIM_SELECTOR must say"):
        load(DKIM_PRIVATE_KEY="-----BEGIN PRIVATE KEY-----")


def test_auth_cannot_be_disabled_for_a_public_address() -> None:
    with pytest.raises(CannotStart, match=r"everybody who reaches https://news\.example\.org"):
        load(DISABLE_AUTH="true", PLATFORM_BASE_URL="https://news.example.org")
    assert load(DISABLE_AUTH="true", PLATFORM_BASE_URL="http://localhost:8000").disable_auth


@pytest.mark.parametrize(
    ("environ", "base_url"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({"GNA_HOST": "0.0.0.0", "GNA_PORT": "80"}, "http://127.0.0.1:80"),
        ({"GNA_HOST": "::1"}, "http://[::1]:8000"),
        ({"PLATFORM_BASE_URL": "https://news.example.org/"}, "https://news.example.org"),
    ],
)
def test_links_start_with_the_public_address(environ: dict[str, str], base_url: str) -> None:
    assert load(**environ).base_url == base_url
