"""Words: what texts hold, and which blocks have none of it.

A filter of words has pieces of all texts at a path and inside of the values there; that of the path
without a name has those of the whole row. Whatever holds a text has all of its pieces, so that a
filter answers for any part of a text. Beside it is a filter of joints, which are pieces with a dot
or another sign in them; packfiles of older versions have none, and so does a text without them. See
the section on statistics in docs/format.md.
"""

from __future__ import annotations

from itertools import chain, product, zip_longest

from sdb.packfile.prune.predicate import Anywhere, Both, Either, TextWords
from sdb.packfile.trailer.blockstats import JOINTS, WORDS
from sdb.records import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sdb._core import _Needed
    from sdb.packfile.prune.predicate import Predicate
    from sdb.packfile.trailer.blockstats import BlockStatistics
    from sdb.packfile.trailer.fieldcounts import FieldPath
    from sdb.packfile.trailer.ribbonslices import SlicedFilter

_MOST_ASKED = 16
_MOST_I = 4
# What some readers put in the place of bytes that are no text.
_REPLACED = "\ufffd"


def wanted(
    path: FieldPath,
    patterns: Sequence[str],
    *,
    fixed: bool = False,
    ignore_case: bool = False,
    is_deep: bool = False,
    words: str = "",
) -> Predicate:
    r"""Return what has to be in a text in which a pattern matches.

    * ``path``: Where the text is; the path without a name is the row.
    * ``patterns``: Regular expressions of RE2, any of which has to match.
    * ``fixed``: Whether they are texts to be found as they are.
    * ``is_deep``: Whether texts inside of the value at the path count, too.

    Returns: TRUE for each row with a match, and possibly for others.

    >>> str(wanted(("message",), [r"time\s?out|refused"]))
    'Anywhere(span=None)'
    >>> str(wanted(("message",), [r"timeout \d+ms"]))
    "message has 'timeout '"
    """
    from sdb import _core

    needed = _core.needed_texts(list(patterns), fixed=fixed, ignore_case=ignore_case)
    # With several texts, each is a separate condition.
    shown = words if isinstance(needed, str) else ""
    return _predicate(needed, TextWords(path, (), shown, is_deep))


def _predicate(needed: _Needed, test: TextWords) -> Predicate:
    match needed:
        case None:
            return Anywhere()
        case str():
            return replace(test, texts=(needed,))
        case tuple():
            return Either(tuple([_predicate(piece, test) for piece in needed]))
        case _:
            return Both(tuple([_predicate(piece, test) for piece in needed]))


def pieces(texts: Sequence[str], kind: int = WORDS) -> list[int]:
    """Return pieces that a text which holds all of some texts has: some of them are enough.

    * ``kind``: The kind of filter that is asked, `WORDS` or `JOINTS`.
    """
    from sdb import _core

    cut = _core.text_joints if kind == JOINTS else _core.text_ngrams
    parts = [part for text in texts for part in text.split(_REPLACED)]
    pieces_of = [cut(part.encode("utf-8", "surrogatepass")) for part in parts]
    different = [*dict.fromkeys(piece for part_pieces in pieces_of for piece in part_pieces)]
    return different[:: -(-len(different) // _MOST_ASKED) or 1]


def forms(test: TextWords, kind: int = WORDS) -> Iterator[list[int]]:
    """Yield pieces of the forms of what a test asks for: a text that passes has all of one form.

    Of the first letters i each may be another letter; at more of them the texts end.
    """
    if not test.i_form:
        yield pieces(test.texts, kind)
        return
    first, *others = _REPLACED.join(test.texts).replace("I", "i").split("i")
    for letters in product(("i", test.i_form), repeat=min(len(others), _MOST_I)):
        following = chain.from_iterable(zip_longest(letters, others, fillvalue=_REPLACED))
        yield pieces([first + "".join(following)], kind)


def filters(
    statistics: BlockStatistics, test: TextWords
) -> Iterator[tuple[SlicedFilter, list[list[int]]]]:
    """Iterate over the filters that have the words of the texts at a path, with what to ask them.

    What is inside of a value is in the filter of that value, too.
    """
    for kind in (WORDS, JOINTS):
        asked = [*forms(test, kind)]
        if not all(asked):
            continue  # a text of which the filter knows nothing may be anywhere
        for depth in range(len(test.path), -1, -1):
            path = test.path[:depth]
            held = statistics.words(path) if kind == WORDS else statistics.joints(path)
            if held is not None:
                yield held, asked
