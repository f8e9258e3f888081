"""Suggest key words, functions, fields and files while a query is typed."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from sdb import formats
from sdb.errors import SdbError
from sdb.store.url import under

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sdb.packfile.read.reader import Packfile

META = {
    "\\d": "tables and files; \\d NAME: its fields",
    "\\x": "rows vertically, or as a table again",
    "\\timing": "how long queries take, or no longer",
    "\\?": "this help",
    "\\q": "leave; so does Ctrl-D",
}
_ALIASES = {
    "help": "\\?",
    "exit": "\\q",
    "quit": "\\q",
    "tables": "\\d",
    "schema": "\\d",
    "dt": "\\d",
    "l": "\\d",
    "h": "\\?",
    "timer": "\\timing",
}
_BARE = {"help", "exit", "quit"}
"""Words of other shells, with a dot or backslash before them; these also without."""
_MOST_FILES = 1000
_QUOTED = re.compile(r"""(?:from|join|read_file\s*\(|\+\+|,)\s*(['"])([^'"]*)$""", re.IGNORECASE)
_TABLE = re.compile(r"""(['"])([^'"]+)\1|\b(?:from|join)\s+([\w.]+)""", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|join|into|update)\s+[\w.$@-]*$", re.IGNORECASE)
_WORD = re.compile(r"[\w.$@]*$")


def command(text: str) -> str | None:
    r"""Return what is typed as a command of the shell; None: it is a statement.

    >>> command("exit"), command(".tables"), command("\\d x"), command("SELECT 1")
    ('\\q', '\\d', '\\d x', None)
    """
    word, space, rest = text.strip().rstrip(";").partition(" ")
    name = word.lower()
    is_bare = name in _BARE and not rest
    if not is_bare and name[:1] not in {"\\", "."}:
        return None
    known = _ALIASES.get(name.lstrip("\\.")) or "\\" + word.lstrip("\\.")
    return f"{known}{space}{rest}"


class Suggestions:
    """Words that can come next."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._learnt: dict[str, list[str]] = {}
        self._words: list[str] | None = None

    def __call__(self, before: str, whole: str) -> tuple[str, list[str]]:
        """Offer words.

        Returns: The beginning of the word, which the ones that are offered replace.
        """
        if before.startswith("\\"):
            command, space, rest = before.partition(" ")
            if space:
                return rest, self.files(rest)
            return command, [name for name in META if name.startswith(command)]
        if quoted := _QUOTED.search(before):
            return quoted[2], self.files(quoted[2])
        match = _WORD.search(before)
        word = match[0] if match else ""
        if _FROM.search(before):
            from sdb.cli.complete import offered

            if tables := offered(self._root, word):
                return word, tables
        fields = [path for path in self._fields(whole) if path.startswith(word)]
        if not word:
            return word, fields
        words = [keyword for keyword in self._vocabulary() if keyword.startswith(word.upper())]
        return word, [*fields, *words]

    def files(self, typed: str) -> list[str]:
        """Offer packfiles, then other files that a query takes, then folders."""
        folder, slash, name = typed.rpartition("/")
        folder_path = os.fspath(under(self._root, folder + slash)) or "."
        if "://" in folder_path:
            return []  # typing shall not send requests
        packed, inputs, folders = [], [], []
        with suppress(OSError), os.scandir(folder_path) as entries:
            for entry in entries:
                if not entry.name.startswith(name) or entry.name.startswith("."):
                    continue
                path = f"{folder}{slash}{entry.name}"
                if entry.is_dir():
                    folders.append(f"{path}/")
                elif path.endswith(".zion"):
                    packed.append(path)
                elif is_input(path):
                    inputs.append(path)
        return [*sorted(packed), *sorted(inputs), *sorted(folders)][:_MOST_FILES]

    def learn(self, packfile: Packfile) -> None:
        """Remember the fields of a table that was read; it need not be a packfile by its name."""
        self._learnt[packfile.path] = _paths(packfile)

    def _fields(self, text: str) -> list[str]:
        names: dict[str, None] = {}
        for table in _TABLE.finditer(text):
            name = table[2] or f"{table[3].replace('.', '/')}.zion"
            names |= dict.fromkeys(self._fields_of(os.fspath(under(self._root, name))))
            if table[3] and "." in table[3]:
                names |= dict.fromkeys(self._fields_of_table(table[3]))
        return list(names)

    def _fields_of_table(self, name: str) -> list[str]:
        """Return the fields of a table; its packfiles are looked at once."""
        if name not in self._learnt:
            from sdb.cli.complete import fields_of

            paths = fields_of(self._root, name)
            self._learnt[name] = [".".join(map(written, path)) for path in paths]
        return self._learnt[name]

    def _fields_of(self, path: str) -> list[str]:
        """Return the fields of a table; the end of a packfile is read once."""
        if path not in self._learnt and path.endswith(".zion") and "://" not in path:
            from sdb.packfile.read.reader import open_packfile

            with suppress(SdbError), open_packfile(path) as packfile:
                self.learn(packfile)
        return self._learnt.get(path, [])

    def _vocabulary(self) -> list[str]:
        if self._words is None:
            self._words = sorted(vocabulary())
        return self._words


def vocabulary() -> Iterator[str]:
    """Yield the key words and the names of functions."""
    from sdb.query.analyze.signatures import FUNCTIONS
    from sdb.query.syntax.lexer import KEYWORDS

    yield from {*KEYWORDS, *FUNCTIONS}


def _paths(packfile: Packfile) -> list[str]:
    summary = packfile.trailer.sparse.summary
    paths = [] if summary is None else sorted(summary.types)
    return [".".join(map(written, path)) for path in paths]


def written(name: str) -> str:
    """Return a name as a query has it: in quotes, if it is no plain word."""
    if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_input(path: str) -> bool:
    """Report by its name whether a query takes a file."""
    fmt, _ = formats.of_name(path)
    return fmt in formats.INPUTS
