"""Tells what statements have done to tables, a line for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb import sizes
from sdb.query.writes.effects import Effect

if TYPE_CHECKING:
    from sdb.query.writes.transaction import Executed
    from sdb.query.writes.vacuuming import Vacuumed

_DONE = {
    "insert": ("rows_inserted", "inserted {} into {}"),
    "create": ("rows_inserted", "made {1} with {0}"),
    "update": ("rows_updated", "updated {} of {}"),
    "delete": ("rows_deleted", "deleted {} of {}"),
    "truncate": ("rows_deleted", "deleted {}, all of {}"),
    "drop": ("rows_deleted", "dropped {1} with {0}"),
    "undrop": ("rows_inserted", "brought {1} back"),
}


def lines_of(done: Executed, *, verbose: bool) -> list[str]:
    """Tell what a transaction did.

    Parameters
    ----------
    done : Executed
        The transaction.
    verbose : bool
        Whether to tell of blocks, too.

    Returns
    -------
    list of str
        A line for each statement.
    """
    if not done.effects and done.commit:
        return [f"{done.commit} is {_versions(done)} already: nothing changed"]
    if not done.effects:
        return [f"{done.table} is there already"]
    texts = [_text(one) for one in done.effects]
    if done.is_dry:
        return [
            f"would have {one}{_more(two)}" for one, two in zip(texts, done.effects, strict=True)
        ]
    if not done.is_new:
        return [f"{one}: nothing changed" for one in texts]
    if verbose:
        texts = [f"{one}{_more(two)}" for one, two in zip(texts, done.effects, strict=True)]
    texts[-1] += f": {_versions(done)}" if done.versions else f": version {done.version}"
    return texts


def _versions(done: Executed) -> str:
    """Tell the versions that a transaction made."""
    made = done.versions or {done.table: done.version}
    return " and ".join(f"version {number} of {table}" for table, number in made.items())


def _text(one: Effect | Vacuumed) -> str:
    if not isinstance(one, Effect):
        expired = f"{_counted(one.versions_expired, 'version')} expired, {one.versions_kept:,} kept"
        size = sizes.human(one.deleted_bytes)
        gone = f"{one.objects_deleted:,} of {_counted(one.objects, 'object')} deleted, {size}"
        return f"vacuumed {one.table}: {expired}; {gone}"
    if one.operation == "merge":
        return (
            f"merged into {one.table}: {one.rows_updated:,} updated, "
            f"{one.rows_deleted:,} deleted, {one.rows_inserted:,} inserted"
        )
    name, text = _DONE[one.operation]
    return text.format(_counted(int(getattr(one, name)), "row"), one.table)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _more(one: Effect | Vacuumed) -> str:
    """Tell what becomes of packfiles and blocks."""
    if not isinstance(one, Effect) or not one.packfiles_removed:
        return ""
    text = (
        f" ({one.packfiles_removed:,} of its packfiles; of their blocks "
        f"{one.blocks_rewritten:,} rewritten, {one.blocks_kept:,} copied"
    )
    if one.written_bytes or one.copied_bytes:
        written, copied = map(sizes.human, (one.written_bytes, one.copied_bytes))
        text += f"; {written} written, {copied} copied"
    return text + ")"
