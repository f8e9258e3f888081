"""Findings in the values of inputs: times that were cut, forms that fit nothing, columns."""

from __future__ import annotations

from sdb import formats, notes, sizes
from sdb.packfile.trailer.trailer import FILLED_BYTES
from sdb.packfile.write.malformed import Malformed, lines_of
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sdb._core import Packer
    from sdb.packfile.inputs.inputs import Input
    from sdb.packfile.trailer.sparseindex import Path

    # Of a column: name, type, values that departed, how many of the sample have the type
    Column = tuple[str, str, int, tuple[int, int] | None]

_TIMES = 1 << 6  # timestamps of Ion, as a bit of types
_OBJECTS = 1 << 13  # structs
_MOST_NOTES = 5  # on columns; the others are counted
_MOST_KEPT = 1000  # inputs and columns: more are no news


@record
class Opened:
    """An input whose rows are records in objects."""

    path: str  # of their list
    name: str  # of the input
    rows: int
    beside: tuple[str, ...]  # some names of what stands beside the list


@record
class Findings:
    """Findings in the values of inputs.

    Attributes
    ----------
    cut_times : int
        Times that have digits beyond microseconds.
    unfitted : frozenset of path
        Fields of which no value has the form that was told for its times.
    is_year_guessed : bool
        Whether times had no year.
    is_overridden : bool
        Whether rows have a field of the name of a folder.
    replaced_texts : int
        Texts with bytes that are no UTF-8.
    damages : tuple
        Inputs that are damaged behind the rows that were packed, each with what is wrong.
    opened : tuple
        Inputs whose rows are records in objects, see `Opened`.
    headerless : tuple of str
        Inputs whose first row has values and no names.
    columns : tuple
        Columns whose values have several types, each with its input.
    is_zone_unknown : bool
        Whether times of logs have zones whose names say no offset.
    strays : int
        Rows made of lines of logs that begin no record and follow none.
    malformed : tuple of Malformed
        Inputs with malformed records that nobody else was told of.
    dropped_values : int
        Values that do not count, since their object has the name twice.
    kept_whole : int
        Texts of fields that are taken apart as JSON, which are no objects or lists of it.
    not_unfolded : int
        Objects that were to be unfolded, see `rust/zion/src/pack/unfold.rs`, and have another form.
    wrapped : tuple of pair of str
        Inputs that are one object with a list of objects, and the name of the list.
    largest_chunk : int
        Decompressed size of the largest chunk in bytes; of a row above 1 MiB that of its own.
    renamed : tuple
        Inputs, names that several of their columns have, and what the later ones are called.
    """

    cut_times: int = 0
    unfitted: frozenset[Path] = frozenset()
    is_year_guessed: bool = False
    is_overridden: bool = False
    replaced_texts: int = 0
    damages: tuple[tuple[str, str], ...] = ()
    opened: tuple[Opened, ...] = ()
    headerless: tuple[str, ...] = ()
    columns: tuple[tuple[str, Column], ...] = ()
    is_zone_unknown: bool = False
    strays: int = 0
    malformed: tuple[Malformed, ...] = ()
    dropped_values: int = 0
    renamed: tuple[tuple[str, str, str], ...] = ()
    largest_chunk: int = 0
    kept_whole: int = 0
    not_unfolded: int = 0
    wrapped: tuple[tuple[str, str], ...] = ()

    def tell(self) -> None:
        """Warn of it."""
        if self.is_overridden:
            notes.warn("rows that have a field of the name of a folder keep their own value")
        if self.cut_times:
            what = "1 time has" if self.cut_times == 1 else f"{self.cut_times:,} times have"
            notes.warn(f"{what} digits beyond microseconds, which are cut off")
        for path in sorted(self.unfitted):
            notes.warn(f"no value of {'.'.join(path)} has the form that was told for it")
        if self.is_year_guessed:
            notes.warn("times without a year are in the last year that fits, and in UTC")
        if self.is_zone_unknown:
            notes.warn(
                "the names of time zones in `zone` say no offset, and times are taken for UTC"
                " (--timezone Europe/Berlin says otherwise)"
            )
        if self.strays:
            rows = "1 row has lines" if self.strays == 1 else f"{self.strays:,} rows have lines"
            notes.warn(
                f"{rows} that begin no record and follow none, as `message`"
                " (--on-error skip leaves them out)"
            )
        if self.headerless:
            others = f" and {len(self.headerless) - 1} others" if self.headerless[1:] else ""
            notes.warn(
                f"{self.headerless[0]}{others}: the first row has values and no names, so columns"
                " are c0, c1 ... (-f csv:header=yes takes it for names)"
            )
        for line in (*lines_of(self.malformed), *self._damage_lines(), *self._column_lines()):
            notes.warn(line)
        for line in self._opened_lines():
            notes.tell(line, is_detail=False)

    def tell_chunks(self, known_bytes: int) -> None:
        """Warn of chunks that are larger than others read.

        * ``known_bytes``: What chunks of the packfile had before.
        """
        if self.largest_chunk > max(known_bytes, FILLED_BYTES):
            size, usual = sizes.human(self.largest_chunk), sizes.human(FILLED_BYTES)
            notes.warn(
                f"a row takes {size}: queries of the original read chunks of {usual}, and not this"
                f" packfile (--max-row {usual.replace(' ', '')} takes no such rows)"
            )

    def _damage_lines(self) -> list[str]:
        lines = []
        if self.replaced_texts:
            texts = _counted(self.replaced_texts, "text")
            lines.append(f"{texts} not UTF-8: the bytes that are none became U+FFFD")
        if self.dropped_values:
            values = _counted(self.dropped_values, "value")
            lines.append(
                f"{values} dropped, since an object has the name twice"
                " (--duplicates first, last or fail; first if not given)"
            )
        if self.kept_whole:
            texts = _counted(self.kept_whole, "text")
            stays = "stays" if self.kept_whole == 1 else "stay"
            lines.append(f"{texts} no object or list of JSON, and {stays} (--nested)")
        if self.not_unfolded:
            objects = _counted(self.not_unfolded, "object")
            lines.append(f"{objects} not of the form that -f says, and read as other JSON")
        for name, damage in self.damages[:_MOST_NOTES]:
            lines.append(f"{name}: {damage}; the rows before that are packed")
        if self.damages[_MOST_NOTES:]:
            more = f"{len(self.damages) - _MOST_NOTES:,} more inputs"
            lines.append(f"{more} are damaged; their rows before that are packed")
        return lines

    def _opened_lines(self) -> list[str]:
        lines = []
        if self.wrapped:
            name, field = self.wrapped[0]
            others = f" and {len(self.wrapped) - 1:,} more" if self.wrapped[1:] else ""
            text = f"{name}{others}: one row, with a list of objects in {field}"
            lines.append(f"{text} (--records {field}: a row for each)")
        for path in dict.fromkeys(entry.path for entry in self.opened):
            entries = [entry for entry in self.opened if entry.path == path]
            rows = sum(entry.rows for entry in entries)
            count = sizes.counted(rows, "row")
            others = f" and {len(entries) - 1:,} more" if entries[1:] else ""
            beside = ", ".join(entries[0].beside)
            without = f", without {beside} beside them" if beside else ""
            if not path:
                lines.append(f"{count} of {entries[0].name}{others}{without} (-f json keeps all)")
                continue
            text = f"{count} from {path} of {entries[0].name}{others}{without}"
            lines.append(f"{text} (--records none keeps the object as a row)")
        return lines

    def _column_lines(self) -> list[str]:
        lines = []
        for name, (column, kind, departed, sample) in self.columns[:_MOST_NOTES]:
            if sample is None:
                what = sizes.counted(departed, "value")
                verb, stays = ("is", "stays text") if departed == 1 else ("are", "stay texts")
                lines.append(f"{name}: {what} of {column} {verb} no {kind}, and {stays}")
            else:
                fitting, values = sample
                lines.append(
                    f"{name}: {column} is text, since only {fitting:,} of the first {values:,}"
                    f" values are {kind} (-f csv:columns={column}:{kind} takes those as such)"
                )
        for input_name, twice, called in self.renamed[:_MOST_NOTES]:
            lines.append(
                f"{input_name}: several columns are called {twice}, and the later one is {called}"
                " (--duplicates first, last or fail)"
            )
        if self.renamed[_MOST_NOTES:]:
            others = sizes.counted(len(self.renamed) - _MOST_NOTES, "more column")
            lines.append(f"{others} had the names of others")
        if self.columns[_MOST_NOTES:]:
            more = len(self.columns) - _MOST_NOTES
            lines.append(f"{more:,} more columns have values of several types")
        return lines


def _counted(count: int, what: str) -> str:
    """Return the subject of a sentence with its verb.

    >>> _counted(1, "value"), _counted(2000, "value")
    ('1 value is', '2,000 values are')
    """
    return f"{sizes.counted(count, what)} {'is' if count == 1 else 'are'}"


def tell_forms(sources: Iterable[Input]) -> None:
    """Say which inputs were found to be logs, and of which form."""
    names: dict[str, list[str]] = {}
    for source in sources:
        if source.log:
            names.setdefault(source.log, []).append(source.name)
        elif fields := ", ".join(".".join(path) for path, _ in source.forms if path):
            text = f"{source.name}: {fields} of the journal read as times (--times none: texts)"
            notes.tell(text, is_detail=False)
    for form, files in names.items():
        others = f" and {len(files) - 1:,} more" if files[1:] else ""
        text = f"{files[0]}{others}: read as {formats.get(form).title} (-f {form})"
        notes.tell(text, is_detail=False)


def findings_of(
    packer: Packer, sources: Sequence[Input], malformed: Iterable[Malformed]
) -> Findings:
    """Return what a packer found in the inputs, once all rows were taken.

    * ``malformed``: The malformed records that nobody else was told of.
    """
    unfitted = set(packer.unfitted)
    for text in dict.fromkeys(source.hints for source in sources if source.hints is not None):
        from sdb.packfile.inputs.hintedtimes import hinted_times

        types = packer.types[0]
        unfitted |= {path for path in hinted_times(text) if not types.get(path, 0) & _TIMES}
    return Findings(
        packer.cut_times,
        frozenset(unfitted if packer.rows else ()),
        packer.has_guessed_year,
        packer.is_overridden,
        packer.replaced_texts,
        tuple(packer.damages),
        _opened(packer, sources),
        tuple(packer.headerless),
        tuple((name, tuple(column)) for name, *column in packer.column_notes),  # type: ignore[misc]
        packer.has_unknown_zone,
        packer.strays,
        tuple(malformed)[:_MOST_KEPT],
        packer.dropped_values,
        tuple(packer.renamed_columns),
        packer.largest_chunk,
        packer.kept_whole,
        packer.not_unfolded,
        _wrapped(packer, sources),
    )


def _wrapped(packer: Packer, sources: Sequence[Input]) -> tuple[tuple[str, str], ...]:
    """Return the inputs that are one object each, if all are, with their only list of objects."""
    if packer.rows != len(sources) or not all(source.format == "json" for source in sources):
        return ()
    lists = [
        field.path[0]
        for field in packer.fields[0]
        if len(field.path) == 2 and field.path[1] is None and field.types & _OBJECTS  # noqa: PLR2004
    ]
    return tuple([(source.name, lists[0] or "") for source in sources]) if len(lists) == 1 else ()


def _opened(packer: Packer, sources: Sequence[Input]) -> tuple[Opened, ...]:
    beside = {name: tuple(names) for name, names in packer.left_out}
    entries = []
    for source, (rows, *_) in zip(sources, packer.inputs, strict=True):
        path = formats.option_of(source.format, "records")
        if source.format.partition(":")[0] in formats.UNFOLDED:
            path = ""  # of several lists
        if path not in {None, "none"} and (path or beside.get(source.name)):
            entries.append(Opened(path, source.name, rows, beside.get(source.name, ())))
    return tuple(entries)


def together(parts: Iterable[Findings]) -> Findings:
    """Return what several packers found: a form is unfitted if no value of any of them has it.

    >>> one, other = Findings(cut_times=2, unfitted=frozenset([("at",)])), Findings(cut_times=1)
    >>> together([one, other]).cut_times, together([one, other]).unfitted
    (3, frozenset())
    """
    every = list(parts)
    return Findings(
        sum(part.cut_times for part in every),
        frozenset.intersection(*(part.unfitted for part in every)) if every else frozenset(),
        any(part.is_year_guessed for part in every),
        any(part.is_overridden for part in every),
        sum(part.replaced_texts for part in every),
        tuple(damage for part in every for damage in part.damages)[:_MOST_KEPT],
        tuple(entry for part in every for entry in part.opened)[:_MOST_KEPT],
        tuple(dict.fromkeys(name for part in every for name in part.headerless))[:_MOST_KEPT],
        tuple(column for part in every for column in part.columns)[:_MOST_KEPT],
        any(part.is_zone_unknown for part in every),
        sum(part.strays for part in every),
        tuple(records for part in every for records in part.malformed)[:_MOST_KEPT],
        sum(part.dropped_values for part in every),
        tuple(dict.fromkeys(entry for part in every for entry in part.renamed))[:_MOST_KEPT],
        max((part.largest_chunk for part in every), default=0),
        sum(part.kept_whole for part in every),
        sum(part.not_unfolded for part in every),
        tuple(entry for part in every for entry in part.wrapped)[:_MOST_KEPT],
    )
