"""Merges by row hold what they promise; each mutation takes a precaution away and is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sdb.errors import SdbError
from sdb.packfile.trailer.identities import RowIdentities
from sdb.records import replace
from sdb.table.commit.change import TableChange
from sdb.table.format.state import VersionState
from sdb.table.history import merge, rowmerge
from sdb.table.history.rowtrace import SideRuns
from sdb.table.packfiles import identities
from tests.table.simulation import rowmerging

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = 240
RUNS = 32
WIDE = 3


@pytest.mark.parametrize(
    "part",
    [
        0,
        *[pytest.param(part, marks=pytest.mark.wide) for part in range(1, 1 + WIDE)],
        *[pytest.param(part, marks=pytest.mark.slow) for part in range(1 + WIDE, RUNS)],
    ],
)
def test_merges_have_the_rows_of_both_sides(part: int) -> None:
    merged = conflicts = raced = 0
    for seed in range(part, SEEDS, RUNS):
        try:
            world = rowmerging.run(seed)
        except BaseException as error:
            raise AssertionError(f"seed {seed}") from error
        merged, conflicts = merged + world.merged, conflicts + world.conflicts
        raced += world.raced
    assert merged > SEEDS // RUNS
    assert conflicts
    assert raced


@pytest.mark.parametrize("seed", range(6))
def test_a_merge_that_is_killed_anywhere_is_whole_or_was_not(seed: int) -> None:
    assert rowmerging.killed(seed) > 0


def changes_of_the_source_are_left_out(patch: pytest.MonkeyPatch) -> None:
    good = rowmerge._Plan.taken
    patch.setattr(
        rowmerge._Plan, "taken", lambda plan, count: [rows[:0] for rows in good(plan, count)]
    )


def rows_of_the_source_are_those_beside(patch: pytest.MonkeyPatch) -> None:
    good = rowmerge._Writer.only

    def only(writer: Any, packfile: Any, rows: Any) -> Any:
        return good(writer, packfile, np.unique((rows + 1) % packfile.rows))

    patch.setattr(rowmerge._Writer, "only", only)


def runs_begin_a_row_late(patch: pytest.MonkeyPatch) -> None:
    good = rowmerge._expanded
    patch.setattr(rowmerge, "_expanded", lambda first, count: np.maximum(good(first, count) - 1, 0))


def deletions_are_ignored(patch: pytest.MonkeyPatch) -> None:
    good = rowmerge._Plan.__init__

    def init(plan: Any, lengths: Any, base: Any, ours: Any, theirs: Any) -> None:
        good(plan, lengths, base, ours, theirs)
        plan._is_theirs &= theirs.is_there

    patch.setattr(rowmerge._Plan, "__init__", init)


def what_both_have_changed_is_taken_for_disjoint(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rowmerge._Plan, "settle", lambda *_: rowmerge._Conflicts([], 0))


def values_of_the_base_are_changes(patch: pytest.MonkeyPatch) -> None:
    good = rowmerge._Values.of_runs

    def of_runs(values: Any, chosen: Any) -> Any:
        for run, offset, (_, *others) in good(values, chosen):
            yield run, offset, [{"other": "row"}, *others]

    patch.setattr(rowmerge._Values, "of_runs", of_runs)


def rows_of_the_destination_stay_beside_new_ones(patch: pytest.MonkeyPatch) -> None:
    good = rowmerge._Plan.dropped
    patch.setattr(
        rowmerge._Plan, "dropped", lambda plan, count: [rows[:0] for rows in good(plan, count)]
    )


def changed_rows_are_as_they_came(patch: pytest.MonkeyPatch) -> None:
    good = RowIdentities.edited
    patch.setattr(
        RowIdentities,
        "edited",
        lambda rows, dropped, changed, change: good(rows, dropped, changed[:0], change),
    )


def rows_move_up_where_others_go(patch: pytest.MonkeyPatch) -> None:
    good = RowIdentities.edited

    def edited(rows: Any, dropped: Any, changed: Any, change: str) -> Any:
        done = good(rows, dropped, changed, change)
        return replace(done, first=np.where(done.first > 0, done.first - 1, 0))

    patch.setattr(RowIdentities, "edited", edited)


def compactions_begin_rows_anew(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        identities, "joined", lambda parts: RowIdentities.whole("C", sum(p.rows for p in parts))
    )


def compactions_mix_their_parts(patch: pytest.MonkeyPatch) -> None:
    good = identities.joined
    patch.setattr(identities, "joined", lambda parts: good(parts[::-1]))


def rows_are_followed_whatever_wrote_them(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rowmerging, "UNTRACED", 0.15)
    patch.setattr(VersionState, "traces_rows", lambda *_: True)


def whatever_is_written_is_followed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rowmerging, "UNTRACED", 0.15)
    patch.setattr(TableChange, "follows_rows", True)


def merges_are_followed_whatever_they_bring(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rowmerging, "UNTRACED", 0.15)
    good = TableChange.follows_rows.fget  # type: ignore[attr-defined]
    patch.setattr(
        TableChange,
        "follows_rows",
        property(lambda change: change.merged is not None or good(change)),
    )


def new_rows_are_in_the_base(patch: pytest.MonkeyPatch) -> None:
    good = rowmerge._Plan.__init__

    def init(plan: Any, lengths: Any, base: Any, ours: Any, theirs: Any) -> None:
        good(plan, lengths, base, ours, theirs)
        plan._is_theirs &= base.is_there

    patch.setattr(rowmerge._Plan, "__init__", init)


def all_sides_have_the_same_change(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SideRuns, "is_same", lambda a, b: a.is_there == b.is_there)


def conflicts_are_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(merge._Merging, "_check", lambda *_: None)


def what_others_commit_meanwhile_is_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    key = property(lambda overlap: (*[their.key for their in overlap.theirs], overlap.strategy))
    patch.setattr(rowmerge.Overlap, "key", key)


def packfiles_have_one_name(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(identities, "name_of", lambda _: "p")


MUTATIONS = [
    what_others_commit_meanwhile_is_not_looked_at,
    packfiles_have_one_name,
    changes_of_the_source_are_left_out,
    rows_of_the_source_are_those_beside,
    runs_begin_a_row_late,
    deletions_are_ignored,
    what_both_have_changed_is_taken_for_disjoint,
    values_of_the_base_are_changes,
    rows_of_the_destination_stay_beside_new_ones,
    changed_rows_are_as_they_came,
    rows_move_up_where_others_go,
    compactions_begin_rows_anew,
    compactions_mix_their_parts,
    rows_are_followed_whatever_wrote_them,
    whatever_is_written_is_followed,
    merges_are_followed_whatever_they_bring,
    new_rows_are_in_the_base,
    all_sides_have_the_same_change,
    conflicts_are_not_looked_at,
]


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.wide
def test_each_precaution_is_needed(
    mutation: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutation(monkeypatch)
    for seed in range(SEEDS):
        try:
            rowmerging.run(seed)
        except (AssertionError, SdbError, IndexError):
            return
    pytest.fail(f"{mutation.__name__}: {SEEDS} seeds do not notice it")
