"""Runs what is typed into `sdb shell`: queries, and commands that begin with a backslash."""

from __future__ import annotations

import sys
import time
from functools import partial

from sdb import notes, sizes
from sdb.cli import output
from sdb.cli.interrupts import Interruptible
from sdb.cli.meter import Following, Meter, followed
from sdb.cli.render import query
from sdb.cli.shell.suggestions import META, Suggestions, is_input
from sdb.cli.tablenames import author
from sdb.errors import UsageError
from sdb.query.syntax.writeparser import CONTROLS, is_write
from sdb.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_COLUMN = 11


@record
class Settings:
    """Where paths start, and what queries may use."""

    root: str  # folder or URL that paths of tables start at
    threads: int | None = None  # threads of each query
    memory_bytes: int | None = None  # memory of each query
    dialect: str | None = None  # what its SQL means


class Session:
    """A conversation: the state that stays from one query to the next."""

    def __init__(self, settings: Settings, form: str) -> None:
        self._settings = settings
        self._form = form
        self._is_timed = False
        self._begun: list[str] = []  # statements of a transaction that was not committed yet
        self.suggestions = Suggestions(settings.root)

    def run(self, text: str) -> bool:
        """Run a statement or a command.

        * ``text``: One of them, without the semicolon at its end.

        Raises `SdbError` for what went wrong with it; the session goes on all the same.
        """
        began = time.perf_counter()
        if text.startswith("\\"):
            return self._command(*text.partition(" ")[::2])
        if is_write(text):
            self._write(text)
        elif not self._set(text):
            if self._begun:
                notes.warn("statements behind BEGIN count from their COMMIT on, and not here yet")
            self._query(text)
        if self._is_timed:
            output.say(f"{time.perf_counter() - began:.3f} s", to=sys.stderr)
        return True

    def _set(self, text: str) -> bool:
        """Take a SET, which holds for the queries that follow; whether it was one."""
        from sdb.query.syntax.parser import alone

        mode = alone(text)
        if mode is None:
            return False
        self._settings = replace(self._settings, dialect=mode)
        output.say(f"the dialect is {mode}", to=sys.stderr)
        return True

    def close(self) -> None:
        """Say what becomes of a transaction that was not committed."""
        if self._begun:
            notes.warn("no COMMIT came: the statements behind BEGIN have changed nothing")

    def _write(self, text: str) -> None:
        """Carry a statement out, or keep it until the COMMIT of its transaction."""
        control = CONTROLS.get(text.split(None, 1)[0].upper())
        if self._begun or control == "BEGIN":
            self._begun.append(text)
            if control == "ROLLBACK":
                self._begun = []
            if control != "COMMIT":
                return
            text, self._begun = "\n;\n".join(self._begun), []
        from sdb.cli.failures import warn
        from sdb.cli.render.exec import is_meant, lines_of
        from sdb.statements.execute import execute
        from sdb.table.catalog.root import table_root

        notes.hear(warn)
        settings = self._settings
        root = table_root(settings.root)
        if not is_meant(text, {}, root, yes=False):
            return
        with Interruptible() as signals, Meter("writing", "auto") as meter:
            done = execute(
                text,
                root=root,
                author=author(),
                threads=settings.threads,
                memory_bytes=settings.memory_bytes,
                dialect=settings.dialect,
                progress=meter,
                follow=followed(signals, meter, "writing"),
            )
        for effect in done:
            for line in lines_of(effect, verbose=False):
                output.say(output.plain(line))

    def _query(self, text: str) -> None:
        from sdb.cli.failures import warn
        from sdb.query.run.api import sql

        notes.hear(warn)  # what was said of an earlier query is said of this one, too
        settings = self._settings
        with Interruptible() as signals, Meter("packing", "auto") as meter:
            result = sql(
                text,
                root=settings.root,
                threads=settings.threads,
                memory_bytes=settings.memory_bytes,
                dialect=settings.dialect,
                typed=False,
                progress=meter,
            )
            meter.stop()
            with result:
                signals.arm(result.interrupt)
                follow = partial(Following, meter=meter)
                query.write(result, self._form, "-", force=False, follow=follow)
                for table in result.tables:
                    for part in table.parts:
                        self.suggestions.learn(part.pack)

    def _command(self, name: str, rest: str) -> bool:
        if name == "\\q":
            return False
        known: dict[str, Callable[[str], None]] = {
            "\\d": self._describe,
            "\\x": self._turn,
            "\\timing": self._time,
            "\\?": self._help,
        }
        if name not in known:
            raise UsageError(f"unknown command {name}", hint="\\? lists them")
        known[name](rest.strip())
        return True

    def _describe(self, name: str) -> None:
        if name:
            self._fields(name.strip("'\""))
        else:
            self._files()

    def _fields(self, name: str) -> None:
        from sdb.packfile.read.fields import inventory
        from sdb.query.catalog.ondemand import open_table
        from sdb.store.url import under
        from sdb.view.fieldlist import draw

        if "." in name and self._fields_of_table(name):
            return
        location = under(self._settings.root, name)
        with Meter("packing", "auto") as meter:
            pack = open_table(location, threads=self._settings.threads, progress=meter)
        with pack:
            all_fields = inventory([(pack.path, pack.trailer)])
            self.suggestions.learn(pack)
        can_draw = output.can_draw()
        text = draw(all_fields, columns=output.columns(), is_nested=True, can_draw=can_draw)
        output.say(output.plain(text.removesuffix("\n")))

    def _fields_of_table(self, name: str) -> bool:
        """List the fields of a table; whether it is one."""
        from sdb.packfile.inspect.describe import fields
        from sdb.query.catalog.tablefiles import NamedPackfiles, tables_named
        from sdb.view.fieldlist import draw

        root = self._settings.root
        if not tables_named(name, root):
            return False
        with NamedPackfiles(root) as named:
            all_fields = fields(named.resolve([name]))
        can_draw = output.can_draw()
        text = draw(all_fields, columns=output.columns(), is_nested=True, can_draw=can_draw)
        output.say(output.plain(text.removesuffix("\n")))
        return True

    def _tables(self) -> bool:
        """List the tables below the root; whether there are any."""
        from sdb.cli.render.tables import list_tables
        from sdb.table.catalog.root import table_root

        root = table_root(self._settings.root)
        names = [(db, table) for db in root.databases() for table in root.folders(db)]
        if names:
            list_tables(root, names, dropped=False, as_json=False)
        return bool(names)

    def _files(self) -> None:
        from sdb.store.url import store_of
        from sdb.view.facts import table

        folder = self._settings.root or "."
        entries = [entry for entry in store_of(folder).list(folder) if is_input(entry.name)]
        entries.sort(key=lambda entry: (not entry.name.endswith(".zion"), entry.name))
        has_tables = self._tables()
        if not entries and has_tables:
            return
        if not entries:
            output.say(f"no packfiles in {folder}")
            return
        rows = [[sizes.human(entry.size_bytes), entry.name] for entry in entries]
        lines = table(["size", "name"], rows, columns=1 << 16)
        width = max(len(row[0]) for row in [["size"], *rows])
        shown = [f"{line[:width]}  {line[width:].strip()}" for line in lines.splitlines()]
        output.say(output.plain("\n".join(shown)))

    def _turn(self, _rest: str) -> None:
        is_vertical = self._form != query.VERTICAL
        self._form = query.VERTICAL if is_vertical else query.TABLE
        output.say(f"rows are shown {'vertically' if is_vertical else 'as a table'}")

    def _time(self, _rest: str) -> None:
        self._is_timed = not self._is_timed
        output.say(f"times are {'' if self._is_timed else 'no longer '}shown")

    def _help(self, _rest: str) -> None:
        lines = [f"{name:{_COLUMN}}{what}" for name, what in META.items()]
        lines.append("A statement ends with a semicolon, or with an empty line. Ctrl-C stops it.")
        output.say("\n".join(lines))
