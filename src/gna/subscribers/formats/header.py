"""The header row, compared without case, outer space and byte order mark."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

# Loosely written: `_` and `-` count as spaces.
ADDRESS = frozenset(
    {"email", "e mail", "email address", "e mail address", "mail", "mail address", "email id", "subscriber email"}
    | {"emailadresse", "e mail adresse", "email adresse", "mailadresse", "adresse e mail", "adresse email", "courriel"}
    | {"adresă de email", "adresa de email", "adresă email", "adresă de e mail", "adresa de e mail", "adresă de mail"}
    | {"correo", "correo electrónico", "correo electronico", "dirección de correo electrónico", "direccion de correo"}
    | {"indirizzo email", "indirizzo e mail", "endereço de email", "endereço de e mail", "emailadres", "e mailadres"}
    | {"adres e mail", "adres email", "e post", "epost", "e postadress", "sähköposti", "электронная почта"}
)
ENGLISH_ADDRESS = frozenset({"email", "e mail", "email address", "e mail address"})
FIRST_NAME = frozenset(
    {"first name", "firstname", "fname", "given name", "forename", "vorname", "prénom", "prenom", "prenume"}
    | {"nombre", "voornaam", "imię", "förnamn", "fornavn", "etunimi"}
)
LAST_NAME = frozenset(
    {"last name", "lastname", "lname", "surname", "family name", "nachname", "nom de famille", "nume de familie"}
    | {"apellido", "apellidos", "cognome", "achternaam", "nazwisko", "sobrenome", "efternamn", "etternavn", "sukunimi"}
)
NAME = frozenset({"name", "full name", "fullname", "display name", "nom", "nume", "nome", "naam"})


@dataclass(frozen=True)
class Header:
    """The columns: as written without outer space, and as compared."""

    names: tuple[str, ...]
    keys: tuple[str, ...]
    # The columns with a word of leaving among their values.
    with_words_of_leaving: frozenset[int] = frozenset()

    @classmethod
    def of(cls, cells: Sequence[str]) -> "Header":
        """Read the cells of a first row."""
        names = tuple(cell.replace("\ufeff", "").strip() for cell in cells)
        return cls(names, tuple(_key(name) for name in names))

    def at(self, *keys: str) -> int | None:
        """Where the first of these columns stands that there is."""
        return next((self.keys.index(key) for key in keys if key in self.keys), None)

    def among(self, words: frozenset[str]) -> int | None:
        """Where the first column stands that has one of these names, loosely written."""
        return next((at for at, key in enumerate(self.keys) if _loose(key) in words), None)

    def address(self) -> int | None:
        """Where the address stands, if a column says so."""
        exact = self.at("email")
        return self.among(ADDRESS) if exact is None else exact

    def speaks_english(self) -> bool:
        """Whether the address column has an English name."""
        return self.among(ENGLISH_ADDRESS) is not None


def _key(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def _loose(key: str) -> str:
    return " ".join(key.replace("_", " ").replace("-", " ").split())
