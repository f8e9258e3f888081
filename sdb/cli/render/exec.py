"""Shows what statements have done to tables, a line for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdb import notes, sizes
from sdb.cli.output import agreed, can_ask
from sdb.statements.effects import Effect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdb.statements.effects import Executed
    from sdb.statements.vacuuming import Vacuumed
    from sdb.table.catalog.root import TableRoot

_DONE = {
    "insert": ("rows_inserted", "inserted {} into {}"),
    "create": ("rows_inserted", "made {1} with {0}"),
    "create_database": ("rows_inserted", "{1} comes with its first table"),
    "update": ("rows_updated", "updated {} of {}"),
    "delete": ("rows_deleted", "deleted {} of {}"),
    "truncate": ("rows_deleted", "deleted {}, all of {}"),
    "drop": ("rows_deleted", "dropped {1} with {0}"),
    "undrop": ("rows_inserted", "brought {1} back"),
    "comment": ("rows_inserted", "described {1}"),
    "alter": ("rows_inserted", "changed the columns of {1}"),
    "create_view": ("rows_inserted", "made the view {1}"),
    "replace_view": ("rows_inserted", "replaced the view {1}"),
    "drop_view": ("rows_inserted", "dropped the view {1}"),
    "undrop_view": ("rows_inserted", "brought the view {1} back"),
}


def is_meant(text: str, params: Mapping[str, object], root: TableRoot | None, *, yes: bool) -> bool:
    """Say how many rows each UPDATE or DELETE without WHERE changes, and ask on a terminal."""
    from sdb.statements.execute import unconditional

    for word, table, rows in unconditional(text, params, root):
        what = "all rows" if rows is None else f"all {sizes.counted(rows, 'row')}"
        verb = "changes" if word == "UPDATE" else "deletes"
        line = f"{word} {table} has no WHERE: it {verb} {what}"
        if yes or not can_ask():
            notes.warn(line)
        elif not agreed(f"{line}. Go on?"):
            notes.warn("nothing was changed")
            return False
    return True


def lines_of(done: Executed, *, verbose: bool) -> list[str]:
    """Report what a transaction did."""
    if not done.effects and done.commit:
        return [f"{done.commit} is {_versions(done)} already: nothing changed"]
    if not done.effects:
        return [f"{done.table} is there already"]
    texts = [_text(text) for text in done.effects]
    if done.is_dry:
        return [
            f"would have {text}{_more(two)}" for text, two in zip(texts, done.effects, strict=True)
        ]
    if not done.is_new:
        return [f"{text}: nothing changed" for text in texts]
    if done.effects[0].operation == "comment":  # which makes no version
        return texts
    if verbose:
        texts = [f"{text}{_more(two)}" for text, two in zip(texts, done.effects, strict=True)]
    texts[-1] += f": {_versions(done)}" if done.versions else f": version {done.version}"
    return texts


def _versions(done: Executed) -> str:
    """Report the versions that a transaction made."""
    made = done.versions or {done.table: done.version}
    return " and ".join(f"version {number} of {table}" for table, number in made.items())


def _text(effect: Effect | Vacuumed) -> str:
    if not isinstance(effect, Effect):
        versions = sizes.counted(effect.versions_expired, "version")
        expired = f"{versions} expired, {effect.versions_kept:,} kept"
        size = sizes.human(effect.deleted_bytes)
        objects = sizes.counted(effect.objects, "object")
        gone = f"{effect.objects_deleted:,} of {objects} deleted, {size}"
        return f"vacuumed {effect.table}: {expired}; {gone}"
    if effect.operation == "merge":
        return (
            f"merged into {effect.table}: {effect.rows_updated:,} updated, "
            f"{effect.rows_deleted:,} deleted, {effect.rows_inserted:,} inserted"
        )
    name, text = _DONE[effect.operation]
    return text.format(sizes.counted(int(getattr(effect, name)), "row"), effect.table)


def _more(effect: Effect | Vacuumed) -> str:
    """Report what becomes of packfiles and blocks."""
    if not isinstance(effect, Effect) or not effect.packfiles_removed:
        return ""
    text = (
        f" ({effect.packfiles_removed:,} of its packfiles; of their blocks "
        f"{effect.blocks_rewritten:,} rewritten, {effect.blocks_kept:,} copied"
    )
    if effect.written_bytes or effect.copied_bytes:
        written, copied = map(sizes.human, (effect.written_bytes, effect.copied_bytes))
        text += f"; {written} written, {copied} copied"
    return text + ")"
