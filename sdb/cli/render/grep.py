"""Print what `sdb grep` finds."""

from __future__ import annotations

import sys

from sdb.cli import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Screen:
    """A file whose lines, rows as JSON, are laid out on the terminal."""

    def write(self, lines: bytes) -> int:
        """Lay out whole lines."""
        from sdb.view.rows import layout

        width, color = output.columns(), output.in_color()
        for line in lines.decode(errors="replace").split("\n")[:-1]:
            output.say(layout(output.plain(line), columns=width, color=color))
        sys.stdout.flush()
        return len(lines)


class Escaped:
    """A file whose text cannot steer the terminal that it goes to."""

    def write(self, lines: bytes) -> int:
        """Print whole lines."""
        output.say(output.plain(lines.decode(errors="replace").removesuffix("\n")))
        return len(lines)

    def writelines(self, lines: Iterable[bytes]) -> None:
        """Print whole lines."""
        for line in lines:
            self.write(line)


def target(*, is_laid_out: bool) -> Any:  # noqa: ANN401 - what lines can be written to
    """Return the file that rows go to."""
    if not sys.stdout.isatty():
        return output.binary()
    return Screen() if is_laid_out else Escaped()


def counts(counted_files: Iterable[tuple[str, int]], *, with_names: bool) -> int:
    """Print the number of rows of each file; gives that of all."""
    rows = 0
    for name, count in counted_files:
        rows += count
        output.say(output.plain(f"{name}:{count}" if with_names else str(count)))
    return rows


def names(counted_files: Iterable[tuple[str, int]]) -> int:
    """Print the names of the files that have rows; gives their number."""
    files = 0
    for name, count in counted_files:
        if count:
            files += 1
            output.say(output.plain(name))
    return files


def facts(counted_files: Iterable[tuple[str, int]], *, counted: bool) -> int:
    """Print the files that have rows as JSON, or all with their numbers of rows."""
    listed = [(name, count) for name, count in counted_files if counted or count]
    rows = sum(count for _, count in listed)
    files = [{"path": name, "rows": count} if counted else {"path": name} for name, count in listed]
    output.say_json({"rows": rows, "files": files} if counted else {"files": files})
    return rows
