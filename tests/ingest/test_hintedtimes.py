"""Times that a hints file tells of: forms of `strptime`, and hints that no value fits."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest

import sdb
from sdb import instants
from sdb.errors import SdbWarning, UsageError

if TYPE_CHECKING:
    from pathlib import Path

ROW = {"user": {"at": "04/03/2024 05:06"}, "id": 7, "n": 1.5}


def packed(folder: Path, hints: object, row: dict[str, Any] = ROW) -> dict[str, Any]:
    source = folder / "in.json"
    source.write_text(json.dumps(row))
    text = json.dumps(hints).encode()
    sdb.pack(source, folder / "out.zion", hints=text, overwrite=True)
    return sdb.open(folder / "out.zion").head()[0]


@pytest.mark.parametrize("words", ["%d/%m/%Y %H:%M", ["%d/%m/%Y %H:%M", "no_index"]])
def test_hints_take_forms_of_strptime(tmp_path: Path, words: object) -> None:
    row = packed(tmp_path, {"id": "string", "user.at": words})
    assert instants.text(instants.to_us(row["user"]["at"])) == "2024-03-04T05:06:00Z"
    assert row["id"] == "7"
    indexes = sdb.open(tmp_path / "out.zion").time_indexes
    assert bool(indexes) == (words == "%d/%m/%Y %H:%M")


def test_the_list_form_of_hints_takes_them_too(tmp_path: Path) -> None:
    rules = [{"path": "user.at", "hints": "%d/%m/%Y %H:%M"}, {"path": "n", "hints": "string"}]
    row = packed(tmp_path, rules)
    assert hasattr(row["user"]["at"], "tzinfo")
    assert row["n"] == "1.5"


def test_forms_of_hints_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="%Q"):
        packed(tmp_path, {"user.at": "%Q"})
    with pytest.raises(UsageError, match="is for one field"):
        packed(tmp_path, {"user.?": "%d/%m/%Y"})


@pytest.mark.parametrize(
    "hints", [{"user.at": "unix"}, {"user.at": "%Y-%m-%d"}, {"gone": "unix_ms"}]
)
def test_a_hint_that_no_value_fits_is_said(tmp_path: Path, hints: dict[str, str]) -> None:
    (name,) = hints
    with pytest.warns(SdbWarning, match=f"no value of {name} has the form"):
        packed(tmp_path, hints)


def test_a_column_of_datetimes_that_has_none_is_said(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("yesterday\n")
    column = {"name": "at", "type": "datetime", "format": "%d/%m/%Y"}
    hints = json.dumps({"fields": [column]}).encode()
    with pytest.warns(SdbWarning, match="no value of at has the form"):
        sdb.pack(source, tmp_path / "out.zion", hints=hints)


def test_a_hint_that_a_value_fits_is_not_said(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = packed(tmp_path, {"id": "unix", "user.at": "%d/%m/%Y %H:%M"})
    assert instants.text(instants.to_us(row["user"]["at"])) == "2024-03-04T05:06:00Z"
