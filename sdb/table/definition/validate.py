"""All that is wrong with a definition, told at once, when it is made."""

from __future__ import annotations

import json

from sdb.errors import UsageError
from sdb.packfile.build.options import StatisticsChoice
from sdb.packfile.rewrite.cuts import cluster_paths
from sdb.table.definition.definition import BETA_FEATURES, MEMBERS, Definition
from sdb.table.definition.partition import TYPES
from sdb.table.inputs.pattern import InputPattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sdb.table.definition.definition import InputRule
    from sdb.table.definition.partition import PartitionField
    from sdb.table.inputs.pattern import PatternPart

FORMATS = (
    "json",
    "json.gz",
    "json.zst",
    "cloudtrail.json.gz",
    "csv",
    "csv.gz",
    "csv.zst",
    "tsv",
    "tsv.gz",
    "tsv.zst",
    "parquet",
)
_MEMBERS = {
    "": MEMBERS,
    "input.": ("pattern", "format", "hints"),
    "partitions.": ("field", "type", "value"),
    "retention_policy.": ("field", "valid_for"),
    "versions.": ("keep_last", "keep_for"),
}


def format_of(name: str) -> str | None:
    """Give the format that the name of an input tells.

    Parameters
    ----------
    name : str
        The name, or the end of it.

    Returns
    -------
    str or None
        The longest of `FORMATS` that the name ends in; None: it tells none.

    Examples
    --------
    >>> format_of("a.cloudtrail.json.gz"), format_of("json")
    ('cloudtrail.json.gz', None)
    """
    fitting = [one for one in FORMATS if name.endswith(f".{one}")]
    return max(fitting, key=len, default=None)


def check(definition: Definition, *, is_remote: bool) -> Definition:
    """Insist on a definition that a sync can work with.

    Parameters
    ----------
    definition : Definition
        The definition.
    is_remote : bool
        Whether the root is an S3 bucket.

    Returns
    -------
    Definition
        The same.

    Raises
    ------
    UsageError
        It cannot; all reasons are told.
    """
    if found := problems(definition, is_remote=is_remote):
        raise UsageError("; ".join(found))
    return definition


def problems(definition: Definition, *, is_remote: bool) -> list[str]:
    """Tell all that is wrong with a definition; nothing: it is good.

    Parameters
    ----------
    definition : Definition
        The definition.
    is_remote : bool
        Whether the root is an S3 bucket.

    Returns
    -------
    list of str
        One line each.
    """
    found = [_unknown(member) for member in definition.unknown]
    captures: list[set[str]] = []
    if not definition.inputs:
        found.append("it has no input: nothing would ever be taken")
    for rule in definition.inputs:
        found += _rule(rule, is_remote=is_remote, captures=captures)
    found += _partitions(definition.partitions, captures)
    found += _retention(definition)
    if definition.cluster_by:
        try:
            cluster_paths(definition.cluster_by)
        except UsageError as error:
            found.append(f"cluster_by: {error.message}")
    for name in definition.beta_features:
        if name not in BETA_FEATURES:
            found.append(f"unknown beta feature {name!r}{_meant(name, BETA_FEATURES)}")
    try:
        StatisticsChoice.of(definition.statistics)
    except UsageError as error:
        found.append(f"stats: {error.message}")
    return found


def _unknown(member: str) -> str:
    where, dot, name = member.rpartition(".")
    known = _MEMBERS.get(where + dot, ())
    return f"unknown member {member!r}{_meant(name, known)}"


def _rule(rule: InputRule, *, is_remote: bool, captures: list[set[str]]) -> Iterator[str]:
    """Tell what is wrong with a pattern, and keep its captures."""
    if not rule.pattern:
        yield "an input without a pattern"
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
    """Tell what is wrong with a format, given or told by the end of the names."""
    name = rule.format or format_of(rule.pattern) or ""
    if rule.format and rule.format not in FORMATS:
        yield f"unknown format {rule.format!r}{_meant(rule.format, FORMATS)}"
    elif not name and "." in last.text.rpartition("/")[2] and not _is_open(rule.pattern):
        yield f"no format has names that end in {last.text!r}, and none is given"
    elif not name and not last.wildcard and not _is_open(rule.pattern):
        yield f"the pattern {rule.pattern!r} tells no format, and none is given"
    if name.partition(".")[0] in {"csv", "tsv"} and rule.hints in {None, "null"}:
        yield f"the inputs {rule.pattern!r} are {name}, which needs hints"
    if rule.hints not in {None, "null"} and not isinstance(json.loads(rule.hints or ""), dict):
        yield f"the hints of {rule.pattern!r} are not an object"


def _is_open(pattern: str) -> bool:
    """Tell whether a class or a question mark leaves the end of names open."""
    return not set(pattern[-3:]).isdisjoint("?]")


def _partitions(fields: Iterable[PartitionField], captures: list[set[str]]) -> Iterator[str]:
    known: set[str] = set()
    for one in fields:
        if not one.field:
            yield "empty partition name"
            continue
        if one.field in known:
            yield f"duplicate partition name {one.field!r}"
        known.add(one.field)
        if one.type and one.type not in TYPES:
            yield f"the partition {one.field}: invalid type {one.type!r}{_meant(one.type, TYPES)}"
        try:
            needed = one.captures()
        except UsageError as error:
            yield f"the partition {one.field}: {error.message}"
            continue
        for name in sorted(needed):
            if missing := [at for at, names in enumerate(captures, 1) if name not in names]:
                where = f"pattern {missing[0]}" if len(captures) > 1 else "the pattern"
                meant = _meant(name, set().union(*captures))
                yield f"the partition {one.field}: no capture {name!r} in {where}{meant}"


def _retention(definition: Definition) -> Iterator[str]:
    policy = definition.retention
    if policy is not None:
        if not policy.field:
            yield "retention_policy.field is missing: no row would ever expire"
        if str(policy.valid_for) == "0d":
            yield "retention_policy.valid_for is missing"


def _meant(name: str, known: Iterable[str]) -> str:
    """Give a suggestion for a name that is not known."""
    from difflib import get_close_matches

    close = get_close_matches(name, sorted(known), 1, 0.6)
    return f", did you mean {close[0]}?" if close else ""
