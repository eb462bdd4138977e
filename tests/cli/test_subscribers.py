"""`gna subscribers`."""

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import forking

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def gna(database_url: str, tmp_path: Path) -> Run:
    """Runs a command on a database of its own."""

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return forking.gna(tmp_path, "subscribers", *arguments, DATABASE_URL=database_url)

    return run


def test_a_file_is_imported_listed_and_exported(gna: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("email,nickname\nana@example.org,Ana\nbo@example.org,\nbad@,x\n")
    dry = gna("import", "people.csv", "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "Would import people.csv (gna): 3 rows" in dry.stdout
    done = gna("import", "people.csv", "--errors", "errors.csv")
    assert done.returncode == 0, done.stderr
    assert "Imported people.csv" in done.stdout
    assert "2 new" in done.stdout
    assert "1 invalid" in done.stdout
    assert "people.csv,4,Email is not a valid address" in (tmp_path / "errors.csv").read_text("utf-8-sig")
    told = json.loads(gna("list", "--json", "--search", "ANA").stdout)
    assert [item["email"] for item in told["items"]] == ["ana@example.org"]
    assert told["total"] == 1
    table = gna("list")
    assert "bo@example.org" in table.stdout
    assert "2 of 2" in table.stdout
    rows = list(csv.DictReader(io.StringIO(gna("export").stdout.removeprefix("\ufeff"))))
    assert {(row["email"], row["status"]) for row in rows} == {
        ("ana@example.org", "Activated"),
        ("bo@example.org", "Activated"),
    }


@pytest.mark.parametrize(("content", "reason"), [(None, "cannot be read"), ("name\nAna\n", "address"), ("", "empty")])
def test_a_file_that_cannot_be_imported_is_one_sentence(
    gna: Run, tmp_path: Path, content: str | None, reason: str
) -> None:
    if content is not None:
        (tmp_path / "people.csv").write_text(content)
    answer = gna("import", "people.csv")
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[-1].startswith("gna: ")
    assert reason in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_value_that_may_say_who_left_must_be_explained(gna: Run, tmp_path: Path) -> None:
    (tmp_path / "crm.csv").write_text("Mail,Consent\nana@example.org,on paper\ndan@example.org,withdrawn\n")
    refused = gna("import", "crm.csv")
    assert refused.returncode == 1
    assert '"on paper", "withdrawn"' in refused.stderr.replace("\n", " ")
    assert '--value "Consent=on paper=left"' in refused.stderr.replace("\n", " ")
    assert "Traceback" not in refused.stderr
    values = ("--value", "Consent=on paper=confirmed", "--value", "Consent=withdrawn=left")
    assert "1 opted out" in gna("import", "crm.csv", *values).stdout
    assert "ana@example.org" in gna("list").stdout
    assert "dan@example.org" not in gna("list").stdout
    for wrong in ("Consent=x", "Consent=x=gone"):
        assert gna("import", "crm.csv", "--value", wrong).returncode == 1
    refused = gna("import", "crm.csv", *values, "--value", "Nope=x=left")
    assert refused.returncode == 1
    assert 'column "Nope" are explained, but the file has no such column' in refused.stderr.replace("\n", " ")


def test_columns_of_any_name_are_imported_as_the_options_say(gna: Run, tmp_path: Path) -> None:
    (tmp_path / "verein.csv").write_text("Kontakt;Vor=Name;Rest\nana@example.org;Ana;x\n")
    done = gna("import", "verein.csv", "--map", "Kontakt=email", "--map", "Vor=Name=nickname")
    assert done.returncode == 0, done.stderr
    assert "1 new" in done.stdout
    [ana] = json.loads(gna("list", "--json").stdout)["items"]
    assert (ana["nickname"], ana["attributes"]) == ("Ana", {})
    for option, reason in (("Kontakt", "as in: --map"), ("X=email", "no column"), ("Kontakt=shoe", "can be one of")):
        refused = gna("import", "verein.csv", "--map", option)
        assert (refused.returncode, reason in refused.stderr) == (1, True)


def test_search_text_is_treated_as_by_the_api(gna: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("email,nickname\nana@example.org,Ana\n")
    gna("import", "people.csv")
    assert "1 of 1" in gna("list", "--search", "  ana ").stdout
    assert "ana@example.org" in gna("export", "--search", " ana").stdout
    for command in ("list", "export"):
        for text in ("a" * 201, "\udcff"):
            refused = gna(command, "--search", text)
            assert (refused.returncode, refused.stdout) == (1, "")
            assert refused.stderr.splitlines()[0].endswith("What to look for must be at most 200 characters of text")
    assert gna("list", "--page", "9" * 20).returncode == 2
