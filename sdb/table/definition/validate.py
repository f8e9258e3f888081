"""Checks of a definition when it is made: all problems at once."""

from __future__ import annotations

import json

from sdb import formats
from sdb.errors import InputError, UsageError
from sdb.lake.names import is_lake_input, lake_input
from sdb.packfile.build.options import StatisticsChoice
from sdb.packfile.inputs.archives import ENDINGS
from sdb.packfile.inputs.rawreading import ACTIONS
from sdb.packfile.inputs.unpacking import UNPACKED
from sdb.packfile.rewrite.cuts import cluster_paths
from sdb.table.definition.definition import BETA_FEATURES, INPUT_MEMBERS, MEMBERS, Definition
from sdb.table.definition.partition import TYPES
from sdb.table.definition.timespan import MEMBERS as RETENTION_MEMBERS
from sdb.table.definition.upkeep import EXPORT_MEMBERS
from sdb.table.definition.upkeep import MEMBERS as UPKEEP_MEMBERS
from sdb.table.inputs.pattern import InputPattern
from sdb.table.schema.columns import TableSchema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sdb.table.definition.definition import InputRule
    from sdb.table.definition.partition import PartitionField
    from sdb.table.inputs.pattern import PatternPart

FORMATS = formats.in_definitions()
_ENDINGS = [name for name in FORMATS if formats.of_name(f".{name}")[0] is not None]
_MEMBERS = {
    "": MEMBERS,
    "input.": INPUT_MEMBERS,
    "partitions.": ("field", "type", "value"),
    "retention_policy.": RETENTION_MEMBERS,
    "versions.": ("keep_last", "keep_for", "thin"),
    "upkeep.": UPKEEP_MEMBERS,
    "exports.": EXPORT_MEMBERS,
}
# Names of inputs whose content tells the format
_UNPACKED_ENDINGS = (*ENDINGS, *[entry.suffix for entry in UNPACKED])


def format_of(name: str) -> str | None:
    """Return the format by the ending of an input's name.

    Returns: The longest of the endings that the name has; None: it has none of them.

    >>> format_of("a.cloudtrail.json.gz"), format_of("json")
    ('cloudtrail.json.gz', None)
    """
    fitting = [ending for ending in _ENDINGS if name.endswith(f".{ending}")]
    return max(fitting, key=len, default=None)


def check(definition: Definition, *, is_remote: bool, needs_input: bool = True) -> Definition:
    """Require a definition that a sync can work with.

    * ``is_remote``: Whether the root is an S3 bucket.
    * ``needs_input``: Whether it must have inputs, which a table of rows of `insert` need not.

    Raises `UsageError` if it cannot; the message has all reasons.
    """
    if flaws := problems(definition, is_remote=is_remote, needs_input=needs_input):
        raise UsageError("; ".join(flaws))
    return definition


def problems(definition: Definition, *, is_remote: bool, needs_input: bool = True) -> list[str]:
    """Report all that is wrong with a definition; nothing: it is good.

    * ``is_remote``: Whether the root is an S3 bucket.
    """
    flaws = [_unknown(member) for member in definition.unknown]
    captures: list[set[str]] = []
    if needs_input and not definition.inputs:
        flaws.append("it has no input: nothing would ever be taken")
    for rule in definition.inputs:
        flaws += _rule(rule, is_remote=is_remote, captures=captures)
    flaws += _partitions(definition.partitions, captures)
    flaws += _retention(definition)
    flaws += [flaw for policy in definition.exports for flaw in policy.flaws()]
    if definition.cluster_by:
        try:
            cluster_paths(definition.cluster_by)
        except UsageError as error:
            flaws.append(f"cluster_by: {error.message}")
    for name in definition.beta_features:
        if name not in BETA_FEATURES:
            flaws.append(f"unknown beta feature {name!r}{_did_you_mean(name, BETA_FEATURES)}")
    try:
        StatisticsChoice.of(definition.statistics)
    except UsageError as error:
        flaws.append(f"stats: {error.message}")
    if definition.schema:
        try:
            TableSchema.loads(definition.schema)
        except InputError as error:
            flaws.append(f"schema: {error.message}")
    return flaws


def _unknown(member: str) -> str:
    where, dot, name = member.rpartition(".")
    members = _MEMBERS.get(where + dot, ())
    return f"unknown member {member!r}{_did_you_mean(name, members)}"


def _rule(rule: InputRule, *, is_remote: bool, captures: list[set[str]]) -> Iterator[str]:
    """Report what is wrong with a pattern, and keep its captures."""
    if not rule.pattern:
        yield "an input without a pattern"
        return
    if rule.on_error not in {"", *ACTIONS}:
        meant = _did_you_mean(rule.on_error, ACTIONS)
        yield f"the inputs {rule.pattern!r}: unknown choice {rule.on_error!r} of on_error{meant}"
    if is_lake_input(rule.pattern):
        yield from _lake(rule, is_remote=is_remote)
        return
    yield from _location(rule.pattern, is_remote=is_remote)
    try:
        pattern = InputPattern.parse(rule.pattern)
    except UsageError as error:
        yield error.message
        return
    yield from (f"bad pattern {rule.pattern!r}: {flaw}" for flaw in pattern.flaws())
    captures.append(set(pattern.captures))
    yield from _format(rule, pattern.parts[-1])


def _lake(rule: InputRule, *, is_remote: bool) -> Iterator[str]:
    """Report what is wrong with a rule that names a Delta or Iceberg table."""
    try:
        _, uri = lake_input(rule.pattern)
    except UsageError as error:
        yield f"{error.message}: {error.hint}"
        return
    scheme, _, path = uri.partition("://")
    wanted = "s3" if is_remote else "file"
    if scheme != wanted:
        above = f"{rule.pattern.partition('+')[0]}+{wanted}://"
        yield f"the pattern {rule.pattern!r} does not begin with {above}"
    elif path.startswith("/") or not path:
        yield f"the pattern {rule.pattern!r} names no folder below the root"
    if rule.format or rule.hints not in {None, "null"}:
        what = "a format" if rule.format else "hints"
        yield f"the pattern {rule.pattern!r} has {what}: its files are Parquet"


def _location(pattern: str, *, is_remote: bool) -> Iterator[str]:
    scheme = "s3://" if is_remote else "file://"
    above, mark, path = pattern.partition("://")
    if f"{above}{mark}" != scheme:
        yield f"the pattern {pattern!r} does not begin with {scheme}"
    elif path.startswith("/") and not is_remote:
        yield f"the pattern {pattern!r} begins with /: paths start at the root, as in file://in/*"
    elif path.startswith("/") or not path:
        yield f"the pattern {pattern!r} names no {'bucket' if is_remote else 'path'}"
    elif is_remote and not set(path.partition("/")[0]).isdisjoint("*?[{\\"):
        yield f"the pattern {pattern!r} has a wildcard in the name of the bucket"


def _format(rule: InputRule, last: PatternPart) -> Iterator[str]:
    """Report what is wrong with a format, given or by the ending of names."""
    name = rule.format or format_of(rule.pattern) or ""
    is_open = _is_open(rule.pattern) or rule.pattern.endswith(_UNPACKED_ENDINGS)
    word, has_options, _ = rule.format.partition(":")
    if has_options and word in {formats.FOUND, formats.PATTERN, *FORMATS}:
        yield from _parser(rule.format)
    elif rule.format and rule.format not in FORMATS:
        yield f"unknown format {rule.format!r}{_did_you_mean(rule.format, FORMATS)}"
    elif not name and (meant := _misspelt(last.text)) and not is_open:
        yield f"no format has names that end in {last.text!r}{meant}"
    elif not name and not last.wildcard and "." not in last.text and not is_open:
        yield f"the pattern {rule.pattern!r} has no ending of a format, and no format is given"
    if (
        not has_options
        and name.partition(".")[0] in {"csv", "tsv"}
        and rule.hints in {None, "null"}
    ):
        yield (
            f"the inputs {rule.pattern!r} are {name}, which needs hints: names and types of its "
            f"columns (docs/definition.md), or the format {name}:header=yes"
        )
    if rule.hints not in {None, "null"} and not isinstance(json.loads(rule.hints or ""), dict):
        yield f"the hints of {rule.pattern!r} are not an object"
    try:
        _ = rule.reading
    except UsageError as error:
        yield f"the times of {rule.pattern!r}: {error.message}"


def _misspelt(text: str) -> str:
    """Return a suggestion for an ending that nearly names a format; of all others content tells."""
    ending = text.rpartition("/")[2].partition(".")[2]
    is_known = any(text.endswith(form.suffixes) for form in formats.FORMATS if form.is_input)
    return "" if is_known else _did_you_mean(ending, _ENDINGS, 0.8)


def _parser(named: str) -> Iterator[str]:
    """Report what is wrong with ``regex:PATTERN``, or with options behind a format."""
    from sdb._core import Packer

    try:
        with Packer(algorithm="zstd", threads=1) as packer:
            by_name, options = formats.found_or_named(named)
            parser = formats.with_options("json", options, "") if by_name is None else by_name[0]
            packer.begin("", formats.taken_apart(parser)[0], "none", None)
    except UsageError as error:
        yield error.message


def _is_open(pattern: str) -> bool:
    """Return whether a class or a question mark leaves the end of names open."""
    return not set(pattern[-3:]).isdisjoint("?]")


def _partitions(fields: Iterable[PartitionField], captures: list[set[str]]) -> Iterator[str]:
    names: set[str] = set()
    for field in fields:
        if not field.field:
            yield "empty partition name"
            continue
        if field.field in names:
            yield f"duplicate partition name {field.field!r}"
        names.add(field.field)
        if field.type and field.type not in TYPES:
            meant = _did_you_mean(field.type, TYPES)
            yield f"the partition {field.field}: invalid type {field.type!r}{meant}"
        try:
            needed = field.captures()
        except UsageError as error:
            yield f"the partition {field.field}: {error.message}"
            continue
        for name in sorted(needed):
            if missing := [at for at, names in enumerate(captures, 1) if name not in names]:
                where = f"pattern {missing[0]}" if len(captures) > 1 else "the pattern"
                meant = _did_you_mean(name, set().union(*captures))
                yield f"the partition {field.field}: no capture {name!r} in {where}{meant}"


def _retention(definition: Definition) -> Iterator[str]:
    policy = definition.retention
    if policy is not None:
        if not policy.field:
            yield "retention_policy.field is missing: no row would ever expire"
        if str(policy.valid_for) == "0d":
            yield "retention_policy.valid_for is missing"


def _did_you_mean(name: str, known_names: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a suggestion for a name that is not known."""
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(known_names), 1, cutoff)
    return f", did you mean {close[0]}?" if close else ""
