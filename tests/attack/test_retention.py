"""Retention against a model of rows, for longer: random times, forms, absent fields and gaps."""

from __future__ import annotations

import pytest
from hypothesis import given, seed, settings

from tests.attack.harness import ROUNDS, SEED
from tests.table.retentionmodel import Case, cases, play


@pytest.mark.slow
@seed(SEED)
@settings(max_examples=100 * ROUNDS, deadline=None)
@given(cases)
def test_what_must_stay_stays_and_what_must_go_goes(case: Case) -> None:
    play(case)
