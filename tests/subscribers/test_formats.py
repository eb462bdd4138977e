import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gna.errors import Refused
from gna.subscribers.formats import Mapping, Person, Standing, recognise, standing_by_file_name
from gna.subscribers.formats.products import PRODUCTS
from gna.subscribers.sheets import sheets

EXPORTS = sorted((Path(__file__).parent / "exports").glob("*.csv"))
MAILCHIMP_END = "MEMBER_RATING,OPTIN_TIME,CONFIRM_TIME,LEID,EUID"
NOBODY: dict[str, Any] = {
    "nickname": None,
    "activated_at": None,
    "ended_at": None,
    "ocd_ids": [],
    "lists": [],
    "attributes": {},
}


def read(header: str, *cells: str) -> Person:
    """The one row of a file with this header."""
    return recognise(header.split(",")).read(cells)


def as_json(person: Person) -> dict[str, Any]:
    def moment(at: datetime | None) -> str | None:
        assert at is None or at.utcoffset() == timedelta()
        return at.isoformat() if at else None

    told = asdict(person) | {"activated_at": moment(person.activated_at), "ended_at": moment(person.ended_at)}
    return dict(json.loads(json.dumps(told)))


@pytest.mark.parametrize("export", EXPORTS, ids=lambda path: path.stem)
def test_every_product_is_read_as_the_file_beside_its_export_says(export: Path) -> None:
    expected = json.loads(export.with_suffix(".json").read_text())
    with export.open("rb") as file:
        (sheet,) = sheets(file, export.name)
        people = [as_json(sheet.layout.read(cells)) for _, cells in sheet.rows]
    assert sheet.layout.name == expected["layout"]
    assert people == [NOBODY | person for person in expected["people"]]


def test_every_product_has_an_export() -> None:
    told = {json.loads(export.with_suffix(".json").read_text())["layout"] for export in EXPORTS}
    assert told == {product.name for product in PRODUCTS} | {"gna", "csv"}


def test_no_ip_place_or_payment_is_taken_over_from_any_export() -> None:
    for export in EXPORTS:
        expected = export.with_suffix(".json").read_text()
        assert "192.0.2." not in expected
        assert "cus_0" not in expected


@pytest.mark.parametrize(
    "name", ["EMAIL", " e-mail ", "\ufeffEmail Address", "E_Mail", "Adresă de email", "Adresse  e-mail", "mail"]
)
def test_the_address_column_has_many_names(name: str) -> None:
    assert recognise(["x", name]).read(["1", " ana@example.org "]).email == "ana@example.org"


def test_the_column_called_email_wins_over_its_synonyms() -> None:
    assert read("mail,email", "carrier pigeon", "ana@example.org").email == "ana@example.org"


def test_a_header_without_an_address_is_refused_with_what_to_do() -> None:
    with pytest.raises(Refused, match="Name that column email"):
        recognise(["nickname", "city"])


def test_a_file_without_a_header_is_refused_without_quoting_anybody() -> None:
    with pytest.raises(Refused, match="first row must name the columns") as refusal:
        recognise(["ana@example.org", "Ana"])
    assert "@" not in str(refusal.value)


def test_a_log_of_opens_is_not_a_list_of_people() -> None:
    with pytest.raises(Refused, match="not a list of people"):
        recognise(["post_id", "timestamp", "email", "active_subscription"])


def test_a_thousand_columns_are_enough() -> None:
    with pytest.raises(Refused, match="1,000 columns"):
        recognise(["email", *["x"] * 1000])


def test_only_an_address_is_our_own_format() -> None:
    assert recognise(["Email"]).name == "gna"
    assert read("email", "ana@example.org") == Person(
        "ana@example.org", None, Standing.ACTIVATED, None, None, (), (), {}
    )


def test_a_short_row_is_filled_up() -> None:
    assert read("email,nickname,status", "ana@example.org").nickname is None
    assert read("email,name,attributes", "ana@example.org").attributes == {}


@pytest.mark.parametrize(
    "header", ["email,name,city,status", "mail,Vorname,Ort,Status", "Email Address,FNAME,LEID,EUID"]
)
def test_a_row_with_more_cells_than_the_header_is_refused(header: str) -> None:
    shifted = ("ana@example.org", "Smith", " John", "", "unsubscribed")
    with pytest.raises(Refused, match=r"^The row has more cells than the header"):
        read(header, *shifted)
    assert read(header, "ana@example.org", "Ana", "", "", "", " ").standing is Standing.ACTIVATED


@pytest.mark.parametrize("status", ["Maybe", "1"])
def test_our_own_status_must_be_one_of_two(status: str) -> None:
    with pytest.raises(Refused, match=r"^Status must be Activated or Pending; what another word means can be said"):
        read("email,status", "ana@example.org", status)


def test_our_own_status_ignores_case_and_is_activated_when_empty() -> None:
    assert read("email,status", "ana@example.org", " ACTIVATED ").standing is Standing.ACTIVATED
    assert read("email,status", "ana@example.org", "").standing is Standing.ACTIVATED


@pytest.mark.parametrize("date", ["yesterday", "01.05.2024", "2024-13-01", "0001-01-01T00:00:00+10:00"])
def test_our_own_date_must_be_one(date: str) -> None:
    with pytest.raises(Refused, match=r"^activated_at is not a date$"):
        read("email,activated_at", "ana@example.org", date)


def test_a_pending_person_was_not_activated_whatever_the_date_says() -> None:
    person = read("email,status,activated_at", "ana@example.org", "Pending", "2024-05-01")
    assert (person.standing, person.activated_at) == (Standing.PENDING, None)


def test_our_own_long_value_is_refused_by_its_column() -> None:
    assert read("email,state,Map", "ana@example.org", "", "x" * 1000).attributes == {"Map": "x" * 1000}
    with pytest.raises(Refused, match=r"^Column Map is longer than 1,000 characters$"):
        read("email,state,Map", "ana@example.org", "", "x" * 1001)
    with pytest.raises(Refused, match=r"^Column 3 is longer"):
        read("email,state,dan@example.org", "ana@example.org", "", "x" * 1001)


def test_a_person_has_at_most_a_hundred_attributes() -> None:
    columns = ",".join(f"a{number}" for number in range(101))
    with pytest.raises(Refused, match="at most 100 attributes"):
        read(f"email,state,{columns}", "ana@example.org", "", *["x"] * 101)
    assert len(read(f"mail,{columns}", "ana@example.org", *["x"] * 101).attributes) == 100


def test_our_own_nickname_is_passed_on_as_written() -> None:
    assert read("email,nickname", "ana@example.org", f" {'x' * 60} ").nickname == "x" * 60
    assert read("email,nickname", "ana@example.org", "  ").nickname is None


@pytest.mark.parametrize(
    ("cell", "nickname"),
    [("'=1", "=1"), ("'+1", "+1"), ("'-", "-"), ("'@x", "@x"), ("''=x", "'=x"), ("'Ana", "'Ana"), ("'", "'")],
)
def test_the_guard_against_formulas_is_taken_off_and_nothing_else(cell: str, nickname: str) -> None:
    assert read("email,nickname", "ana@example.org", cell).nickname == nickname


def test_a_name_is_a_nickname_where_there_is_no_other() -> None:
    assert read("email,name,status", "ana@example.org", "Ana", "").nickname == "Ana"
    both = read("email,name,nickname", "ana@example.org", "Ana Pop", "Ani")
    assert (both.nickname, both.attributes) == ("Ani", {"name": "Ana Pop"})


def test_a_first_name_is_the_nickname_and_both_names_are_kept() -> None:
    person = read("email,First Name,last_name,lists", "ana@example.org", "Ana", "Pop", "")
    assert (person.nickname, person.attributes) == ("Ana", {"first_name": "Ana", "last_name": "Pop"})


def test_a_state_is_an_attribute_of_that_name() -> None:
    assert read("Email,State", "ana@example.org", "OH").attributes == {"state": "OH"}


def test_a_long_value_of_another_product_is_cut() -> None:
    person = read("email,name,attributes,Map", "ana@example.org", "", json.dumps({"a": ["x"] * 999}), "y" * 1001)
    assert {name: len(value) for name, value in person.attributes.items()} == {"a": 1000, "Map": 1000}


@pytest.mark.parametrize(
    "data", ["[" * 19_999, '{"a": "\\u0000"}', '{"a": "\\ud800"}', '{"a": NaN}', "{1, 2}", "x" * 30_000]
)
def test_data_that_no_database_would_take_is_kept_as_text(data: str) -> None:
    assert read("email,name,attributes", "ana@example.org", "", data).attributes == {"attributes": data[:1000]}


@pytest.mark.parametrize("date", ["", "soon", "1970-01-01 00:00:00", "2024-06-03", "9999-12-31T23:59:59-10:00"])
def test_a_date_of_another_product_that_cannot_be_true_is_left_out(date: str) -> None:
    layout = recognise(["email", "name", "subscribed_to_emails", "created_at"], now=datetime(2024, 6, 1, tzinfo=UTC))
    assert layout.read(["ana@example.org", "", "true", date]).activated_at is None


def test_an_unsubscribed_mailchimp_member_becomes_a_suppression() -> None:
    assert read("Email,UNSUB_TIME,LEID,EUID", "ana@example.org", "").standing is Standing.UNSUBSCRIBED


def test_a_mailchimp_header_in_any_language_is_read_by_place() -> None:
    person = read(f"Sähköpostiosoite,Etu,Suku,{MAILCHIMP_END}", "ana@example.org", "Ana", "Pop")
    assert (person.email, person.nickname) == ("ana@example.org", "Ana")
    assert person.attributes == {"first_name": "Ana", "last_name": "Pop"}


def test_a_technical_column_of_mailchimp_is_never_a_name() -> None:
    person = read(f"Sähköpostiosoite,{MAILCHIMP_END}", "ana@example.org", "5", "2020-01-01 00:00:00")
    assert (person.nickname, person.attributes) == (None, {})


def test_a_company_in_an_english_mailchimp_file_is_not_a_name() -> None:
    person = read(f"Email Address,Company,{MAILCHIMP_END}", "ana@example.org", "Acme")
    assert (person.nickname, person.attributes) == (None, {"Company": "Acme"})


@pytest.mark.parametrize(
    ("status", "standing"),
    [
        ("Active", Standing.ACTIVATED),
        ("", Standing.ACTIVATED),
        ("Bounced", Standing.CLEANED),
        ("unsubscribed", Standing.UNSUBSCRIBED),
        ("Never subscribed", Standing.UNCONFIRMED),
    ],
)
def test_an_unknown_product_may_say_how_people_stand(status: str, standing: Standing) -> None:
    layout = recognise(["E-Mail", "Subscription status"])
    assert (layout.name, layout.read(["ana@example.org", status]).standing) == ("csv", standing)


def test_a_file_called_unsubscribed_subscribes_nobody() -> None:
    layout = recognise(["email", "nickname"], file_name="export/Unsubscribers.csv")
    assert layout.read(["ana@example.org", "Ana"]).standing is Standing.UNSUBSCRIBED


@pytest.mark.parametrize(
    "name", ["nonsubscribed_members_export_ab12.csv", "zip/Non-Subscribed.csv", "non_subscribers.csv"]
)
def test_nobody_in_a_file_of_people_who_never_subscribed_is_brought_in(name: str) -> None:
    layout = recognise(["Email Address", "MEMBER_RATING", "LEID", "EUID", "CLEAN_TIME"], file_name=name)
    assert layout.read(["ana@example.org", "2", "1", "a", "2024-01-01"]).standing is Standing.CLEANED
    layout = recognise(["Email Address", "MEMBER_RATING", "LEID", "EUID", "Opt out"], file_name=name)
    assert layout.read(["ana@example.org", "2", "1", "a", "no"]).standing is Standing.UNCONFIRMED


@pytest.mark.parametrize(
    ("name", "standing"),
    [
        ("suppression_list.csv", Standing.UNSUBSCRIBED),
        ("export/global_unsubscribes.csv", Standing.UNSUBSCRIBED),
        ("list-unsubscribed.csv", Standing.UNSUBSCRIBED),
        ("2020-unsubs.csv", Standing.UNSUBSCRIBED),
        ("Opt-outs.csv", Standing.UNSUBSCRIBED),
        ("dezabonați.csv", Standing.UNSUBSCRIBED),
        ("bounced.csv", Standing.CLEANED),
        ("spam_complaints.csv", Standing.CLEANED),
        ("cleaned_members_export.csv", Standing.CLEANED),
        ("list_cleaned.csv", None),
        ("subscribers_without_bounces.csv", None),
        ("not-unsubscribed.csv", None),
        ("subscribed_and_unsubscribed.csv", None),
        ("subscribed_members_export.csv", None),
        ("contacts.csv", None),
    ],
)
def test_the_name_of_a_file_says_who_is_in_it(name: str, standing: Standing | None) -> None:
    assert standing_by_file_name(name) is standing


def test_a_column_that_says_who_left_knows_better_than_the_name_of_the_file() -> None:
    layout = recognise(["mail", "Unsubscribed"], file_name="opted_out.csv")
    assert layout.read(["ana@example.org", "no"]).standing is Standing.ACTIVATED
    layout = recognise(["mail", "city"], file_name="opted_out.csv")
    assert layout.read(["ana@example.org", "Cluj"]).standing is Standing.UNSUBSCRIBED


@pytest.mark.parametrize(
    "header",
    [
        "EMAIL,EMAIL_BLACKLISTED,OPT_OUT",
        "Email Address,LEID,EUID,Opt out",
        "uuid,email,attributes,unsubscribed",
        "email,email_disabled,unsubscribed",
        "Email,Accepts Email Marketing,Unsubscribed",
    ],
)
def test_an_opt_out_that_a_publisher_added_to_a_known_product_counts(header: str) -> None:
    names = header.split(",")
    cells = {"Accepts Email Marketing": "yes"}
    cells |= dict.fromkeys(("EMAIL", "email", "Email", "Email Address"), "ana@example.org")
    for value, standing in (("yes", Standing.UNSUBSCRIBED), ("no", Standing.ACTIVATED), ("?", Standing.ACTIVATED)):
        person = recognise(names).read([*(cells.get(name, "") for name in names[:-1]), value])
        assert (person.standing, person.attributes) == (standing, {})


def test_of_two_columns_of_the_same_name_both_count() -> None:
    person = read("EMAIL,EMAIL_BLACKLISTED,EMAIL_BLACKLISTED", "ana@example.org", "No", "Yes")
    assert person.standing is Standing.UNSUBSCRIBED


def test_a_state_says_who_left_if_its_values_do() -> None:
    header = ["Email", "State"]
    layout = recognise(header, with_words_of_leaving=frozenset({1}))
    assert layout.read(["ana@example.org", "Unsubscribed"]).standing is Standing.UNSUBSCRIBED
    assert layout.read(["dan@example.org", "Active"]).standing is Standing.ACTIVATED
    assert recognise(header).read(["eva@example.org", "Ohio"]).attributes == {"state": "Ohio"}


@pytest.mark.parametrize("column", ["Opted out of email: Marketing Information", "Opted out of email: One to One"])
def test_who_opted_out_of_one_type_of_hubspots_mail_is_left_out(column: str) -> None:
    header = f"Email,Unsubscribed from all email,{column}"
    standings = [read(header, "ana@example.org", "false", cell).standing for cell in ("true", "false", "")]
    assert standings == [Standing.UNCONFIRMED, Standing.ACTIVATED, Standing.ACTIVATED]


HEADERS = [",".join(sorted(mark)).split(",") for product in PRODUCTS for mark in product.marks]
CELL = st.text(max_size=30) | st.sampled_from(["email", "status", "name", "2020-01-01", "{'a': 1}", "active", "tags"])
ROW = st.lists(CELL, max_size=12)
HEADER = ROW | ROW.map(lambda row: ["email", *row]) | st.sampled_from(HEADERS).map(lambda known: ["email", *known])


@given(header=HEADER, row=ROW)
def test_no_header_and_no_row_raises_anything_but_refused(header: list[str], row: list[str]) -> None:
    try:
        person = recognise(header).read(row)
    except Refused:
        return
    assert len(json.dumps(person.attributes)) < 1_000_000
    assert person.email == person.email.strip()


@pytest.mark.parametrize("address", ["email", "E-Mail", "Email Address"])
@pytest.mark.parametrize(
    ("status", "standing"),
    [("Activated", "activated"), ("pending", "pending"), ("Unsubscribed", "unsubscribed"), ("bounced", "cleaned")],
)
def test_our_columns_mean_the_same_however_the_address_is_called(address: str, status: str, standing: str) -> None:
    layout = recognise([address, "status", "lists"])
    person = layout.read(["ana@example.org", status, "news;sport"])
    assert (layout.name, person.standing, person.lists) == ("gna", standing, ("news", "sport"))


@pytest.mark.parametrize("date", ["0001-01-01", "0999-05-05", "1989-12-31", "9999-12-31"])
def test_a_date_that_cannot_be_true_is_refused(date: str) -> None:
    with pytest.raises(Refused, match="activated_at must be between 1990 and now"):
        recognise(["email", "activated_at"]).read(["ana@example.org", date])


@pytest.mark.parametrize("header", ["email,nickname", "mail,First name,Last name", "Email Address,Name,LEID,EUID"])
@pytest.mark.parametrize("name", ["Ana\nMaria", "Ana \r\n Maria", "Ana\tMaria", "\nAna\u2028Maria\n"])
def test_a_line_break_in_a_name_becomes_a_space(header: str, name: str) -> None:
    cells = ("ana@example.org", name, "Pop\nIon")
    person = read(header, *cells[: len(header.split(","))])
    assert person.nickname == "Ana Maria"
    assert person.attributes.get("last_name", "Pop Ion") == "Pop Ion"


def test_a_line_break_in_a_name_whose_column_was_named_becomes_a_space() -> None:
    mapping = Mapping.parse({"columns": ["email", "nickname"]}, ["A", "B"])
    person = recognise(["A", "B"], mapping=mapping).read(["ana@example.org", "Ana\nMaria"])
    assert person.nickname == "Ana Maria"
