"""Definitions that change: members set and taken away, inputs added, or all of it replaced."""

from __future__ import annotations

import json
from contextlib import suppress

from sdb import formats
from sdb.errors import ConflictError, InputError, NotFoundError, UnsupportedError, UsageError
from sdb.records import record, replace
from sdb.table.catalog.handle import dropped, find_table
from sdb.table.commit.objects import put_in_place
from sdb.table.commit.schemas import OF_DEFINITION, change_schema
from sdb.table.definition import validate
from sdb.table.definition.cache import forget_definition, open_definition
from sdb.table.definition.create import evolution
from sdb.table.definition.definition import MAX_BYTES, Definition
from sdb.table.inputs.listing import check_patterns
from sdb.times import Times, as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from sdb.store.base import Reader
    from sdb.table.catalog.handle import TableHandle
    from sdb.table.catalog.root import TableRoot
    from sdb.table.definition.definition import InputRule
    from sdb.table.format.keys import TableKeys

    Change = Callable[[Definition], Definition]

_ATTEMPTS = 5


@record
class ReadingChange:
    """Changes of the way inputs are read; what is empty or None stays.

    * ``format``: Takes the place of the format and its options.
    * ``records``, ``nested``, ``duplicates``: Options of a format; see :func:`sdb.formats.said`.
    * ``times``: Its forms count beside those that are there.
    * ``on_error``: ``fail``, ``skip`` or ``keep``.
    """

    format: str = ""
    records: str | None = None
    nested: tuple[str, ...] = ()
    duplicates: str | None = None
    times: Times = Times("")
    on_error: str = ""

    def of(self, rule: InputRule) -> InputRule:
        """Return inputs that are read in the new way.

        Raises `UsageError` if their format does not take an option.
        """
        named = formats.said(
            self.format or rule.format or None,
            records=self.records,
            nested=self.nested,
            duplicates=self.duplicates,
        )
        times = rule.times
        if self.times != NOTHING.times:
            old = rule.reading
            forms = tuple((dict(old.forms) | dict(self.times.forms)).items())
            mode, zone = self.times.mode or old.mode, self.times.timezone or old.timezone
            times = as_json(Times(mode, zone, forms))
        on_error = self.on_error or rule.on_error
        on_error = "" if on_error == "fail" else on_error
        return replace(rule, format=named or "", times=times, on_error=on_error)


NOTHING = ReadingChange()
"""All inputs are read as before."""


@record
class Altered:
    """A definition before and after a change."""

    before: Definition
    after: Definition

    @property
    def is_new(self) -> bool:
        """Return whether anything is another."""
        return self.before != self.after

    @property
    def members(self) -> list[str]:
        """Return the names of the members that are others, or came, or went."""
        old, new = (json.loads(each.shown()) for each in (self.before, self.after))
        return [name for name in {**old, **new} if old.get(name) != new.get(name)]


def alter_table(
    root: TableRoot, keys: TableKeys, change: Change, *, is_dry: bool = False
) -> Altered:
    """Change the definition of a table; what it says is checked as when a table is made.

    * ``change``: Makes the definition that the table shall have of the one that it has.
    * ``is_dry``: Whether nothing is written.

    Raises `UsageError` if the definition would be invalid; the message has all reasons;
    `OutsideError` if a pattern leads out of the root; see :mod:`sdb.table.inputs.places`;
    `NotFoundError`, `UnsupportedError` or `ConflictError` as :func:`describe_table` does.
    """
    head = find_table(root, keys.database, keys.table)

    def checked(definition: Definition) -> Definition:
        wished = change(definition)
        needs_input = bool(definition.inputs)
        validate.check(wished, is_remote=root.store.is_remote, needs_input=needs_input)
        check_patterns(root, [rule.pattern for rule in wished.inputs])
        evolution(wished, head)
        return wished

    altered = _altered(root, keys, head, checked, is_dry=is_dry)
    evolve = evolution(altered.after, head)
    if evolve is not None and altered.is_new and not is_dry:
        change_schema(root, keys.database, keys.table, evolve, change=OF_DEFINITION)
    return altered


def describe_table(root: TableRoot, keys: TableKeys, text: str, *, is_dry: bool = False) -> bool:
    """Set the description of a table in its definition, or make one that has nothing else.

    * ``text``: The description; empty: it has none from then on.
    * ``is_dry``: Whether nothing is written.

    Returns: Whether it was another one before.
    Raises `NotFoundError` if there is no such table; `UnsupportedError` if a later `sdb` has made
    the definition, whose unknown members would be lost; `ConflictError` if other programs replace
    the definition all the time.
    """
    head = find_table(root, keys.database, keys.table)

    def described(old: Definition) -> Definition:
        return replace(old, description=text)

    return _altered(root, keys, head, described, is_dry=is_dry).is_new


def with_inputs(
    definition: Definition,
    more: Definition,
    without: Iterable[str] = (),
    reading: ReadingChange = NOTHING,
) -> Definition:
    """Return a definition that takes other inputs, or reads them in another way.

    * ``more``: Has the patterns that come, or that are read in another way from now on.
    * ``without``: Patterns that go, as they were written when they came.
    * ``reading``: What changes for the inputs of `more`; for all, if it has none.

    Raises `UsageError` if a pattern that goes is not there, or there is no input to read in another
    way.
    """
    rules = {rule.pattern: rule for rule in definition.inputs}
    for pattern in without:
        named = [each for each in rules if pattern in {each, each.removeprefix("file://")}]
        if not named:
            raise UsageError(f"the table takes no {pattern}", expected=_listed(rules))
        for each in named:
            del rules[each]
    chosen = {rule.pattern: rules.get(rule.pattern, rule) for rule in more.inputs}
    rules |= chosen
    if reading != NOTHING:
        if not rules:
            hint = "--input PATTERN takes some"
            raise UsageError("the table takes no inputs that could be read so", hint=hint)
        rules |= {pattern: reading.of(rules[pattern]) for pattern in chosen or rules}
    is_hive = definition.hive or (more.hive and not definition.inputs)
    return replace(definition, inputs=tuple(rules.values()), hive=is_hive)


def with_members(
    definition: Definition, settings: Iterable[str], unset: Iterable[str]
) -> Definition:
    """Return a definition with other members.

    * ``settings``: ``NAME=VALUE`` each, where the name may lead into a member, as in
      ``versions.keep_last=20``. A value that is no JSON is a text.
    * ``unset``: Names of members that go.

    Raises `UsageError` if a text has another form, a member is not there, or a value of another
    type.
    """
    members: dict[str, Any] = json.loads(definition.shown())
    for name in unset:
        *above, last = name.split(".")
        if _inner(members, above).pop(last, None) is None:
            raise UsageError(f"the definition has no member {name}", expected=_listed(members))
    for setting in settings:
        name, mark, text = setting.partition("=")
        if not mark or not name:
            raise UsageError(f"{setting!r} sets no member", expected="NAME=VALUE")
        *above, last = name.split(".")
        _inner(members, above)[last] = _value(text)
    try:
        return Definition.parse(json.dumps(members, ensure_ascii=False))
    except InputError as error:
        raise UsageError(error.message, hint="docs/definition.md tells the members") from None


def _inner(members: dict[str, Any], above: list[str]) -> dict[str, Any]:
    """Return the member that others are in, which is made if it is not there."""
    for name in above:
        members = members.setdefault(name, {})
        if not isinstance(members, dict):
            raise UsageError(f"{name} of the definition has no members", expected=f"{name}=VALUE")
    return members


def _listed(members: dict[str, Any]) -> str:
    return ", ".join(members) or "none are set"


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _altered(
    root: TableRoot, keys: TableKeys, head: TableHandle | None, change: Change, *, is_dry: bool
) -> Altered:
    """Change a definition as often as another program replaces it meanwhile.

    * ``head``: The table; None: it has no rows yet.
    """
    if head is not None and head.is_dropped:
        raise dropped(root, head.keys, head.state)
    for _ in range(_ATTEMPTS):
        try:
            definition, reader = open_definition(root, keys)
        except NotFoundError:
            if head is None:
                raise root.absent(keys) from None
            definition, reader = Definition(), None
        if definition.unknown:
            raise UnsupportedError(
                f"the definition of {keys.name} has what this version does not know: "
                + ", ".join(definition.unknown),
                path=keys.definition,
                hint=f"sdb def {keys.name} prints what it knows",
            )
        altered = Altered(definition, change(definition))
        if not altered.is_new:
            return altered
        data = altered.after.stored().encode()
        if len(data) > MAX_BYTES:
            message = f"the definition of {keys.name} would take {len(data):,} bytes"
            raise UsageError(message, expected=f"{MAX_BYTES:,} bytes in all at most")
        if is_dry:
            return altered
        with suppress(ConflictError, NotFoundError):
            _put_definition(root, keys, data, reader)
            return altered
    message = f"other programs replaced the definition of {keys.name} {_ATTEMPTS} times"
    raise ConflictError(message, path=keys.definition, hint="run it again")


def _put_definition(root: TableRoot, keys: TableKeys, data: bytes, reader: Reader | None) -> None:
    """Store a definition in the place of the one that was read; None: there was none."""
    put_in_place(root, keys.definition, data, reader)
    forget_definition(root, keys)
