"""CSV that no spreadsheet executes."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdb.query.result.safecells import SafeCells


def safe(text: str, *, piece_bytes: int = 1 << 30) -> str:
    out = io.BytesIO()
    cells = SafeCells(out)
    data = text.encode()
    cells.writelines(data[at : at + piece_bytes] for at in range(0, len(data), piece_bytes))
    cells.finish()
    return out.getvalue().decode()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a,=1+1\n", "a,'=1+1\n"),
        ("-5,+5,-1.5e-7,.5,-.5,+1 2,-\n", "-5,+5,-1.5e-7,.5,-.5,'+1 2,'-\n"),
        ('"@x,=1",b\n', '"\'@x,=1",b\n'),
        ('"a\n=b",=c\n', '"a\n=b",\'=c\n'),
        ('"=""x""",""\n', '"\'=""x""",""\n'),
        ("\tx,\rx\n", "'\tx,'\rx\n"),
        ("=k\n1\n", "'=k\n1\n"),
        ("", ""),
    ],
)
def test_cells(text: str, wanted: str) -> None:
    assert safe(text) == wanted


CELLS = st.text(st.sampled_from("=+-@\t\rabc1.e,\"'\n é"), max_size=6)


@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=20), st.integers(1, 40))
def test_other_cells_stay(rows: list[list[str]], piece_bytes: int) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL).writerows(
        [[cell.replace("\r", "") for cell in row] for row in rows]
    )
    before = list(csv.reader(io.StringIO(text.getvalue(), newline="")))
    changed = safe(text.getvalue(), piece_bytes=piece_bytes)
    after = list(csv.reader(io.StringIO(changed, newline="")))
    assert [list(map(quoted, row)) for row in before] == after


def quoted(cell: str) -> str:
    """Quote a cell by the rule itself."""
    try:
        float(cell)
    except ValueError:
        return f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell
    is_number = cell.strip() == cell and "_" not in cell
    return cell if is_number or cell[:1] not in {"+", "-", "\t", "\r"} else f"'{cell}"
