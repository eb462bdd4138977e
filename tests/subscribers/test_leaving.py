"""In a file of an unknown product, a column whose name speaks of leaving is never a plain attribute."""

import io

import pytest

from gna.errors import Refused
from gna.subscribers.formats import Mapping, Standing, propose, recognise
from gna.subscribers.formats.leaving import UnknownValue, sign_of
from gna.subscribers.formats.person import Person
from gna.subscribers.imports import UnknownValues, check_values, parse_mapping
from gna.subscribers.sheets import sheets

ACTIVATED, UNCONFIRMED = Standing.ACTIVATED, Standing.UNCONFIRMED
UNSUBSCRIBED, CLEANED = Standing.UNSUBSCRIBED, Standing.CLEANED

LEFT = [
    *("unsub", "Unsubscribed", "UNSUBSCRIBED_FLAG", "is_unsubscribed", "Email opt out", "emailOptOut", "opted-out"),
    *(
        "blacklisted",
        "Email_Blacklist",
        "blocklisted",
        "Suppressed",
        "email suppression",
        "Do Not Email",
        "DoNotContact",
    ),
    *("no_email", "donotbulkemail", "STOP email", "Blocked", "banned", "Excluded", "Cancelled"),
    *("Left", "Deleted", "is_deleted", "Removed", "DNC", "Unsubscribed?", "Un\u200bsubscribed", "Opt\u2011out"),
    *("dezabonat", "Abgemeldet", "désabonné", "Désinscription", "Desuscrito", "Disiscritto", "Uitgeschreven"),
    *("Lista neagră", "Sperrliste", "Schwarze Liste", "Liste noire", "Lista negra", "Lista nera", "Zwarte lijst"),
    *("Baja", "Widerspruch", "Gesperrt", "Gekündigt", "Cancellato", "Ne plus contacter", "Nicht mehr anschreiben"),
    *("Remove", "dnc_email", "IsExcludedFromCampaigns"),
]
LEFT_AT = [
    "Cancelled at",
    "Date removed",
    "date left",
    "unsubscribe_ip",
    "unsubscribed_at",
    "left_at",
    "Left on",
    "deleted_at",
    "Removed on",
]
AGREED = [
    "Consent",
    "GDPR consent",
    "marketing_consent",
    "Accepts Marketing by mail",
    "Accepts the newsletter",
    "opt-in",
    *("Acord newsletter", "Consimțământ", "Consimtamant", "Accord", "Consentement", "Einwilligung", "Zustimmung"),
    *("Newsletter", "Newsletter?", "Receives newsletter", "Wants the newsletter", "Newsletter subscriber"),
    *("Newsletter abonniert", "Abonat la newsletter", "Inscrit à la newsletter", "Iscritto alla newsletter"),
    *("Email Subscribed (y/n)", "Subscribed to the list", "Is Subscriber", "Email Marketing: Accepts", "Confirmed?"),
    *("Send emails", "Email allowed", "Can contact", "Mailing list", "Active", "is_enabled", "GDPR"),
    "is the email address confirmed",
    *("Consenso", "Consentimiento", "Consentimento", "Toestemming", "Zgoda na newsletter"),
    *("Acceptă marketing", "Akzeptiert Marketing", "Accepte le marketing", "Acepta marketing", "Aceita marketing"),
    *("Accetta il marketing", "Accepteert marketing", "Akceptuje marketing", "Inscrit à la lettre"),
    *("Vrea newsletter", "Möchte den Newsletter", "Veut la newsletter", "Quiere newsletter", "Vuole la newsletter"),
    *("Wants mail", "Permission to email", "Agreed to marketing", "Agrees to receive emails"),
]
STATUS = [
    *("Status", "StatusId", "Mailing status", "member_status", "Contact Status", "Statut"),
    *("subscriptionStatus", "Newsletterstatus", "MailStatus"),
    *("Stare abonare", "Stare", "État", "Etat d'abonnement", "E\u0301tat", "Estado", "Stato iscrizione", "Abo-Status"),
]
SUBSCRIPTION = [
    *(
        "Subscription",
        "Abonare",
        "Abonare la newsletter",
        "Abonnement",
        "Newsletter-Anmeldung",
        "Suscripción",
        "Iscrizione",
    ),
    *("Inscrição", "Inschrijving", "Subskrypcja"),
]


def standing(column: str, value: str, answers: dict[str, str] | None = None) -> Standing:
    """How the person of a file with one such column stands."""
    header = ["mail", column]
    mapping = Mapping.parse({"values": {column: answers}} if answers else {}, header)
    person = recognise(header, mapping=mapping).read(["ana@example.org", value])
    assert person.attributes == {}, "what says who left is no attribute"
    return person.standing


@pytest.mark.parametrize("column", [*LEFT, *LEFT_AT])
@pytest.mark.parametrize("value", ["yes", "TRUE", "1", "Y", "x", "da", "ja", "2024-05-01", "12/31/2024", "1714550400"])
def test_who_left_is_understood(column: str, value: str) -> None:
    assert standing(column, value) is UNSUBSCRIBED


@pytest.mark.parametrize("column", [*LEFT, *LEFT_AT])
@pytest.mark.parametrize("value", ["", "no", "FALSE", "0", "N", "nu", "never", "null", "0000-00-00 00:00:00", "[]"])
def test_who_did_not_leave_is_understood(column: str, value: str) -> None:
    assert standing(column, value) is ACTIVATED


@pytest.mark.parametrize("column", AGREED)
def test_an_agreement_is_one_only_if_it_was_given(column: str) -> None:
    assert [standing(column, value) for value in ("yes", "1", "TRUE", "2024-05-01", "granted")] == [ACTIVATED] * 5
    never = [standing(column, value) for value in ("False", "", "never subscribed")]
    assert never == [UNCONFIRMED] * 3
    assert standing(column, "no") is UNCONFIRMED
    assert standing(column, "Unsubscribed") is UNSUBSCRIBED


def test_a_subscriber_who_is_not_subscribed_has_left() -> None:
    assert standing("Subscribed", "no") is UNSUBSCRIBED


@pytest.mark.parametrize("column", STATUS[1:])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Subscribed", ACTIVATED),
        ("opted-in", ACTIVATED),
        ("", ACTIVATED),
        ("UNSUBSCRIBED", UNSUBSCRIBED),
        ("opted_out", UNSUBSCRIBED),
        ("Dezabonat", UNSUBSCRIBED),
        ("cleaned", CLEANED),
        ("Hard Bounced", CLEANED),
        ("Spam complaint", CLEANED),
        ("non-subscribed", UNCONFIRMED),
        ("NEVER_SUBSCRIBED", UNCONFIRMED),
        ("pending", UNCONFIRMED),
    ],
)
def test_a_status_is_understood(column: str, value: str, expected: Standing) -> None:
    assert standing(column, value) is expected


@pytest.mark.parametrize("column", ["Bounced", "Spam", "hard_bounce", "Complained", "marked as spam", "Marked spam"])
def test_a_bounce_is_understood(column: str) -> None:
    assert [standing(column, value) for value in ("yes", "2024-05-01", "no", "")] == [
        CLEANED,
        CLEANED,
        ACTIVATED,
        ACTIVATED,
    ]


@pytest.mark.parametrize("column", [*STATUS[1:], *SUBSCRIPTION])
@pytest.mark.parametrize(
    ("stays", "left"),
    [
        ("abonat", "dezabonat"),
        ("abonată", "Dezabonata"),
        ("abonné", "désabonné"),
        ("abonne\u0301", "de\u0301sabonne\u0301"),
        ("angemeldet", "abgemeldet"),
        ("suscrito", "dado de baja"),
        ("iscritto", "disiscritto"),
        ("inscrito", "descadastrado"),
        ("ingeschreven", "uitgeschreven"),
        ("zapisany", "wypisany"),
    ],
)
def test_a_status_is_understood_in_several_languages(column: str, stays: str, left: str) -> None:
    assert standing(column, stays) is ACTIVATED
    assert standing(column, left) is UNSUBSCRIBED


@pytest.mark.parametrize("column", [*LEFT, *AGREED, *STATUS[1:], *SUBSCRIPTION])
def test_what_is_not_understood_brings_nobody_in_until_a_person_says_what_it_means(column: str) -> None:
    with pytest.raises(UnknownValue, match="say what it means"):
        standing(column, "on paper")
    meanings = {"confirmed": ACTIVATED, "left": UNSUBSCRIBED, "unconfirmed": UNCONFIRMED, "ignore": ACTIVATED}
    assert {word: standing(column, "On  paper", {"on paper": word}) for word in meanings} == meanings
    assert standing(column, "On paper", {"*": "left"}) is UNSUBSCRIBED


@pytest.mark.parametrize("column", LEFT_AT)
def test_any_value_in_a_column_of_when_people_left_means_that_they_left(column: str) -> None:
    assert standing(column, "last spring") is UNSUBSCRIBED


def test_what_is_understood_counts_whatever_a_person_says_of_it() -> None:
    assert standing("Unsubscribed", "yes", {"yes": "confirmed", "*": "confirmed"}) is UNSUBSCRIBED


@pytest.mark.parametrize(
    "column",
    [
        *(
            "City",
            "Unsubscribe link",
            "unsub_url",
            "SMS opt-in",
            "WhatsApp consent",
            "Bounce count",
            "State",
            "optin_ip",
        ),
        *(
            "Casino email",
            "Newsletter issue",
            "Active since",
            "Unconfirmed orders",
            "Mailing address",
            "Favourite newsletter",
        ),
        *("Oraș", "Country", "Notes", "Accordion", "Type d'abonnement", "Acord telefonic"),
        *("Baja California", "Lettre", "Remover", "Wants", "La mail", "Will", "Quiere", "Dance email"),
    ],
)
def test_other_columns_are_no_question(column: str) -> None:
    assert sign_of(column.casefold()) is None


def test_the_question_is_also_asked_of_a_file_with_our_own_columns() -> None:
    layout = recognise(["email", "nickname", "marketing_optout"])
    assert layout.name == "gna"
    assert layout.read(["ana@example.org", "Ana", "Yes"]).standing is UNSUBSCRIBED
    with pytest.raises(UnknownValue):
        layout.read(["ana@example.org", "Ana", "perhaps"])


def people_in(content: str, **said: object) -> list[Person]:
    """The people of a file that is read as a whole."""
    file = io.BytesIO(content.encode())
    mapping = parse_mapping(said, file)
    check_values(file, "people.csv", mapping)
    [sheet] = sheets(file, "people.csv", mapping)
    return [sheet.layout.read(cells) for _, cells in sheet.rows]


class TestByValues:
    """A column is also known by a word of leaving among its values, whatever its name is."""

    @pytest.mark.parametrize(
        ("word", "expected"),
        [
            ("dezabonat", UNSUBSCRIBED),
            ("Désabonné", UNSUBSCRIBED),
            ("UNSUBSCRIBED", UNSUBSCRIBED),
            ("abgemeldet", UNSUBSCRIBED),
            ("opted-out", UNSUBSCRIBED),
            ("bounced", CLEANED),
        ],
    )
    @pytest.mark.parametrize("header", ["email,Foo", "email,nickname,Foo", "Name,Mail,Foo"])
    def test_who_left_stays_away(self, header: str, word: str, expected: Standing) -> None:
        cells = "," * (header.count(",") - 1)
        rows = ["ana@example.org" + cells + ",active", "dan@example.org" + cells + f",{word}"]
        if header.startswith("Name"):
            rows = ["Ana,ana@example.org,active", f"Dan,dan@example.org,{word}"]
        ana, dan = people_in("\n".join([header, *rows]))
        assert (ana.standing, dan.standing) == (ACTIVATED, expected)
        assert "Foo" not in ana.attributes

    def test_one_value_at_the_end_of_a_long_file_is_enough(self) -> None:
        rows = [f"p{n}@example.org,active" for n in range(20_000)]
        people = people_in("\n".join(["email,Foo", *rows, "dan@example.org,dezabonat"]))
        assert people[-1].standing is UNSUBSCRIBED
        assert {person.standing for person in people[:-1]} == {ACTIVATED}

    def test_other_values_of_the_column_are_asked_about(self) -> None:
        content = "email,Foo\nana@example.org,gone fishing\ndan@example.org,dezabonat\n"
        with pytest.raises(UnknownValues, match=r'The column Foo may say who left.*"gone fishing"'):
            people_in(content)
        ana, dan = people_in(content, values={"Foo": {"gone fishing": "confirmed"}})
        assert (ana.standing, dan.standing) == (ACTIVATED, UNSUBSCRIBED)
        rows = [line.split(",") for line in content.splitlines()[1:]]
        assert propose(["email", "Foo"], rows).columns[1].unknown == ("gone fishing",)

    def test_an_everyday_word_is_asked_about_and_not_taken_for_an_opt_out(self) -> None:
        content = "email,Foo\nana@example.org,disabled\n"
        with pytest.raises(UnknownValues, match='"disabled"'):
            people_in(content)
        for said in ({"values": {"Foo": {"*": "ignore"}}}, {"columns": {"email": "email", "Foo": "attribute"}}):
            assert people_in(content, **said)[0].standing is ACTIVATED
        chosen = {"columns": {"email": "email", "Foo": "status"}, "values": {"Foo": {"disabled": "ignore"}}}
        assert people_in(content, **chosen)[0].standing is ACTIVATED
        assert people_in(content, values={"Foo": {"disabled": "left"}})[0].standing is UNSUBSCRIBED

    @pytest.mark.parametrize("target", ["ignore", "attribute"])
    def test_who_left_stays_away_whatever_the_column_is_used_for(self, target: str) -> None:
        columns = {"email": "email", "Foo": target}
        assert people_in("email,Foo\nana@example.org,dezabonat\n", columns=columns)[0].standing is UNSUBSCRIBED

    def test_a_sentence_or_a_place_is_an_attribute(self) -> None:
        content = "email,Notes,City,Country\nana@example.org,was unsubscribed by mistake,Cluj,România\n"
        [ana] = people_in(content)
        assert ana.standing is ACTIVATED
        assert ana.attributes == {"Notes": "was unsubscribed by mistake", "City": "Cluj", "Country": "România"}

    def test_who_left_another_channel_is_not_asked_about(self) -> None:
        [ana] = people_in("Mail,SMS subscription status\nana@example.org,unsubscribed\n")
        assert ana.standing is ACTIVATED
        assert ana.attributes == {"SMS subscription status": "unsubscribed"}

    def test_our_own_export_says_it_in_its_status_alone(self) -> None:
        [ana] = people_in("email,nickname,status,Order\nana@example.org,Ana,Activated,cancelled\n")
        assert (ana.standing, ana.attributes) == (ACTIVATED, {"Order": "cancelled"})


def test_values_of_a_column_that_the_file_does_not_have_are_refused() -> None:
    with pytest.raises(Refused, match='column "Nope" are explained, but the file has no such column'):
        people_in("email,Foo\nana@example.org,x\n", values={"Nope": {"x": "left"}})


class TestMailchimpWithFewColumns:
    """Mailchimp's columns in capitals beside `Email Address` are enough."""

    def test_tags_are_a_list_and_pending_people_are_not_asked_again(self) -> None:
        layout = recognise(["Email Address", "First Name", "STATUS", "TAGS"])
        assert layout.name == "mailchimp"
        ana = layout.read(["ana@example.org", "Ana", "subscribed", '"vip","news"'])
        assert (ana.standing, ana.attributes) == (ACTIVATED, {"first_name": "Ana", "tags": ["vip", "news"]})
        assert layout.read(["dan@example.org", "Dan", "pending", ""]).standing is UNCONFIRMED
        assert layout.read(["eva@example.org", "Eva", "unsubscribed", ""]).standing is UNSUBSCRIBED

    @pytest.mark.parametrize("column", ["STATUS", "TAGS", "MEMBER_RATING", "OPTIN_TIME"])
    def test_one_of_its_columns_is_enough(self, column: str) -> None:
        assert recognise(["Email Address", "First Name", column]).name == "mailchimp"

    @pytest.mark.parametrize(
        ("header", "name"),
        [
            ("email,nickname,status,activated_at,ocd_ids,state,lists", "gna"),
            ("email,status,tags", "gna"),
            ("Email Address,status", "gna"),
            ("Email Address,nickname,STATUS", "gna"),
            ("Email Address,tags", "csv"),
            ("Email Address,TAGS,Consent", "csv"),
        ],
    )
    def test_other_files_are_recognised_as_before(self, header: str, name: str) -> None:
        assert recognise(header.split(",")).name == name


class TestBeforeAnImport:
    """What the API and the command ask about before they take a file."""

    FILE = b"mail,Consent,City\nana@example.org,on paper,Cluj\ndan@example.org,yes,\neva@example.org,by phone,\n"

    def refused(self, said: dict[str, object]) -> str | None:
        mapping = Mapping.parse(said, ["mail", "Consent", "City"])
        try:
            check_values(io.BytesIO(self.FILE), "p.csv", mapping)
        except UnknownValues as unknown:
            return str(unknown)
        return None

    def test_unknown_values_are_told_with_their_column(self) -> None:
        told = self.refused({})
        assert told
        assert "The column Consent may say who left" in told
        assert '"on paper", "by phone"' in told
        assert "confirmed, left, unconfirmed, ignore" in told

    def test_a_column_that_is_not_mentioned_is_asked_about_too(self) -> None:
        assert self.refused({"columns": {"mail": "email"}})
        assert self.refused({"columns": {"mail": "email", "Consent": "status"}})

    @pytest.mark.parametrize(
        "said",
        [
            {"values": {"Consent": {"on paper": "confirmed", "by phone": "left"}}},
            {"values": {"Consent": {"*": "unconfirmed"}}},
            {"columns": {"mail": "email", "Consent": "ignore"}},
            {"columns": {"mail": "email", "Consent": "attribute:consent"}},
        ],
    )
    def test_once_everything_is_said_the_file_is_taken(self, said: dict[str, object]) -> None:
        assert self.refused(said) is None

    def test_a_file_that_is_called_unsubscribed_needs_no_words(self) -> None:
        content = b"mail,Unsubscribe reason\nana@example.org,too many mails\n"
        check_values(io.BytesIO(content), "unsubscribed.csv")
        layout = recognise(["mail", "Unsubscribe reason"], file_name="unsubscribed.csv")
        assert layout.read(["ana@example.org", "too many mails"]).standing is UNSUBSCRIBED


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "must be an object"),
        ({"A": "left"}, "must be an object"),
        ({"A": {"x": "gone"}}, "confirmed, left, unconfirmed, ignore"),
        ({"A": {"x": None}}, "confirmed, left, unconfirmed, ignore"),
        ({"A": {str(n): "left" for n in range(1001)}}, "At most 1,000"),
    ],
)
def test_meanings_that_make_no_sense_are_refused(values: object, reason: str) -> None:
    if values == []:
        values = [1]
    with pytest.raises(Refused, match=reason):
        Mapping.parse({"values": values}, ["A"])


def test_meanings_come_back_from_the_database() -> None:
    mapping = Mapping.parse({"values": {"A": {"On Paper": "confirmed", "*": "ignore"}}}, ["A"])
    assert Mapping.restored(mapping.stored()) == mapping


def test_a_page_knows_what_to_ask() -> None:
    rows = [["ana@example.org", "on paper"], ["dan@example.org", "Yes"], ["eva@example.org", "On Paper"]]
    rows += [[f"p{n}@example.org", f"note {n}"] for n in range(30)]
    column = propose(["mail", "Consent"], rows).columns[1]
    assert column.unknown[:2] == ("on paper", "note 0")
    assert (len(column.unknown), column.has_more) == (20, True)
    assert str(column.guess.column) == "status"
    assert propose(["mail", "Consent"], rows[1:2]).columns[1].unknown == ()


def test_a_log_of_views_is_not_a_list_of_people() -> None:
    header = "campaign_id,campaign_uuid,campaign_name,subscriber_id,subscriber_uuid,email,subscriber_name,created_at"
    for columns in (header, header.replace("created_at", "url,created_at")):
        with pytest.raises(Refused, match="not a list of people"):
            recognise(columns.split(","))
