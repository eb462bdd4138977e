"""Passwords of mailboxes: from a command, from the system's keyring, from a sealed file, or from the environment.

They are in no database and in no log.
"""

import base64
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gna.config import Settings
from gna.errors import Refused

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

SERVICE = "gna inbox"
KEYRING, FILE = "keyring", "file"
COMMAND_SECONDS = 30
NONCE = 12
ELSEWHERE = "or set INBOX_PASSWORD, which is never stored; or give --password-command, which prints it"
THREE_WAYS = f"set SECRET_KEY, with which it is kept in an encrypted file; {ELSEWHERE}"
TYPE_IT = "gna inbox account password EMAIL"
ANEW = f"type it again: {TYPE_IT}; or have it printed: gna inbox account change EMAIL --password-command COMMAND"


def secret_of(settings: Settings, account: Any) -> str:
    """The password of an account, or its access token; Refused says what to do.

    The setting is for accounts that have none of their own: it must not be told to another one's server.
    """
    if account.password_command:
        return _printed(account.password_command)
    if account.kept_in == KEYRING:
        return _from_keyring(account.email)
    if account.kept_in == FILE:
        return _from_file(settings, account.email)
    if settings.inbox_password:
        return settings.inbox_password.get_secret_value()
    raise Refused(f"There is no password for this account: {_what_to_do(settings)}")


def _what_to_do(settings: Settings) -> str:
    """How to give a password; what is set already is not asked for."""
    first = "" if settings.hash_key else " (where there is no keyring, set SECRET_KEY first, which encrypts it)"
    return f"type it once with {TYPE_IT}{first}; {ELSEWHERE}"


def keep(settings: Settings, email: str, secret: str) -> str:
    """Keep a password where it is safest; says where that is."""
    if _into_keyring(email, secret):
        return KEYRING
    key = settings.hash_key
    if key is None:
        raise Refused(f"The password cannot be kept, since this machine has no keyring: {THREE_WAYS}")
    _into_file(settings.inbox_credentials, key, email, secret)
    return FILE


def forget(settings: Settings, account: Any) -> None:
    """Forget what we keep; what is kept elsewhere is not ours."""
    if account.kept_in == KEYRING:
        with suppress(Exception):  # a keyring that is gone keeps nothing either
            import keyring

            keyring.delete_password(SERVICE, _name(account.email))
    if account.kept_in == FILE:
        with _alone_with(settings.inbox_credentials) as file:
            kept = _kept(file)
            if kept.pop(_name(account.email), None) is not None:
                _write(file, kept)


def _printed(command: str) -> str:
    """The first line that a command prints; what else it says may be about the password, and is not repeated."""
    try:
        words = shlex.split(command)
        done = subprocess.run(words, capture_output=True, timeout=COMMAND_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise Refused(
            f"The password command said nothing for {COMMAND_SECONDS} seconds; does it wait for you?"
        ) from None
    except (OSError, ValueError, IndexError):
        raise Refused("The password command cannot be run; try it in a shell, with its whole path") from None
    if done.returncode:
        raise Refused(f"The password command failed with exit code {done.returncode}; try it in a shell")
    first = done.stdout.decode(errors="replace").partition("\n")[0].rstrip("\r")
    if not first:
        raise Refused("The password command printed nothing; its first line must be the password")
    return first


def _into_keyring(email: str, secret: str) -> bool:
    """Whether the system has a keyring and took it. Without a desktop there is mostly none."""
    try:
        import keyring
        from keyring.backends import fail

        if isinstance(keyring.get_keyring(), fail.Keyring):
            return False
        keyring.set_password(SERVICE, _name(email), secret)
        return keyring.get_password(SERVICE, _name(email)) == secret
    except Exception:  # each backend has its own way to say that it is not there
        return False


def _from_keyring(email: str) -> str:
    try:
        import keyring

        secret = keyring.get_password(SERVICE, _name(email))
    except Exception:
        raise Refused(f"The keyring that has the password cannot be read now. Unlock it; or {ANEW}") from None
    if not secret:
        raise Refused(f"The keyring has no password for this account any more: {ANEW}")
    return secret


def _into_file(file: Path, key: str, email: str, secret: str) -> None:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(NONCE)
    sealed = AESGCM(_derived(key)).encrypt(nonce, secret.encode(), _name(email).encode())
    with _alone_with(file):
        _write(file, _kept(file) | {_name(email): base64.b64encode(nonce + sealed).decode()})


def _from_file(settings: Settings, email: str) -> str:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if settings.hash_key is None:
        raise Refused("The password is in an encrypted file, which SECRET_KEY opens; set it as it was")
    file = settings.inbox_credentials.absolute()
    kept = _kept(file).get(_name(email))
    if not file.exists():
        raise Refused(
            f"The password is in a file that is not here: {file}. Run gna in the folder in which it was kept, or let "
            f"INBOX_CREDENTIALS name the file with its whole path; or type it again: {TYPE_IT}"
        )
    if kept is None:
        raise Refused(f"{file} has no password for this account any more: {ANEW}")
    try:
        sealed = base64.b64decode(kept)
        opened = AESGCM(_derived(settings.hash_key)).decrypt(sealed[:NONCE], sealed[NONCE:], _name(email).encode())
    except (InvalidTag, ValueError):
        raise Refused(
            f"{file} cannot be opened: SECRET_KEY is another than when the password was kept, or the file was changed. "
            f"Set it as it was, or type the password again: {TYPE_IT}"
        ) from None
    return opened.decode()


def _derived(key: str) -> bytes:
    """A key for this purpose alone."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, salt=None, info=b"gna inbox credentials").derive(key.encode())


def _kept(file: Path) -> dict[str, str]:
    try:
        kept = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise Refused(f"{file} cannot be read; INBOX_CREDENTIALS names the file of kept passwords") from None
    return {str(name): str(sealed) for name, sealed in kept.items()} if isinstance(kept, dict) else {}


@contextmanager
def _alone_with(file: Path) -> Iterator[Path]:
    """Nobody else changes the file meanwhile. Its folder is locked: the file itself is another one afterwards."""
    if fcntl is None:
        yield file
        return
    try:
        folder = os.open(file.parent, os.O_RDONLY)
    except OSError as error:
        raise Refused(f"{file} cannot be written: {error.strerror}. INBOX_CREDENTIALS can name another") from None
    try:
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(folder)


def _write(file: Path, kept: dict[str, str]) -> None:
    """All or nothing, and for nobody else's eyes."""
    new = file.with_name(f"{file.name}.{os.urandom(6).hex()}.new")
    try:
        # A new file of ours, never one that somebody has put there, or a link to it.
        descriptor = os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            with os.fdopen(descriptor, "w") as written:
                json.dump(kept, written)
                written.flush()
                os.fsync(written.fileno())
            new.replace(file)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Refused(f"{file} cannot be written: {error.strerror}. INBOX_CREDENTIALS can name another") from None


def _name(email: str) -> str:
    return email.strip().lower()
