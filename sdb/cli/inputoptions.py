"""Options that say how inputs are read: in one parameter of each command that takes some."""

from __future__ import annotations

from sdb.cli.options import (
    Hints,
    NoHive,
    OnError,
    Since,
    TimeFields,
    TimeMode,
    Timezone,
    Until,
)
from sdb.cli.parameters import Option, Together
from sdb.cli.values import content, period, suffix, times
from sdb.errors import UsageError
from sdb.records import record, replace
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.table.definition.alter import ReadingChange
    from sdb.times import Times

AUTO = "auto"
"""The format of inputs that tell theirs by their content, as without the option."""

InputFormat = Annotated[
    str | None,
    Option(
        "--format",
        "-f",
        metavar="SUFFIX",
        help="Format of the inputs: json, csv.gz, combined, regex:PATTERN, ...; "
        "default: auto, by their content.",
    ),
]
RawFormat = Annotated[
    str | None,
    Option(
        "--input-format",
        metavar="SUFFIX",
        help="Format of files that are no packfiles: json, csv.gz, combined, ...; default: by"
        " their content.",
    ),
]
RecordsPath = Annotated[
    str | None,
    Option(
        "--records",
        metavar="PATH",
        help="List of the records in JSON objects: Records, hits.hits, ...; none: the object is a"
        " row; default: by its shape.",
    ),
]
Nested = Annotated[
    list[str] | None,
    Option(
        "--nested",
        metavar="FIELD",
        help="Take apart the texts of this field (a.b) that are JSON, objects or lists."
        " Repeatable.",
    ),
]
Duplicates = Annotated[
    str | None,
    Option(
        "--duplicates",
        metavar="first|last|fail",
        help="What counts where an object of JSON has a name twice, or a header of CSV; default:"
        " the first, and all columns.",
        values=("first", "last", "fail"),
    ),
]
RawTimeField = Annotated[
    str | None,
    Option(
        "--time-field",
        metavar="PATH[:FORM]",
        help="Time field that --since and --until refer to; FORM reads it in files that are no"
        " packfiles: unix, unix_ms, %d/%m/%Y.",
    ),
]
InputOnError = Annotated[
    str,
    Option(
        "--on-error",
        metavar="fail|skip|keep",
        help="Malformed records of inputs that are no packfiles: fail at the first, skip them, or"
        " keep each as a row with its text in `message`.",
        values=("fail", "skip", "keep"),
    ),
]


@record
class InputForm(Together):
    """The format of inputs, and what is said of it."""

    fmt: InputFormat = None
    records: RecordsPath = None
    nested: Nested = None
    duplicates: Duplicates = None

    def given(self) -> dict[str, bool]:
        """Return which of them a command line has, by their flags."""
        said = {"--records": self.records, "--nested": self.nested, "--duplicates": self.duplicates}
        return {flag: value is not None for flag, value in ({"--format": self.fmt} | said).items()}

    def named(self) -> str | None:
        """Return the format as the library knows it, without a dot."""
        return _named(self.fmt, self)


@record
class PatternReading(Together):
    """The way the inputs of patterns are read, as a definition keeps it."""

    form: InputForm = InputForm()
    mode: TimeMode = "all"
    timezone: Timezone = ""
    time_field: TimeFields = None
    on_error: InputOnError = "fail"

    def times(self) -> Times:
        """Return the way times are read."""
        from sdb.times import of_fields

        fields = self.time_field or ()
        times = of_fields(self.mode, self.timezone, fields)
        if len(times.forms) < len(fields):
            raise UsageError(
                "--time-field of a table needs a form", expected="PATH:FORM, as at:unix"
            )
        return times


@record
class ChangedReading(Together):
    """Changes of the way inputs of a definition are read; what is empty stays."""

    form: InputForm = InputForm()
    mode: TimeMode = ""
    timezone: Timezone = ""
    time_field: TimeFields = None
    on_error: InputOnError = ""

    def change(self) -> ReadingChange:
        """Return it as the library knows it."""
        from sdb.table.definition.alter import ReadingChange

        named = PatternReading(timezone=self.timezone, time_field=self.time_field).times()
        return ReadingChange(
            suffix(self.form.fmt) or "",
            self.form.records,
            tuple(self.form.nested or ()),
            self.form.duplicates,
            replace(named, mode=self.mode),
            self.on_error,
        )


@record
class InputReading(Together):
    """The way inputs are read that are packed."""

    form: InputForm = InputForm()
    hints: Hints = None
    time_field: TimeFields = None
    mode: TimeMode = "all"
    timezone: Timezone = ""
    no_hive: NoHive = False
    on_error: OnError = "fail"

    def options(self) -> dict[str, Any]:
        """Return the arguments of :func:`sdb.pack` that they are, without `on_error`."""
        return {
            "hints": content(self.hints),
            "format": self.form.named(),
            "hive": False if self.no_hive else None,
            **times(self.mode, self.timezone, self.time_field),
        }


@record
class RawInput(Together):
    """The way files are read that are no packfiles, and the field of their times."""

    time_field: RawTimeField = None
    input_format: RawFormat = None
    records: RecordsPath = None
    nested: Nested = None
    duplicates: Duplicates = None
    mode: TimeMode = "all"
    timezone: Timezone = ""
    on_error: InputOnError = "fail"

    def reading(self, *bounds: str | None) -> tuple[str | None, RawReading]:
        """Return the path of the time field, and the way files are read.

        * ``bounds``: Of a period: without one a field is named for its form alone.

        >>> raw = RawInput("user.seen", "csv", on_error="skip")
        >>> path, reading = raw.reading("2026-11-28")
        >>> path, reading.format, reading.on_error
        ('user.seen', 'csv', 'skip')
        """
        from sdb.packfile.inputs.rawreading import RawReading
        from sdb.times import field, of_fields

        named = [] if self.time_field is None else [self.time_field]
        times = of_fields(self.mode, self.timezone, named)
        reading = RawReading(_named(self.input_format, self), times, self.on_error)
        if self.time_field is None:
            return None, reading
        path, form = field(self.time_field)
        has_period = any(bound is not None for bound in bounds)
        return (".".join(path) if has_period or not form else None), reading


@record
class RawRows(Together):
    """Rows of a period, also of files that are no packfiles."""

    since: Since = None
    until: Until = None
    raw: RawInput = RawInput()

    def choice(self) -> tuple[dict[str, Any], RawReading]:
        """Return the period as arguments, the same for all that is read, and how files are read."""
        since, until = period(self.since, self.until)
        time_field, reading = self.raw.reading(since, until)
        return {"since": since, "until": until, "time_field": time_field}, reading


def _named(fmt: str | None, said: InputForm | RawInput) -> str | None:
    from sdb import formats

    return suffix(
        formats.said(
            None if fmt == AUTO else fmt,
            records=said.records,
            nested=said.nested or (),
            duplicates=said.duplicates,
        )
    )


FORM = InputForm()
PATTERN_READING = PatternReading()
INPUT_READING = InputReading()
CHANGED = ChangedReading()
RAW = RawInput()
RAW_ROWS = RawRows()
