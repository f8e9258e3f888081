"""The definition of a table: which inputs it takes, in which partitions, and for how long.

`sdb` checks a definition when it is made. Definitions that other programs stored are read as they
are: problems are reported when they matter.
"""

from __future__ import annotations

from sdb import times
from sdb.errors import InputError
from sdb.records import record, replace
from sdb.table.definition import rawjson
from sdb.table.definition.partition import PartitionField
from sdb.table.definition.timespan import MEMBERS as RETENTION_MEMBERS
from sdb.table.definition.timespan import CalendarSpan, Retention, Thinning
from sdb.table.definition.upkeep import EXPORT_MEMBERS, FLAGS, ExportPolicy, UpkeepPolicy
from sdb.table.definition.upkeep import MEMBERS as UPKEEP_MEMBERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from sdb.times import Times

    _Made = TypeVar("_Made")

MAX_BYTES = 1 << 20
BETA_FEATURES = {"legacy-zstd": "zstd", "iguana-v0": "zion+iguana_v0"}
DEFAULT_ALGORITHM = "zion+iguana_v0/specialized"
INPUT_MEMBERS = ("pattern", "format", "hints", "times", "on_error")


@record
class InputRule:
    """A pattern of inputs, and their format.

    Attributes
    ----------
    pattern : str
        Pattern of full URIs.
    format : str
        Name of the format; empty: that of the name's ending.
    hints : str or None
        JSON for the format, without white space; None: no hints.
    times : str or None
        JSON that says how times are read, without white space; None: as usual. A member that only
        `sdb` knows.
    on_error : str
        What becomes of malformed records, ``fail``, ``skip`` or ``keep``; empty: they fail. A
        member that only `sdb` knows.
    """

    pattern: str
    format: str = ""
    hints: str | None = None
    times: str | None = None
    on_error: str = ""

    @property
    def reading(self) -> Times:
        """The way times are read. Raises `UsageError` if what `times` says cannot be done."""
        return times.of_json(self.times)


@record
class VersionPolicy:
    """The versions that a table keeps, which is a member that only `sdb` knows.

    Attributes
    ----------
    keep_last : int or None
        How many of the newest versions are kept at least.
    keep_for : CalendarSpan or None
        How long versions are kept.
    thin : Thinning or None
        How many are kept of those that are kept for their time alone; None: all of them.
    """

    keep_last: int | None = None
    keep_for: CalendarSpan | None = None
    thin: Thinning | None = None


@record
class Definition:
    """The definition of a table.

    Attributes
    ----------
    inputs : tuple of InputRule
        What the table takes; the first pattern that matches counts.
    partitions : tuple of PartitionField
        Fields that are the same in all rows of a packfile.
    retention : Retention or None
        How long rows are kept; None: for ever.
    beta_features : tuple of str
        Names of features.
    skip_backfill : bool
        Whether inputs from before the table are left out where a queue names them.
    versions : VersionPolicy or None
        Which versions are kept; None: the default.
    stats : str
        The statistics of new packfiles, as `stats` of :func:`sdb.pack` in one text; empty: not
        told. A member that only `sdb` knows.
    cluster_by : tuple of str
        Paths by whose values compaction sorts packfiles, a member that only `sdb` knows.
    hive : bool
        Whether folders like ``day=2026-11-01`` in the names of inputs are fields of their rows, a
        member that only `sdb` knows.
    upkeep : UpkeepPolicy or None
        What `sdb maintain` does; None: the usual.
    schema : str
        JSON of the schema that the table has from then on, without white space, a member that only
        `sdb` knows; empty: it stays.
    exports : tuple of ExportPolicy
        The mirrors that `sdb maintain` keeps up, a member that only `sdb` knows.
    description : str
        What the table has, for people; a member that only `sdb` knows.
    steward : str
        Who answers questions about it; a member that only `sdb` knows.
    unknown : tuple of str
        Members that this build does not know.
    """

    inputs: tuple[InputRule, ...] = ()
    partitions: tuple[PartitionField, ...] = ()
    retention: Retention | None = None
    beta_features: tuple[str, ...] = ()
    skip_backfill: bool = False
    versions: VersionPolicy | None = None
    stats: str = ""
    cluster_by: tuple[str, ...] = ()
    hive: bool = False
    upkeep: UpkeepPolicy | None = None
    schema: str = ""
    exports: tuple[ExportPolicy, ...] = ()
    description: str = ""
    steward: str = ""
    unknown: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, *, is_stored: bool = False) -> Definition:
        """Read a definition.

        * ``is_stored``: Whether it is one that was stored, and whose retention may have no time at
          all: the original stores that, and cannot read it again.

        Returns: The definition; see :func:`sdb.table.definition.validate.problems` for whether it
        makes sense.
        Raises `InputError` if it is no JSON, or a member is of another type.
        """
        if len(text) > MAX_BYTES:
            raise InputError(
                f"definition too large: {len(text):,} bytes, the limit is {MAX_BYTES:,}"
            )
        value, raw, rest = rawjson.first(text)
        if value is not None and not isinstance(value, dict):
            raise InputError("invalid definition: expected a JSON object")
        reader = _Reader(is_stored=is_stored)
        members = reader.members(raw, "") if value is not None else {}
        definition = cls(
            reader.listed(members, "input", reader.rule),
            reader.listed(members, "partitions", reader.partition),
            reader.made(members, "retention_policy", reader.retention),
            reader.listed(members, "beta_features", reader.feature),
            reader.flag(members, "skip_backfill"),
            reader.made(members, "versions", reader.versions),
            reader.text(members, "stats", ""),
            reader.listed(members, "cluster_by", reader.path),
            reader.flag(members, "hive"),
            reader.made(members, "upkeep", reader.upkeep),
            rawjson.compact(members.get("schema", "")),
            reader.listed(members, "exports", reader.export),
            reader.text(members, "description", ""),
            reader.text(members, "steward", ""),
        )
        reader.check_known(members, MEMBERS, "")
        if rest:
            reader.unknown.append("text after the definition")
        return replace(definition, unknown=tuple(reader.unknown))

    def canonical(self) -> str:
        """Return the text that identifies the definition, with a line break at its end."""
        return f"{{{','.join(self._members(with_ours=False))}}}\n"

    def digest(self) -> bytes:
        """Return the digest by which an index knows the definition that it was made with."""
        from hashlib import sha256

        return sha256(self.canonical().encode()).digest()

    def stored(self) -> str:
        """Return the text of `definition.json`."""
        return rawjson.indented(self._with_ours(), "\t")

    def shown(self) -> str:
        """Return the text that the command `def` prints."""
        return rawjson.indented(self._with_ours(), "  ") + "\n"

    @property
    def algorithm(self) -> str:
        """Compression of the packfiles that the original would make."""
        algorithms = [BETA_FEATURES[name] for name in self.beta_features if name in BETA_FEATURES]
        return algorithms[-1] if algorithms else DEFAULT_ALGORITHM

    @property
    def changed(self) -> str | None:
        """The fate of rows whose input has another content now; None: it does not say."""
        return (self.upkeep.changed or None) if self.upkeep is not None else None

    @property
    def statistics(self) -> str:
        """The statistics of new packfiles, unless the caller of the packing has another choice."""
        return self.stats or "auto"

    def _with_ours(self) -> str:
        members = list(self._members(with_ours=True))
        if self.versions is not None:
            members.append(f'"versions":{_object(_policy(self.versions))}')
        if self.stats:
            members.append(f'"stats":{rawjson.quoted(self.stats)}')
        if self.cluster_by:
            members.append(f'"cluster_by":{_array(map(rawjson.quoted, self.cluster_by))}')
        if self.hive:
            members.append('"hive":true')
        if self.upkeep is not None:
            members.append(f'"upkeep":{_object(self.upkeep.members())}')
        if self.schema:
            members.append(f'"schema":{self.schema}')
        if self.exports:
            members.append(
                f'"exports":{_array(_object(_export(policy)) for policy in self.exports)}'
            )
        members += [
            f"{rawjson.quoted(name)}:{text}"
            for name, text in _texts((("description", self.description), ("steward", self.steward)))
        ]
        return f"{{{','.join(members)}}}"

    def _members(self, *, with_ours: bool) -> Iterator[str]:
        if self.inputs:
            rules = [
                rule if with_ours else replace(rule, times=None, on_error="")
                for rule in self.inputs
            ]
            yield f'"input":{_array(_object(_rule(rule)) for rule in rules)}'
        if self.partitions:
            fields = (
                (("field", partition.field), ("type", partition.type), ("value", partition.value))
                for partition in self.partitions
            )
            yield f'"partitions":{_array(_object(_texts(members)) for members in fields)}'
        if self.retention is not None:
            policy = self.retention.members(with_ours=with_ours)
            yield f'"retention_policy":{_object(policy)}'
        if self.beta_features:
            yield f'"beta_features":{_array(map(rawjson.quoted, self.beta_features))}'
        if self.skip_backfill:
            yield '"skip_backfill":true'


MEMBERS = (
    "input",
    "partitions",
    "retention_policy",
    "beta_features",
    "skip_backfill",
    "versions",
    "stats",
    "cluster_by",
    "hive",
    "upkeep",
    "schema",
    "exports",
    "description",
    "steward",
)
"""The members at the top of a definition."""


class _Reader:
    """Reads the members of a definition, and collects unknown ones."""

    def __init__(self, *, is_stored: bool) -> None:
        self.unknown: list[str] = []
        self._is_stored = is_stored

    def members(self, raw: str, where: str) -> dict[str, str]:
        """Return the texts of members by name in lower case; null is as good as nothing."""
        members_found: dict[str, str] = {}
        for name, text in rawjson.members(raw):
            if name.lower() in members_found:
                self.unknown.append(f"{where}{name} a second time")
            if text != "null" or name.lower() == "hints":
                members_found[name.lower()] = text
        return members_found

    def check_known(
        self, members: dict[str, str], known_names: tuple[str, ...], where: str
    ) -> None:
        """Collect members that are not known."""
        self.unknown += [where + name for name in members if name not in known_names]

    def made(
        self, members: dict[str, str], name: str, make: Callable[[dict[str, str]], _Made]
    ) -> _Made | None:
        """Return a member that is an object."""
        return make(self._object(members[name], name)) if name in members else None

    def listed(
        self, members: dict[str, str], name: str, make: Callable[[str], _Made]
    ) -> tuple[_Made, ...]:
        """Return the elements of a member that is an array."""
        if name not in members:
            return ()
        if not members[name].startswith("["):
            raise InputError(f"invalid {name}: expected an array")
        return tuple([make(text) for text in rawjson.items(members[name])])

    def text(self, members: dict[str, str], name: str, where: str) -> str:
        """Return a member that is a text; empty when it is not there."""
        value: Any = rawjson.first(members.get(name, '""'))[0]
        if type(value) is not str:
            raise InputError(f"invalid {where}{name}: expected a string")
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise InputError(f"invalid {where}{name}: expected text in Unicode")
        return value

    def flag(self, members: dict[str, str], name: str) -> bool:
        """Return a member that is true or false."""
        value = rawjson.first(members.get(name, "false"))[0]
        if type(value) is not bool:
            raise InputError(f"invalid {name}: expected true or false")
        return value

    def rule(self, raw: str) -> InputRule:
        """Read an element of `input`."""
        members = self._object(raw, "input")
        self.check_known(members, INPUT_MEMBERS, "input.")
        hints, read = (members.get(name) for name in ("hints", "times"))
        return InputRule(
            self.text(members, "pattern", "input."),
            self.text(members, "format", "input."),
            None if hints is None else rawjson.compact(hints),
            None if read is None else rawjson.compact(read),
            self.text(members, "on_error", "input."),
        )

    def partition(self, raw: str) -> PartitionField:
        """Read an element of `partitions`."""
        members = self._object(raw, "partitions")
        names = ("field", "type", "value")
        self.check_known(members, names, "partitions.")
        return PartitionField(*(self.text(members, name, "partitions.") for name in names))

    def feature(self, raw: str) -> str:
        """Read an element of `beta_features`."""
        return self.text({"name": raw}, "name", "beta_features: ")

    def path(self, raw: str) -> str:
        """Read an element of `cluster_by`."""
        return self.text({"path": raw}, "path", "cluster_by: ")

    def retention(self, members: dict[str, str]) -> Retention:
        """Read `retention_policy`."""
        self.check_known(members, RETENTION_MEMBERS, "retention_policy.")
        share: Any = rawjson.first(members.get("rewrite_share", "null"))[0]
        texts = {
            name: self.text(members, name, "retention_policy.")
            for name in RETENTION_MEMBERS
            if name in members and name != "rewrite_share"
        }
        return Retention.of_members(texts, share, may_be_empty=self._is_stored)

    def versions(self, members: dict[str, str]) -> VersionPolicy:
        """Read `versions`."""
        self.check_known(members, ("keep_last", "keep_for", "thin"), "versions.")
        last: Any = rawjson.first(members.get("keep_last", "null"))[0]
        if last is not None and (type(last) is not int or last < 1):
            raise InputError("invalid versions.keep_last: expected a number from 1 on")
        span = self.text(members, "keep_for", "versions.")
        steps = self.text(members, "thin", "versions.")
        return VersionPolicy(
            last,
            CalendarSpan.parse(span) if span else None,
            Thinning.parse(steps) if steps else None,
        )

    def upkeep(self, members: dict[str, str]) -> UpkeepPolicy:
        """Read `upkeep`."""
        self.check_known(members, UPKEEP_MEMBERS, "upkeep.")
        flags = {name: self.flag(members, name) for name in FLAGS if name in members}
        texts = (self.text(members, name, "upkeep.") for name in ("grace", "changed"))
        return UpkeepPolicy.of_members(flags, *texts)

    def export(self, raw: str) -> ExportPolicy:
        """Read an element of `exports`."""
        members = self._object(raw, "exports")
        self.check_known(members, EXPORT_MEMBERS, "exports.")
        return ExportPolicy(
            self.text(members, "format", "exports."),
            self.text(members, "to", "exports."),
            self.flag(members, "squash"),
        )

    def _object(self, raw: str, name: str) -> dict[str, str]:
        if raw == "null":
            return {}
        if not raw.startswith("{"):
            raise InputError(f"invalid {name}: expected an object")
        return self.members(raw, f"{name}.")


def _rule(rule: InputRule) -> list[tuple[str, str]]:
    members = [("pattern", rawjson.quoted(rule.pattern))] if rule.pattern else []
    members += _texts((("format", rule.format),))
    more = (("hints", rule.hints), ("times", rule.times))
    members += [(name, text) for name, text in more if text is not None]
    return members + _texts((("on_error", rule.on_error),))


def _export(policy: ExportPolicy) -> list[tuple[str, str]]:
    members = _texts((("format", policy.format), ("to", policy.to)))
    return [*members, ("squash", "true")] if policy.squash else members


def _policy(policy: VersionPolicy) -> list[tuple[str, str]]:
    last = [] if policy.keep_last is None else [("keep_last", str(policy.keep_last))]
    span = "" if policy.keep_for is None else str(policy.keep_for)
    steps = "" if policy.thin is None else str(policy.thin)
    return last + _texts((("keep_for", span), ("thin", steps)))


def _texts(members: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    return [(name, rawjson.quoted(text)) for name, text in members if text]


def _object(members: list[tuple[str, str]]) -> str:
    return f"{{{','.join(f'{rawjson.quoted(name)}:{text}' for name, text in members)}}}"


def _array(elements: Any) -> str:  # noqa: ANN401 - of texts
    return f"[{','.join(elements)}]"
