"""Every setting: typed, explained in one sentence, read once, and fatal if wrong.

A setting comes from the environment, else from `.env` in the working directory, else from its default.
A secret may also stand in a file: `SECRET_KEY_FILE=/run/secrets/key`. An empty value counts as not set.
`docs/reference/settings.md` is generated from this file.
"""

import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values
from dotenv.parser import parse_stream
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from gna.errors import CannotStart
from gna.kinds import (
    Count,
    DatabaseAddress,
    DnsServers,
    Duration,
    FeedAddress,
    Flag,
    HeaderName,
    LongSecret,
    Names,
    Networks,
    Origins,
    Period,
    PrivateKey,
    Rate,
    RedisAddress,
    Sender,
    SmtpAddress,
    TeamName,
    Text,
    WebAddress,
    Word,
    lower,
    upper,
)


def _group(title: str) -> Callable[..., Any]:
    """The settings of one heading: `mail(default, "What it does.")`; `later` marks what no code reads yet."""

    def setting(default: object, says: str, *, later: bool = False) -> Any:
        return Field(default, description=says, json_schema_extra={"group": title, "later": later})

    return setting


server, mail, providers, dkim = _group("Server"), _group("Mail"), _group("Providers"), _group("DKIM")
campaigns, jobs, admin, feeds = _group("Campaigns"), _group("Jobs"), _group("Admin and secrets"), _group("Feeds")
notifications, inbox = _group("Notifications"), _group("Inbox")


DEFAULT_SENDER = "Gna <newsletter@example.org>"


class Settings(BaseModel):
    """All settings, read once at the start."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True)

    database_url: DatabaseAddress = server(
        "sqlite:///gna.db",
        "Where the data lives: `sqlite:///FILE` or `postgresql://user:password@host/database`.",
    )
    redis_url: RedisAddress | None = server(
        None, "Redis or Valkey, for limits shared by several processes: `redis://host:6379/0`."
    )
    platform_base_url: WebAddress | None = server(
        None, "The public address of this server, used in every link; derived from host and port if not set."
    )
    gna_host: str = server("127.0.0.1", "The address to listen on; `gna serve --host` overrides it.")
    gna_port: Annotated[int, Field(ge=0, le=65535)] = server(
        8000, "The port to listen on; `gna serve --port` overrides it; 0 takes a free one."
    )
    gna_env: Annotated[Literal["production", "development"], BeforeValidator(lower)] = server(
        "production",
        "`development` permits what a public server must not do, such as `DISABLE_AUTH` off loopback.",
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(lower)] = server(
        "info", "How much is logged; personal data appears at `debug` only."
    )
    log_format: Annotated[Literal["console", "json"], BeforeValidator(lower)] = server(
        "console", "`console` for people, `json` for log collectors."
    )
    gna_language: Annotated[Literal["en", "ro"], BeforeValidator(lower)] | None = server(
        None, "The language of pages and mails to readers, `en` or `ro`; each visitor's own if not set."
    )
    cors_origins: Origins = server((), "Sites that may call the sign-up API from a browser: a comma list, or `*`.")
    trusted_proxies: Networks = server(
        (), "Proxies whose word about the visitor's IP is believed: addresses or networks."
    )
    metrics_allow: Networks = server(
        (), "Who may read `/metrics` besides this machine: addresses or networks of your Prometheus."
    )
    dns_servers: DnsServers = server(
        (),
        "Whom the DNS check asks: a comma list of IP addresses, each with or without a port; the system's if not set.",
    )
    links_need_click: Flag = server(
        False, "Turn every link that acts into a page with one button, against mail scanners."
    )

    email_provider: Annotated[
        Literal["mailbox", "smtp", "resend", "sendgrid", "mailgun", "ses", "postmark"],
        BeforeValidator(lower),
    ] = mail("mailbox", "Who carries the mail; `mailbox` writes `.eml` files into a folder and sends nothing.")
    email_from_address: Sender = mail(DEFAULT_SENDER, "The sender of every mail, with the name that readers see.")
    mailbox_dir: Path = mail(Path("mailbox"), "The folder of the `mailbox` provider.")
    smtp_url: SmtpAddress | None = mail(
        None, "The mail server: `smtp://user:password@host:port?tls=none|starttls|implicit`."
    )
    smtp_connections: Count = mail(10, "How many connections to the mail server are used, by all workers together.")
    send_rate: Rate | None = mail(None, "At most this many mails a second, over all workers; unlimited if not set.")
    admin_email: Sender | None = mail(
        None, "Who is told when a feed keeps failing, or a campaign of it waits for a person."
    )

    resend_api_key: SecretStr | None = providers(None, "Resend: the API key.", later=True)
    resend_api_url: WebAddress = providers("https://api.resend.com", "Resend: where its API is.", later=True)
    resend_max_rps: Rate = providers(2, "Resend: calls a second, over all workers.", later=True)
    resend_webhook_secret: SecretStr | None = providers(
        None, "Resend: the signing secret of its webhooks (`whsec_…`).", later=True
    )
    sendgrid_api_key: SecretStr | None = providers(None, "SendGrid: the API key.", later=True)
    sendgrid_api_url: WebAddress = providers(
        "https://api.sendgrid.com", "SendGrid: where its API is, without `/v3`.", later=True
    )
    sendgrid_webhook_public_key: Word | None = providers(
        None, "SendGrid: the public key of its event webhook, base64 DER.", later=True
    )
    mailgun_api_key: SecretStr | None = providers(None, "Mailgun: the API key.", later=True)
    mailgun_api_url: WebAddress = providers("https://api.mailgun.net", "Mailgun: where its API is.", later=True)
    mailgun_domain: Word | None = providers(None, "Mailgun: the sending domain.", later=True)
    mailgun_webhook_secret: SecretStr | None = providers(None, "Mailgun: the signing key of its webhooks.", later=True)
    ses_region: Word | None = providers(
        None, "SES: the AWS region; credentials come from AWS's own variables.", later=True
    )
    ses_api_url: WebAddress | None = providers(None, "SES: where its API is, if not AWS.", later=True)
    postmark_api_key: SecretStr | None = providers(None, "Postmark: the server token.", later=True)
    postmark_api_url: WebAddress = providers("https://api.postmarkapp.com", "Postmark: where its API is.", later=True)
    postmark_webhook_secret: SecretStr | None = providers(
        None, "Postmark: the password in the address of its webhooks.", later=True
    )

    dkim_domain: Word | None = dkim(None, "The domain that signs; that of the sender if not set.")
    dkim_selector: Word | None = dkim(None, "The name of the key under `_domainkey`.")
    dkim_private_key: PrivateKey | None = dkim(
        None, "The private key in PEM, RSA or Ed25519, if Gna signs and not the mail server."
    )

    campaign_template: Path | None = campaigns(
        None, "The MJML file that every campaign is put into; Gna's own if not set."
    )
    campaign_stale_after: Period = campaigns(
        "6h", "A scheduled campaign whose time was missed by more than this is not sent, and waits for a person."
    )

    process_role: Annotated[Literal["api", "worker", "both"], BeforeValidator(lower)] = jobs(
        "both", "What this process does: answer requests, run the steps, or both."
    )
    jobs_enabled: Flag = jobs(True, "`false` keeps the steps from running: nothing is sent.")
    jobs_concurrency: Count = jobs(5, "How many jobs a worker runs at a time.", later=True)
    bullmq_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] = jobs(
        "gna", "The prefix of every key that the job queue keeps in Redis.", later=True
    )

    secret_key: LongSecret | None = admin(
        None, "The key of the hashes that keep deleted people deleted; at least 32 characters."
    )
    disable_auth: Flag = admin(False, "Open `/admin` without sign-in; on loopback, or in development, only.")
    cf_access_team_name: TeamName | None = admin(
        None, "Cloudflare Access: the team's name, as in `myteam.cloudflareaccess.com`."
    )
    cf_access_aud: Names = admin(
        (), "Cloudflare Access: the application's audience (AUD) tag, or a comma list; whose tokens open `/admin`."
    )
    cf_access_certs_url: WebAddress | None = admin(
        None, "Where the keys are that sign the tokens (a JSON Web Key Set); derived from the team's name if not set."
    )
    cf_access_issuer: Text | None = admin(
        None, "Who issues the tokens (`iss`), letter by letter; derived from the team's name if not set."
    )
    cf_access_header: HeaderName = admin(
        "Cf-Access-Jwt-Assertion", "The header with the token; `Authorization` means one behind `Bearer`."
    )
    cf_access_algorithm: Annotated[Literal["RS256", "ES256"], BeforeValidator(upper)] = admin(
        "RS256", "How the tokens are signed: `RS256`, or `ES256` (Pomerium, Google IAP); no other is accepted."
    )
    admin_password: SecretStr | None = admin(
        None, "The password of `POST /api/v1/articles/send` (`X-Admin-Password`).", later=True
    )
    unsub_secret: SecretStr | None = admin(None, "The key that signs unsubscribe links of lists.")

    feed_url: FeedAddress | None = feeds(
        None, "The feed whose new posts become campaigns; the first look only remembers what is there."
    )
    feed_check_interval: Period = feeds("1h", "How often feeds are looked at.")
    feed_webhook_secret: SecretStr | None = feeds(None, "The Bearer secret of `POST /api/feed/webhook`.")
    feeds_allow_private: Flag = feeds(False, "Let feeds that admins add live at private addresses.")

    notification_trigger_api_key: SecretStr | None = notifications(
        None, "The key of `POST /api/v1/notifications/trigger` (`X-Notification-API-Key`).", later=True
    )
    notification_data_url: WebAddress | None = notifications(
        None, "Where the figures of notifications come from.", later=True
    )
    clerk_secret_key: SecretStr | None = notifications(
        None, "Clerk: the secret key, if people live in its directory.", later=True
    )
    clerk_api_url: WebAddress = notifications("https://api.clerk.com/v1", "Clerk: where its API is.", later=True)
    email_preview_enabled: Flag = notifications(
        False, "Show mail previews under `/api/v1/emails`; for development.", later=True
    )

    inbox_password: SecretStr | None = inbox(None, "The password of the mailbox that `gna inbox` reads; never stored.")
    inbox_credentials: Path = inbox(
        Path("inbox-credentials"), "The encrypted file of the mailboxes' passwords, where the system has no keyring."
    )
    inbox_allow_private_hosts: Names = inbox((), "Hosts that may be at private addresses: a comma list.")
    inbox_request_delay: Duration = inbox("2", "The pause between two unsubscribe requests.")
    inbox_timeout: Period = inbox("30", "How long an unsubscribe request may take.")
    inbox_max_attempts: Count = inbox(3, "How often an unsubscribe is tried.")
    inbox_require_signed: Flag = inbox(False, "One-click unsubscribes need a DKIM signature over their headers.")

    @property
    def own_url(self) -> str:
        """Where this server can be reached from its own machine."""
        return f"http://{_in_url(self.gna_host)}:{self.gna_port}"

    @property
    def base_url(self) -> str:
        """The start of every link; never taken from a request, whose Host header anybody can forge."""
        return self.platform_base_url or self.own_url

    @property
    def hash_key(self) -> str | None:
        """SECRET_KEY as text, if it is set."""
        return self.secret_key.get_secret_value() if self.secret_key else None

    @property
    def smtp_address(self) -> str:
        """SMTP_URL as text."""
        return self.smtp_url.get_secret_value() if self.smtp_url else ""

    @property
    def mailbox_is_open(self) -> bool:
        """Whether `/admin/mailbox` can be read from this machine."""
        return self.disable_auth and self.email_provider == "mailbox"

    @property
    def access_issuer(self) -> str:
        """Who must have issued a token."""
        return self.cf_access_issuer or f"https://{self.cf_access_team_name}.cloudflareaccess.com"

    @property
    def access_certs_url(self) -> str:
        """Where the keys are that sign tokens."""
        team = f"https://{self.cf_access_team_name}.cloudflareaccess.com"
        return self.cf_access_certs_url or f"{team}/cdn-cgi/access/certs"

    @property
    def sign_in_lacks(self) -> tuple[str, ...]:
        """The settings that are missing before anybody can sign in; a proxy of another make has no team."""
        audience = {"CF_ACCESS_AUD": self.cf_access_aud}
        issuer = {"CF_ACCESS_CERTS_URL": self.cf_access_certs_url, "CF_ACCESS_ISSUER": self.cf_access_issuer}
        if self.cf_access_team_name or not any(issuer.values()):
            issuer = {"CF_ACCESS_TEAM_NAME": self.cf_access_team_name}
        return tuple(name for name, value in (issuer | audience).items() if not value)

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.gna_host)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, seen from itself."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Origin:
    """Where the settings came from, for `gna check`."""

    given: frozenset[str]
    unknown: tuple[str, ...]


def load(environ: Mapping[str, str] | None = None, *, dotenv: Path = Path(".env"), **overrides: object) -> Settings:
    """Read and check every setting; the message of the error is one sentence for each wrong one."""
    given = {**_given(os.environ if environ is None else environ, dotenv), **_set(overrides)}
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        raise CannotStart("\n".join(_sentence(wrong) for wrong in error.errors())) from None
    _check_together(settings)
    return settings


def origin(environ: Mapping[str, str] | None = None, *, dotenv: Path = Path(".env")) -> Origin:
    """Which settings were given, and which names in `.env` mean nothing to us."""
    written = _read_dotenv(dotenv)
    known = {*names(), *(f"{name}_FILE" for name, field in names().items() if is_secret(field))}
    given = _given(os.environ if environ is None else environ, dotenv)
    return Origin(
        given=frozenset(name.upper() for name in given),
        unknown=tuple(sorted(name for name in written if name not in known)),
    )


def names() -> dict[str, FieldInfo]:
    """Every setting by the name that operators use."""
    return {name.upper(): field for name, field in Settings.model_fields.items()}


def is_secret(field: FieldInfo) -> bool:
    """Whether the value must never be shown, and may stand in a file."""
    return "SecretStr" in repr(field.annotation)


def is_later(field: FieldInfo) -> bool:
    """Whether the setting is checked but not used by this version."""
    return bool(extra(field)["later"])


def extra(field: FieldInfo) -> dict[str, Any]:
    """The group and state of a setting."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def default_text(field: FieldInfo) -> str:
    """The default as an operator would write it."""
    value = field.default
    if value is None or value == ():
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _given(environ: Mapping[str, str], dotenv: Path) -> dict[str, object]:
    """The values that somebody set, by field name; the environment beats the file, whichever form each uses."""
    return {**_values(_read_dotenv(dotenv)), **_values(environ)}


def _values(written: Mapping[str, str]) -> dict[str, object]:
    """The settings of one source, with its secret files read."""
    values: dict[str, object] = {}
    for name, field in names().items():
        value, file = written.get(name), written.get(f"{name}_FILE") if is_secret(field) else None
        if value and file:
            raise CannotStart(f"{name} and {name}_FILE are both set; keep one of them.")
        if file:
            value = _read_secret(name, file)
        if value:
            values[name.lower()] = value
    return values


def _set(overrides: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in overrides.items() if value is not None}


def _read_dotenv(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    try:
        with path.open(encoding="utf-8") as file:
            wrong = next((line for line in parse_stream(file) if line.error), None)
        if wrong:
            raise CannotStart(
                f"{path} line {wrong.original.line} cannot be understood: write NAME=value. A value with quotes in it "
                """stands in quotes of the other kind, as in NAME='"A, B" <a@example.org>'."""
            )
        return {name: value for name, value in dotenv_values(path).items() if value}
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"{path} cannot be read: {_why(error)}.") from None


def _read_secret(name: str, file: str) -> str:
    try:
        secret = Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"{name}_FILE points at {file}, which cannot be read: {_why(error)}.") from None
    if not secret:
        raise CannotStart(f"{name}_FILE points at {file}, which is empty.")
    return secret


def _why(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or "no reason was given" if isinstance(error, OSError) else "it is not text"


def _check_together(settings: Settings) -> None:
    """The rules that concern more than one setting."""
    not_declared = settings.gna_env != "development"
    if settings.disable_auth and not settings.on_loopback and not_declared:
        raise CannotStart(
            f"DISABLE_AUTH=true would open /admin to everybody who reaches {settings.gna_host}; "
            "listen on 127.0.0.1, or say GNA_ENV=development if nobody else can."
        )
    if settings.disable_auth and not is_loopback(urlsplit(settings.base_url).hostname or "") and not_declared:
        raise CannotStart(
            f"DISABLE_AUTH=true would open /admin to everybody who reaches {settings.base_url}; "
            "leave PLATFORM_BASE_URL out while you try things, or say GNA_ENV=development if nobody else can."
        )
    if settings.email_provider not in ("mailbox", "smtp"):
        raise CannotStart(
            f"EMAIL_PROVIDER={settings.email_provider} is not part of this version yet; "
            "use EMAIL_PROVIDER=smtp, or EMAIL_PROVIDER=mailbox, which writes mails into a folder."
        )
    if settings.email_provider == "smtp":
        _check_smtp(settings)
    if settings.dkim_private_key and not settings.dkim_selector:
        raise CannotStart("DKIM_PRIVATE_KEY is set; DKIM_SELECTOR must say under which name its public half is in DNS.")


def _check_smtp(settings: Settings) -> None:
    """Real mail to real people needs a real sender, and links that lead somewhere."""
    if settings.smtp_url is None:
        raise CannotStart("EMAIL_PROVIDER=smtp needs SMTP_URL: smtp://user:password@host:587?tls=starttls")
    host = urlsplit(settings.smtp_address).hostname or ""
    if is_loopback(host) or settings.gna_env == "development":
        return
    for name, value in (
        ("EMAIL_FROM_ADDRESS", settings.email_from_address != DEFAULT_SENDER),
        ("PLATFORM_BASE_URL", settings.platform_base_url),
    ):
        if not value:
            raise CannotStart(f"EMAIL_PROVIDER=smtp sends real mail to {host}; set {name} first.")


WANTED = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "bool_parsing": "true or false",
    "greater_than": "greater than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "literal_error": "one of {expected}",
    "value_error": "{error}",
    "string_pattern_mismatch": "letters, digits and signs such as - only, without spaces",
}


def _sentence(wrong: ErrorDetails) -> str:
    """`SEND_RATE must be a number.` The value itself is not repeated: it may be a secret."""
    name = str(wrong["loc"][0]).upper()
    wanted = WANTED.get(wrong["type"])
    if wanted is None:
        return f"{name} is wrong: {wrong['msg']}."
    return f"{name} must be {wanted.format(**wrong.get('ctx', {}))}."


def _in_url(host: str) -> str:
    """A host as it stands in a link: anything means this machine, and IPv6 wears brackets."""
    if host in ("0.0.0.0", "::", ""):  # noqa: S104
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
