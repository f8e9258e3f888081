"""The statistics of a packfile that users ask for."""

from __future__ import annotations

from sdb.errors import CorruptError, UsageError
from sdb.packfile.prune.unknownfields import warn_unknown
from sdb.packfile.trailer.blockstats import INTEGERS, MAX_DEPTH, PREFIXES, TEXTS, WORDS
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.sparseindex import SparseIndex
    from sdb.packfile.trailer.trailer import Trailer


@record
class StatisticsChoice:
    """The paths that shall have statistics."""

    is_auto: bool  # whether those are chosen that are worth it
    paths: tuple[FieldPath, ...] = ()  # these have them in any case
    # Of these there are filters of words; the path without a name is the row
    words: tuple[FieldPath, ...] = ()
    prefixes: tuple[FieldPath, ...] = ()  # of these there are filters of the prefixes of addresses

    @classmethod
    def of(
        cls, value: StatisticsChoice | str | Iterable[str | Sequence[str | None]]
    ) -> StatisticsChoice:
        """Read what users write.

        * ``value``: ``off``, or any of ``auto``, paths, ``words:PATH`` and ``prefixes:PATH``, with
          commas between them. Paths are texts like ``actor.id`` and ``items[].id``, or tuples of
          names, in which None stands for the elements of a list. ``words`` alone is of the whole
          row.

        Raises `UsageError` for a path without a name.

        >>> StatisticsChoice.of("actor.id,items[].id").paths
        (('actor', 'id'), ('items', None, 'id'))
        >>> StatisticsChoice.of("auto,words:message").words
        (('message',),)
        >>> StatisticsChoice.of("auto,prefixes:ip").prefixes
        (('ip',),)
        """
        if isinstance(value, StatisticsChoice):
            return value
        entries = value.split(",") if isinstance(value, str) else [*value]
        named = [_named(entry) for entry in entries if entry not in ("auto", "off")]
        is_sound = all(
            len(path) <= MAX_DEPTH and "" not in path and (path or kind == "words")
            for kind, path in named
        )
        if not is_sound or "words:" in entries or ("off" in entries and len(entries) > 1):
            raise UsageError(
                f"invalid paths for statistics: {value!r}",
                hint="off, or auto, paths like actor.id,items[].id, words:message and prefixes:ip",
            )
        paths = [
            tuple(dict.fromkeys(path for kind, path in named if kind == wanted))
            for wanted in ("", "words", "prefixes")
        ]
        return cls("auto" in entries, *paths)


def _named(entry: str | Sequence[str | None]) -> tuple[str, FieldPath]:
    """Return what is wanted of a path, and the path."""
    if entry == "words":
        return "words", ()
    if isinstance(entry, str):
        kind, colon, name = entry.partition(":")
        if colon and kind in ("words", "prefixes"):
            return kind, _path(name)
    return "", _path(entry)


def _path(path: str | Sequence[str | None]) -> FieldPath:
    if not isinstance(path, str):
        return tuple(path)
    names: list[str | None] = []
    for name in path.split(".") if path else ():
        plain = name.rstrip("[]")
        names += [plain, *[None] * name[len(plain) :].count("[]")]
    return tuple(names)


AUTO = StatisticsChoice(is_auto=True)


def warn_absent_paths(asked: str, name: str, trailer: Trailer) -> None:
    """Warn of paths that statistics were asked for and that no row has.

    * ``asked``: What the user has written, see :meth:`StatisticsChoice.of`.
    """
    choice = StatisticsChoice.of(asked)
    warn_unknown([*choice.paths, *choice.words, *choice.prefixes], [(name, trailer)])


def followed(choice: StatisticsChoice, sparse: SparseIndex) -> StatisticsChoice:
    """Return the choice for rows that a packfile grows by: where it has filters they go on."""
    try:
        statistics = sparse.statistics() if choice.is_auto else None
    except CorruptError:
        statistics = None
    if statistics is None:
        return choice
    chosen = ((choice.paths, (TEXTS, INTEGERS)), (choice.words, (WORDS,)))
    paths, words, prefixes = (
        tuple(dict.fromkeys([*own, *(path for path, kind in statistics.sizes if kind in kinds)]))
        for own, kinds in (*chosen, (choice.prefixes, (PREFIXES,)))
    )
    return replace(choice, paths=paths, words=words, prefixes=prefixes)
