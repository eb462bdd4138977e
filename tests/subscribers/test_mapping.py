"""What the columns of a file are: guessed, said by a person, and read so."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.errors import Refused
from gna.subscribers.formats import AS_IT_IS, Mapping, NoAddress, Person, Proposal, Standing, propose, recognise
from gna.subscribers.formats.mapping import Column, Target
from gna.subscribers.formats.person import ENDED
from gna.subscribers.formats.products import PRODUCTS, TITLES
from gna.subscribers.sheets import glance, header_of, sheets

EXPORTS = sorted((Path(__file__).parent / "exports").glob("*.csv"))
KEYS = st.sampled_from(["columns", "status", "lists", "A", "B"])
WORDS = st.sampled_from([*Target, "Pending", "attribute:x"]) | st.text(max_size=9)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda some: st.lists(some, max_size=3) | st.dictionaries(KEYS, some, max_size=3),
)
ACTIVATED, PENDING, UNCONFIRMED = Standing.ACTIVATED, Standing.PENDING, Standing.UNCONFIRMED


def proposed(header: str, *rows: str) -> list[str]:
    """What each column is thought to be."""
    return [str(found.guess.column) for found in proposal(header, *rows).columns]


def proposal(header: str, *rows: str, file_name: str = "") -> Proposal:
    cells = [row.split(",") for row in rows or ("ana@example.org",)]
    return propose(header.split(","), cells, file_name=file_name)


def read(header: str, columns: list[str], *cells: str, **said: Any) -> Person:
    """The one row of a file whose columns a person has named."""
    mapping = Mapping.parse({"columns": columns, **said}, header.split(","))
    return recognise(header.split(","), mapping=mapping).read(cells)


class TestProposal:
    """What we think of a file."""

    @pytest.mark.parametrize(
        ("header", "columns"),
        [
            ("Adresă de email,Prenume,Nume de familie", ["email", "nickname", "attribute:last_name"]),
            ("E-Mail,Vorname,Nachname,Ort", ["email", "nickname", "attribute:last_name", "attribute:Ort"]),
            ("Prénom,Nom de famille,Courriel", ["nickname", "attribute:last_name", "email"]),
            ("Nombre,Correo electrónico", ["nickname", "email"]),
            ("name,EMAIL ADDRESS", ["nickname", "email"]),
            ("email,nickname,status", ["email", "nickname", "status"]),
            ("email,activated_at,ocd_ids,lists", ["email", "activated_at", "ocd_ids", "lists"]),
            ("email,city,city", ["email", "attribute:city", "ignore"]),
            ("email,,shoe", ["email", "ignore", "attribute:shoe"]),
            ("email,ip,city", ["email", "ignore", "attribute:city"]),
            ("mail,Subscription Status,x", ["email", "status", "attribute:x"]),
        ],
    )
    def test_a_header_in_any_language(self, header: str, columns: list[str]) -> None:
        assert proposed(header) == columns

    def test_addresses_are_found_by_how_they_look(self) -> None:
        rows = ("Ana,7,ana@example.org", "Dan,x@y,dan@example.org")
        assert proposed("Prenume,Cod,Adresa de contact", *rows) == ["nickname", "attribute:Cod", "email"]
        assert proposal("Prenume,Cod,Adresa de contact", *rows).format is None

    def test_where_nothing_looks_like_an_address_nobody_is_asked(self) -> None:
        with pytest.raises(NoAddress, match="Name that column email"):
            proposal("Prenume,Oraș", "Ana,Cluj")

    def test_a_file_without_a_header_is_refused_as_ever(self) -> None:
        with pytest.raises(Refused, match="first row must name the columns") as refusal:
            proposal("ana@example.org,Ana", "dan@example.org,Dan")
        assert "@" not in str(refusal.value)

    def test_a_column_of_words_about_leaving_is_found_by_them(self) -> None:
        left = proposal("E-Mail,Zustand", "ana@example.org,angemeldet", "dan@example.org,Abgemeldet")
        assert [str(one.guess.column) for one in left.columns] == ["email", "status"]
        assert left.columns[1].guess.counts
        found = proposal("E-Mail,Zustand", "ana@example.org,angemeldet", "dan@example.org,aktiv")
        assert [str(one.guess.column) for one in found.columns] == ["email", "status"]
        assert not found.is_kept([one.guess.column for one in found.columns]), "the format itself does not know it"
        assert proposed("E-Mail,Ort", "ana@example.org,aktiv", "dan@example.org,Bonn")[1] == "attribute:Ort"
        assert proposed("E-Mail,Ort", "ana@example.org,")[1] == "attribute:Ort"

    def test_samples_are_few_short_and_different(self) -> None:
        rows = [f"p{n}@example.org,{'x' * 200},same" for n in range(50)]
        columns = proposal("email,long,same", *rows).columns
        assert [len(found.samples) for found in columns] == [5, 1, 1]
        assert len(columns[1].samples[0]) == 40

    @pytest.mark.parametrize("export", EXPORTS, ids=lambda path: path.stem)
    def test_every_product_is_told_and_its_proposal_is_a_valid_mapping(self, export: Path) -> None:
        expected = json.loads(export.with_suffix(".json").read_text())
        with export.open("rb") as file:
            found, header = glance(file, export.name), header_of(file)
        assert found.format == expected["layout"]
        said = {"columns": [str(one.guess.column) for one in found.columns]}
        assert found.is_kept(Mapping.parse(said, header).columns or ())

    def test_every_format_has_a_name_to_show(self) -> None:
        assert set(TITLES) == {product.name for product in PRODUCTS} | {"gna", "csv"}

    def test_mailchimps_columns(self) -> None:
        header = "Emailadresse,Vorname,Nachname,UNSUB_TIME,CONFIRM_TIME,LEID,EUID,TAGS,CC"
        found = proposal(header, "ana@example.org")
        told = [(str(one.guess.column), one.guess.counts) for one in found.columns]
        assert told == [
            ("email", False),
            ("nickname", False),
            ("attribute:last_name", False),
            ("ignore", True),
            ("activated_at", False),
            ("ignore", False),
            ("ignore", False),
            ("attribute:tags", False),
            ("attribute:country", False),
        ]

    def test_a_name_that_says_goodbye_is_told(self) -> None:
        assert proposal("email", file_name="unsubscribed_2024.csv").leaving
        assert not proposal("email", file_name="people.csv").leaving

    def test_only_the_beginning_is_needed(self) -> None:
        content = "Kontakt;Name\n" + "".join(f'p{n}@example.org;"P\n{n}"\n' for n in range(20_000))
        for cut in (4096, 4097, 4098, 4099):
            found = glance(io.BytesIO(content.encode()[:cut]), "p.csv")
            assert [str(one.guess.column) for one in found.columns] == ["email", "nickname"]

    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    def test_separators_and_encodings_are_found_without_a_known_header(self, separator: str, encoding: str) -> None:
        content = f"Größe{separator}Kontakt\n7{separator}ana@example.org\n".encode(encoding)
        found = glance(io.BytesIO(content), "p.csv")
        assert [(one.header, one.samples) for one in found.columns] == [
            ("Größe", ("7",)),
            ("Kontakt", ("ana@example.org",)),
        ]

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "empty"),
            (b"Kontakt,Name\n", "no rows"),
            (b"<!doctype html>", "web page"),
            (b"PK\x03\x04", "CSV file only"),
            (b"%PDF-1.4", "PDF"),
            (b"post_id,email\n1,ana@example.org\n", "log"),
        ],
    )
    def test_what_is_no_list_of_people_is_said(self, content: bytes, reason: str) -> None:
        with pytest.raises(Refused, match=reason):
            glance(io.BytesIO(content), "p.csv")

    @given(st.lists(st.lists(st.text(max_size=8), min_size=1, max_size=5), min_size=2, max_size=6))
    def test_any_table_is_proposed_or_refused(self, table: list[list[str]]) -> None:
        try:
            found = propose(table[0], table[1:])
        except Refused:
            return
        assert len(found.columns) == len(table[0])
        assert [one.guess.column.target for one in found.columns].count(Target.EMAIL) == 1


class TestSaying:
    """What a person may say."""

    def test_columns_are_named_or_listed_in_order(self) -> None:
        header = ["E-Mail", "Ort", "Vorname", "Schuhe"]
        by_name = Mapping.parse(
            {"columns": {"E-Mail": "email", "Ort": "attribute:city", "Vorname": "nickname"}}, header
        )
        in_order = Mapping.parse({"columns": ["email", "attribute:city", "nickname", "ignore"]}, header)
        assert by_name == in_order
        assert by_name.columns
        assert by_name.columns[1] == Column(Target.ATTRIBUTE, "city")

    def test_an_attribute_without_a_name_is_called_as_its_column(self) -> None:
        mapping = Mapping.parse({"columns": ["email", "attribute"]}, ["x", " Ort "])
        assert mapping.columns
        assert mapping.columns[1].name == "Ort"

    @pytest.mark.parametrize(
        ("said", "reason"),
        [
            ([], "must be an object"),
            ({"column": {}}, "must be an object"),
            ({"columns": "email"}, "an object by their names"),
            ({"columns": ["email"]}, "as many as the file has"),
            ({"columns": {"C": "email"}}, "no column of that name"),
            ({"columns": ["email", "shoe"]}, "can be one of: email, nickname"),
            ({"columns": ["email", 5]}, "can be one of"),
            ({"columns": ["email", "nickname:x"]}, "can be one of"),
            ({"columns": ["ignore", "nickname"]}, "Say which column"),
            ({"columns": ["email", "email"]}, "Only one column can be email"),
            ({"columns": ["status", "status"]}, "Say which column"),
            ({"columns": ["attribute:x", "attribute:x"]}, "Say which column"),
            ({"columns": ["email", f"attribute:{'x' * 101}"]}, "1–100 characters"),
            ({"columns": ["email", "attribute:a\0b"]}, "1–100 characters"),
            ({"status": "Gone"}, "Activated or Pending"),
            ({"status": 1}, "Activated or Pending"),
            ({"lists": "news"}, "list of at most 20"),
            ({"lists": ["not a key"]}, "list key"),
            ({"lists": [f"l{n}" for n in range(21)]}, "list of at most 20"),
        ],
    )
    def test_what_makes_no_sense_is_refused_with_the_reason(self, said: Any, reason: str) -> None:
        with pytest.raises(Refused, match=reason):
            Mapping.parse(said, ["A", "B"])

    def test_attributes_have_different_names_and_are_at_most_a_hundred(self) -> None:
        with pytest.raises(Refused, match="same attribute"):
            Mapping.parse({"columns": ["email", "attribute:x", "attribute:x"]}, ["a", "b", "c"])
        with pytest.raises(Refused, match="at most 100"):
            Mapping.parse({"columns": ["email", *["attribute"] * 101]}, [f"c{n}" for n in range(102)])

    def test_several_columns_may_be_parts_of_a_name_and_one_only_of_the_rest(self) -> None:
        Mapping.parse({"columns": ["email", "nickname", "nickname"]}, ["a", "b", "c"])
        Mapping.parse({"columns": ["email", "status", "status"]}, ["a", "b", "c"])
        for target in ("email", "activated_at", "ocd_ids", "lists"):
            with pytest.raises(Refused, match=f"Only one column can be {target}"):
                Mapping.parse({"columns": ["email", target, target]}, ["a", "b", "c"])

    def test_nothing_said_is_stored_as_nothing(self) -> None:
        assert Mapping.parse({}, []).stored() is None
        assert Mapping.restored(None) == AS_IT_IS

    def test_it_comes_back_from_the_database_as_it_was(self) -> None:
        said = {"columns": ["email", "attribute:a:b", "ignore"], "status": "pending", "lists": ["news", "news"]}
        mapping = Mapping.parse(said, ["x", "y", "z"])
        assert (mapping.default, mapping.lists) == (PENDING, ("news",))
        assert Mapping.restored(json.loads(json.dumps(mapping.stored()))) == mapping

    @given(ANYTHING)
    def test_anything_else_is_refused_and_breaks_nothing(self, said: Any) -> None:
        try:
            mapping = Mapping.parse(said, ["A", "B"])
        except Refused:
            return
        assert Mapping.restored(mapping.stored()) == mapping


class TestReading:
    """A file is read as a person said."""

    def test_columns_of_any_name(self) -> None:
        header = "Kontakt,Vor,Nach,Ort,Stand,Seit,Platz,Liste,Rest"
        columns = [
            "email",
            "nickname",
            "nickname",
            "attribute:city",
            "status",
            "activated_at",
            "ocd_ids",
            "lists",
            "ignore",
        ]
        person = read(
            header, columns, " ana@example.org ", "Ana", "Pop", "Cluj", "aktiv", "01.05.2024", "a;b", "news; sport", "x"
        )
        since = datetime(2024, 5, 1, tzinfo=UTC)
        assert person == Person(
            "ana@example.org", "Ana Pop", ACTIVATED, since, None, ("a", "b"), ("news", "sport"), {"city": "Cluj"}
        )

    def test_short_rows_are_filled_up(self) -> None:
        assert read("A,B,C", ["email", "nickname", "nickname"], "ana@example.org").nickname is None
        assert read("A,B,C", ["email", "nickname", "nickname"], "ana@example.org", "", "Pop").nickname == "Pop"

    def test_a_name_that_is_too_long_is_kept_as_an_attribute(self) -> None:
        person = read("A,B", ["email", "nickname"], "ana@example.org", "x" * 51)
        assert (person.nickname, person.attributes) == (None, {"name": "x" * 51})

    def test_the_quote_of_our_own_export_is_taken_away(self) -> None:
        person = read("A,B", ["email", "nickname"], "'+ana@example.org", "'=Ana")
        assert (person.email, person.nickname) == ("+ana@example.org", "=Ana")

    @pytest.mark.parametrize(
        ("word", "standing"),
        [
            ("Activated", ACTIVATED),
            ("PENDING", PENDING),
            ("abonat", ACTIVATED),
            ("Dezabonat", Standing.UNSUBSCRIBED),
            ("désabonné", Standing.UNSUBSCRIBED),
            ("abgemeldet", Standing.UNSUBSCRIBED),
            ("bounced", Standing.CLEANED),
            ("da", ACTIVATED),
            ("Nein", UNCONFIRMED),
            ("", ACTIVATED),
        ],
    )
    def test_a_status_in_several_languages(self, word: str, standing: Standing) -> None:
        assert read("A,B", ["email", "status"], "ana@example.org", word).standing is standing

    def test_a_status_that_nobody_knows_is_no_yes(self) -> None:
        with pytest.raises(Refused, match="not known here"):
            read("A,B", ["email", "status"], "ana@example.org", "perhaps")

    def test_people_without_a_status_are_as_the_person_says(self) -> None:
        assert read("A", ["email"], "ana@example.org").standing is ACTIVATED
        pending = read("A,B", ["email", "activated_at"], "ana@example.org", "2024-05-01", status="Pending")
        assert (pending.standing, pending.activated_at) == (PENDING, None)
        assert read("A,B", ["email", "status"], "ana@example.org", "", status="Pending").standing is PENDING
        assert read("A,B", ["email", "status"], "ana@example.org", "active", status="Pending").standing is ACTIVATED

    @pytest.mark.parametrize("header", ["email", "mail,x", "Email Address,LEID,EUID"])
    def test_that_also_holds_where_the_format_is_kept(self, header: str) -> None:
        mapping = Mapping.parse({"status": "Pending", "lists": ["news"]}, [])
        person = recognise(header.split(","), mapping=mapping).read(["ana@example.org"])
        assert (person.standing, person.activated_at, person.lists) == (PENDING, None, ("news",))

    def test_a_status_of_the_file_wins_over_what_is_said_of_all(self) -> None:
        mapping = Mapping.parse({"status": "Pending"}, [])
        layout = recognise(["email", "status"], mapping=mapping)
        assert layout.read(["ana@example.org", "Activated"]).standing is ACTIVATED
        assert layout.read(["ana@example.org", ""]).standing is PENDING

    def test_everybody_is_put_on_the_lists_beside_those_of_the_file(self) -> None:
        person = read("A,B", ["email", "lists"], "ana@example.org", "a;b", lists=["b", "c"])
        assert person.lists == ("a", "b", "c")

    def test_a_date_with_dots_has_its_day_first_and_nonsense_is_passed_over(self) -> None:
        def since(text: str) -> datetime | None:
            return read("A,B", ["email", "activated_at"], "ana@example.org", text).activated_at

        assert since("2.3.2024 10:00") == datetime(2024, 3, 2, 10, tzinfo=UTC)
        assert since("2024-03-02") == datetime(2024, 3, 2, tzinfo=UTC)
        assert [since(text) for text in ("", "soon", "31.02.2024", "2.3.1889", "1/2/2024")] == [None] * 5

    def test_other_columns_than_those_that_were_named_are_refused(self) -> None:
        mapping = Mapping.parse({"columns": ["email", "nickname"]}, ["A", "B"])
        with pytest.raises(Refused, match="other columns"):
            recognise(["A", "B", "C"], mapping=mapping)

    def test_a_zip_is_not_named(self) -> None:
        mapping = Mapping.parse({"columns": ["email"]}, ["A"])
        with pytest.raises(Refused, match="CSV file only"):
            sheets(io.BytesIO(b"PK\x03\x04"), "x.zip", mapping)


class TestWhoLeft:
    """Whatever a person says, whoever left, bounced or never confirmed elsewhere is not brought in."""

    @pytest.mark.parametrize("export", EXPORTS, ids=lambda path: path.stem)
    @pytest.mark.parametrize("others", ["ignore", "as proposed"])
    def test_by_every_products_own_rules(self, export: Path, others: str) -> None:
        with export.open("rb") as file:
            (recognised,) = sheets(file, export.name)
            rows = [cells for _, cells in recognised.rows]
            columns = [str(found.guess.column) for found in glance(file, export.name).columns]
        at = columns.index("email")
        said = [*columns, "attribute:own"] if others == "as proposed" else ["ignore"] * len(columns) + ["ignore"]
        said[at] = "email"
        header = [*recognised.header, "a column more"]
        mapped = recognise(header, file_name=export.name, mapping=Mapping.parse({"columns": said}, header))
        for cells in rows:
            before, after = recognised.layout.read(cells), mapped.read(cells)
            assert after.email == before.email
            if before.standing in (*ENDED, UNCONFIRMED):
                assert (after.standing, after.ended_at) == (before.standing, before.ended_at)
            elif before.standing is ACTIVATED:
                assert after.standing is ACTIVATED

    @pytest.mark.parametrize("target", ["ignore", "attribute", "nickname"])
    def test_a_column_that_says_so_counts_whatever_it_is_called(self, target: str) -> None:
        gone = (
            ("unsubscribed", "yes"),
            ("status", "unsubscribed"),
            ("subscribed", "no"),
            ("unsubscribed_at", "2024-01-01"),
        )
        for name, word in gone:
            person = read(f"Kontakt,{name}", ["email", target], "ana@example.org", word)
            assert person.standing is Standing.UNSUBSCRIBED, name
        assert read("Kontakt,confirmed", ["email", target], "ana@example.org", "no").standing is UNCONFIRMED

    def test_a_file_whose_name_says_goodbye(self) -> None:
        mapping = Mapping.parse({"columns": ["email"], "lists": ["news"]}, ["A"])
        layout = recognise(["A"], file_name="unsubscribers.csv", mapping=mapping)
        assert layout.read(["ana@example.org"]).standing is Standing.UNSUBSCRIBED
