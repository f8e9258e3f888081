"""Options that say how inputs are read: in one parameter of each command that takes some."""

from __future__ import annotations

from sdb.cli.options import TimeFields, TimeMode, Timezone  # noqa: TC001 - evaluated
from sdb.cli.parameters import Option, Together
from sdb.cli.values import suffix
from sdb.errors import UsageError
from sdb.records import record, replace
from sdb.typed import Annotated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.packfile.inputs.rawreading import RawReading
    from sdb.table.definition.alter import ReadingChange
    from sdb.times import Times

InputFormat = Annotated[
    str | None,
    Option(
        "--format",
        "-f",
        metavar="SUFFIX",
        help="Format of the inputs: json, csv.gz, combined, regex:PATTERN, ...; "
        "default: by their content.",
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

    mode: TimeMode = ""
    timezone: Timezone = ""
    time_field: TimeFields = None
    on_error: InputOnError = ""

    def of(self, form: InputForm) -> ReadingChange:
        """Return it as the library knows it, with the format of inputs that is named beside it."""
        from sdb.table.definition.alter import ReadingChange

        named = PatternReading("all", self.timezone, self.time_field).times()
        return ReadingChange(
            suffix(form.fmt) or "",
            form.records,
            tuple(form.nested or ()),
            form.duplicates,
            replace(named, mode=self.mode),
            self.on_error,
        )


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

        Examples
        --------
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


def _named(fmt: str | None, said: InputForm | RawInput) -> str | None:
    from sdb import formats

    return suffix(
        formats.said(
            fmt,
            records=said.records,
            nested=said.nested or (),
            duplicates=said.duplicates,
        )
    )


FORM = InputForm()
READING = PatternReading()
CHANGED = ChangedReading()
RAW = RawInput()
