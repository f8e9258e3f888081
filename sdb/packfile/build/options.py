"""The statistics of a packfile that users ask for."""

from __future__ import annotations

from sdb.errors import CorruptError, UsageError
from sdb.packfile.prune.unknownfields import tell
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
    """The paths that shall have statistics.

    Attributes
    ----------
    is_auto : bool
        Whether those are chosen that are worth it.
    paths : tuple of path
        These have them in any case.
    words : tuple of path
        Of these there are filters of words; the path without a name is the row.
    prefixes : tuple of path
        Of these there are filters of the prefixes of addresses.
    """

    is_auto: bool
    paths: tuple[FieldPath, ...] = ()
    words: tuple[FieldPath, ...] = ()
    prefixes: tuple[FieldPath, ...] = ()

    @classmethod
    def of(
        cls, value: StatisticsChoice | str | Iterable[str | Sequence[str | None]]
    ) -> StatisticsChoice:
        """Read what users write.

        Parameters
        ----------
        value : str or iterable of path
            ``off``, or any of ``auto``, paths, ``words:PATH`` and ``prefixes:PATH``, with commas
            between them. Paths are texts like ``actor.id`` and ``items[].id``, or tuples of names,
            in which None stands for the elements of a list. ``words`` alone is of the whole row.

        Returns
        -------
        StatisticsChoice
            What is meant.

        Raises
        ------
        UsageError
            A path without a name.

        Examples
        --------
        >>> StatisticsChoice.of("actor.id,items[].id").paths
        (('actor', 'id'), ('items', None, 'id'))
        >>> StatisticsChoice.of("auto,words:message").words
        (('message',),)
        >>> StatisticsChoice.of("auto,prefixes:ip").prefixes
        (('ip',),)
        """
        if isinstance(value, StatisticsChoice):
            return value
        given = value.split(",") if isinstance(value, str) else [*value]
        named = [_named(one) for one in given if one not in ("auto", "off")]
        is_sound = all(
            len(path) <= MAX_DEPTH and "" not in path and (path or kind == "words")
            for kind, path in named
        )
        if not is_sound or "words:" in given or ("off" in given and len(given) > 1):
            raise UsageError(
                f"{value!r} tells no paths for statistics",
                hint="off, or auto, paths like actor.id,items[].id, words:message and prefixes:ip",
            )
        found = [
            tuple(dict.fromkeys(path for kind, path in named if kind == wanted))
            for wanted in ("", "words", "prefixes")
        ]
        return cls("auto" in given, *found)


def _named(given: str | Sequence[str | None]) -> tuple[str, FieldPath]:
    """Give what is wanted of a path, and the path."""
    if given == "words":
        return "words", ()
    if isinstance(given, str):
        kind, colon, name = given.partition(":")
        if colon and kind in ("words", "prefixes"):
            return kind, _path(name)
    return "", _path(given)


def _path(given: str | Sequence[str | None]) -> FieldPath:
    if not isinstance(given, str):
        return tuple(given)
    names: list[str | None] = []
    for name in given.split(".") if given else ():
        plain = name.rstrip("[]")
        names += [plain, *[None] * name[len(plain) :].count("[]")]
    return tuple(names)


AUTO = StatisticsChoice(is_auto=True)


def tell_absent(asked: str, name: str, trailer: Trailer) -> None:
    """Warn of paths that statistics were asked for and that no row has.

    Parameters
    ----------
    asked : str
        What the user has written, see :meth:`StatisticsChoice.of`.
    name : str
        Name of the packfile.
    trailer : Trailer
        Its trailer.
    """
    choice = StatisticsChoice.of(asked)
    tell([*choice.paths, *choice.words, *choice.prefixes], [(name, trailer)])


def followed(choice: StatisticsChoice, sparse: SparseIndex) -> StatisticsChoice:
    """Give the choice for rows that a packfile grows by: where it has filters they go on."""
    try:
        known = sparse.statistics() if choice.is_auto else None
    except CorruptError:
        known = None
    if known is None:
        return choice
    chosen = ((choice.paths, (TEXTS, INTEGERS)), (choice.words, (WORDS,)))
    paths, words, prefixes = (
        tuple(dict.fromkeys([*own, *(path for path, kind in known.sizes if kind in kinds)]))
        for own, kinds in (*chosen, (choice.prefixes, (PREFIXES,)))
    )
    return replace(choice, paths=paths, words=words, prefixes=prefixes)
