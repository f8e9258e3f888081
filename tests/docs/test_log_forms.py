"""The table of ready forms of logs is that of the core."""

from __future__ import annotations

from tests.docs.log_forms import PAGE, written


def test_the_page_has_the_forms_and_fields_of_the_core() -> None:
    page = PAGE.read_text()
    assert written(page) == page, "python -m tests.docs.log_forms"
