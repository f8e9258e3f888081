"""Options of inputs that are no packfiles, where a command takes both."""

from __future__ import annotations

import os

from sdb import formats
from sdb.errors import UsageError
from sdb.records import record, replace
from sdb.times import ALL, Times, of_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from sdb.packfile.inputs.inputs import Input
    from sdb.store.base import Location


@record
class RawReading:
    """The format of inputs, and the way their times are read."""

    format: str | None = None  # as ``-f`` names it; found out if not given
    times: Times = ALL
    on_error: str = "fail"  # what becomes of malformed records: fail, skip or keep
    is_of_many: bool = False  # whether inputs that are not read may be left out

    def recognised(self, location: Location, version: str = "") -> list[Input]:
        """Find out what an input is, or the files of an archive are.

        See :func:`sdb.packfile.inputs.inputs.recognise_each`.
        """
        # Loaded for inputs alone: commands that read packfiles make this record, too.
        from sdb.packfile.inputs.inputs import NOT_READ, Input
        from sdb.packfile.inputs.recognised import check_refused, understood

        sources, refused = understood(location, self.format, version=version)
        try:
            check_refused(refused, sources, self.on_error, may_be_none=self.is_of_many)
        except NOT_READ as error:
            import re

            # Commands that take packfiles, too, have another name for the option.
            hint = re.sub(r"(?<!\S)-f (?=['\w])", "--input-format ", error.hint or "")
            leaves_out = "on_error => 'skip' in read_file() leaves it out; "
            error.hint = f"{leaves_out if self.is_of_many else ''}{hint}"
            raise
        sources = sources or [Input(os.fspath(location), "json", source=_nothing)]
        return [
            source
            if source.is_packfile
            else replace(source, times=self.times, on_error=self.on_error)
            for source in sources
        ]

    def texts(self) -> list[str]:
        """Return what differs from the usual, as texts."""
        named = [] if self.format is None else [self.format]
        action = [] if self.on_error == "fail" else [self.on_error, str(self.is_of_many)]
        return [*named, *self.times.texts(), *action]


def _nothing() -> Generator[bytes]:
    yield from ()


USUAL = RawReading()
ACTIONS = ("fail", "skip", "keep")
"""Malformed records are an error; passed over; or rows whose field `message` has the text."""

OPTIONS = (
    "format",
    "records",
    "columns",
    "nested",
    "duplicates",
    "on_error",
    "times",
    "timezone",
    "time_field",
)


def check_action(action: str) -> str:
    """Return an action, which must be known. Raises `UsageError` if it is not."""
    if action not in ACTIONS:
        raise UsageError(f"unknown choice {action!r} for on_error", expected=", ".join(ACTIONS))
    return action


def of_options(options: Iterable[tuple[str, str]]) -> RawReading:
    """Return what the options of ``read_file`` say.

    Raises `UsageError` if one is unknown, given twice, or has a value that it cannot have.

    >>> reading = of_options([("format", "combined"), ("on_error", "skip")])
    >>> reading.format, reading.on_error
    ('combined', 'skip')
    >>> of_options([("records", "hits.hits")]).format
    'json:records=hits.hits'
    """
    values: dict[str, str] = {}
    for name, value in options:
        if name not in OPTIONS:
            raise UsageError(
                f"read_file() has no option {name!r}", hint=f"options: {', '.join(OPTIONS)}"
            )
        if name in values:
            raise UsageError(f"read_file(): {name} is given twice")
        values[name] = value
    action, named = values.get("on_error", "fail"), values.get("format")
    if "columns" in values:
        named = formats.with_option(named, "csv", f"columns={values['columns']}")
    nested = [values["nested"]] if "nested" in values else []
    named = formats.said(
        named,
        records=values.get("records"),
        nested=nested,
        duplicates=values.get("duplicates"),
    )
    if named is not None:
        formats.input_named(named)
    fields = [values["time_field"]] if "time_field" in values else []
    times = of_fields(values.get("times", "all"), values.get("timezone", ""), fields)
    return RawReading(named, times, check_action(action))
