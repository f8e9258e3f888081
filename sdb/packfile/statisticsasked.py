"""The statistics of a packfile that users ask for."""

from __future__ import annotations

from sdb.errors import CorruptError, UsageError
from sdb.packfile.absent import tell
from sdb.packfile.blockstatistics import INTEGERS, MAX_DEPTH, TEXTS, WORDS
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb.packfile.presence import FieldPath
    from sdb.packfile.sparseindex import SparseIndex
    from sdb.packfile.trailer import Trailer


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
    """

    is_auto: bool
    paths: tuple[FieldPath, ...] = ()
    words: tuple[FieldPath, ...] = ()

    @classmethod
    def of(
        cls, value: StatisticsChoice | str | Iterable[str | Sequence[str | None]]
    ) -> StatisticsChoice:
        """Read what users write.

        Parameters
        ----------
        value : str or iterable of path
            ``off``, or any of ``auto``, paths and ``words:PATH``, with commas between them. Paths
            are texts like ``actor.id`` and ``items[].id``, or tuples of names, in which None stands
            for the elements of a list. ``words`` alone is of the whole row.

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
        """
        if isinstance(value, StatisticsChoice):
            return value
        given = value.split(",") if isinstance(value, str) else [*value]
        named = [one for one in given if one not in ("auto", "off")]
        paths = [_path(one) for one in named if not _is_words(one)]
        words = [_path(str(one)[len("words:") :]) for one in named if _is_words(one)]
        is_sound = all(len(path) <= MAX_DEPTH and "" not in path for path in (*paths, *words))
        if not is_sound or () in paths or "words:" in named or ("off" in given and len(given) > 1):
            raise UsageError(
                f"{value!r} tells no paths for statistics",
                hint="off, or auto, paths like actor.id,items[].id, and words:message",
            )
        return cls("auto" in given, tuple(dict.fromkeys(paths)), tuple(dict.fromkeys(words)))


def _is_words(one: object) -> bool:
    return isinstance(one, str) and (one == "words" or one.startswith("words:"))


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
    tell([*choice.paths, *choice.words], [(name, trailer)])


def followed(choice: StatisticsChoice, sparse: SparseIndex) -> StatisticsChoice:
    """Give the choice for rows that a packfile grows by: where it has filters they go on."""
    try:
        known = sparse.statistics() if choice.is_auto else None
    except CorruptError:
        known = None
    if known is None:
        return choice
    paths = dict.fromkeys(path for path, kind in known.sizes if kind in (TEXTS, INTEGERS))
    words = dict.fromkeys([*choice.words, *(path for path, kind in known.sizes if kind == WORDS)])
    return replace(choice, paths=tuple(dict.fromkeys([*choice.paths, *paths])), words=tuple(words))
