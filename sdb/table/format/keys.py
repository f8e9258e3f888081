"""Names and keys: databases, tables, and the objects of a table below its root.

A key is relative to the root, separated by slashes. Names come from people and keys from objects
that may be damaged: none may lead anywhere else.
"""

from __future__ import annotations

import os
from functools import lru_cache

from sdb.errors import CorruptError, UsageError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

UID_BYTES = 16
UID_LETTERS = 26
MOST_ID_BYTES = 128
"""Most bytes of the id of a transaction."""
MOST_REF_BYTES = 100
"""How many the name of a new branch or tag has: with an id it is in the names of objects."""
MOST_HOLD_BYTES = 200
"""How many the name of a branch has that keeps packfiles for another table."""

_SHOWN = 40
_UID_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_TABLE_FOLDERS = 3  # db, the database and the table
_MARK_BYTES = 15
_MOST_NAME_BYTES = 255
_MOST_KEY_BYTES = 1024
ADOPTED = "adopted-"
"""What names of packfiles of ours begin with that are copies of packfiles of the original."""

_PACKED = "packed-"
_ERA = ".e"
_USUAL_LETTERS = range(3, _MOST_NAME_BYTES + 1)  # none of "", "." and ".."
_FIRST_PRINTABLE = 32
_DELETE = 127
_LAST_CONTROL = 159


def flaw_of_name(name: str) -> str:
    """Report why a text cannot be the name of a database, table, branch or tag; empty: it can."""
    if name in {"", ".", ".."}:
        return f"{name!r} is no name"
    if "/" in name:
        return f"{name!r} has a slash"
    if any(_is_control(char) for char in name):
        return f"{name!r} has a control character"
    if not _is_text(name):
        return f"{name!r} is no valid text"
    if len(name.encode()) > _MOST_NAME_BYTES:
        return f"a name of {len(name.encode()):,} bytes, the limit is {_MOST_NAME_BYTES}"
    return ""


@lru_cache(4096)
def flaw_of_key(key: str) -> str:
    """Report why a text cannot be the key of an object; empty: it can."""
    for part in key.split("/"):
        # Almost all: an index has a million keys.
        is_usual = part.isascii() and part.isprintable() and len(part) in _USUAL_LETTERS
        if not is_usual and (flaw := flaw_of_name(part)):
            return flaw
    if len(key.encode()) > _MOST_KEY_BYTES:
        return f"a key of {len(key.encode()):,} bytes, the limit is {_MOST_KEY_BYTES:,}"
    return ""


def check_name(name: str, what: str) -> str:
    """Require a name that can be part of a key.

    * ``what``: What it is the name of, for the message.

    Raises `UsageError` if it is empty, ``.`` or ``..``, too long, or has a slash or a control
    character.
    """
    if flaw := flaw_of_name(name):
        raise UsageError(f"the name of a {what}: {flaw}")
    return name


def flaw_of_new_name(name: str) -> str:
    """Report why a text cannot name a new database, table or view; empty: it can.

    With a dot in it ``a.b.c`` would be two tables, and a right to one of them that to both.
    """
    return flaw_of_name(name) or (f"{name!r} has a dot" if "." in name else "")


def joined(database: str, table: str) -> str:
    """Return the name of a table with that of its database; what has a dot is in quotes.

    >>> joined("web", "gha"), joined("a.b", "c")
    ('web.gha', '"a.b".c')
    """
    return f"{_in_quotes(database)}.{_in_quotes(table)}"


def _in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if {".", '"'} & set(name) else name


def split_name(text: str) -> tuple[str, str]:
    """Return the database and the table of a name; the table is empty where it has one part only.

    Without quotes the first dot counts.

    >>> split_name("web.gha"), split_name('"a.b".c'), split_name("a.b.c")
    (('web', 'gha'), ('a.b', 'c'), ('a', 'b.c'))
    """
    database, rest = _first_name(text)
    table, behind = _first_name(rest[1:]) if rest[1:2] == '"' else (rest[1:], "")
    return (text, "") if behind else (database, table)


def _first_name(text: str) -> tuple[str, str]:
    """Split a text behind its first name, which may be in quotes."""
    if text[:1] != '"':
        end = text.find(".")
        return (text, "") if end < 0 else (text[:end], text[end:])
    end = 1
    while (end := text.find('"', end)) >= 0 and text[end + 1 : end + 2] == '"':
        end += 2
    is_name = end > 0 and text[end + 1 : end + 2] in {"", "."}
    return (text[1:end].replace('""', '"'), text[end + 1 :]) if is_name else (text, "")


def check_key(key: object) -> str:
    """Require the key of an object, as it was read from another object.

    Raises `CorruptError` if it is not a key, or leads out of the root.
    """
    if type(key) is not str:
        raise CorruptError(f"invalid key: expected a string, got {key!r:.40}")
    if flaw := flaw_of_key(key):
        raise CorruptError(f"the key of an object: {flaw}")
    return key


def _is_control(char: str) -> bool:
    code = ord(char)
    return code < _FIRST_PRINTABLE or _DELETE <= code <= _LAST_CONTROL


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def commit_on(branch: str, commit_id: str) -> str:
    """Return the id that a commit has on a branch: one of the same id on another is another one."""
    return commit_id if branch == "main" else f"{commit_id}@{branch}"


def original_key(key: str) -> str:
    """Return the key that a packfile had before commits copied it, each into a separate folder.

    >>> original_key("db/web/gha/data/AEBAGBAFAYDQQCIKBMGA2DQPCA/X.zion")
    'db/web/gha/data/X.zion'
    """
    *folders, name = own_key(key).split("/")
    if not any(map(is_uid, folders[_TABLE_FOLDERS:])):
        return key
    own_folders = [folder for folder in folders[_TABLE_FOLDERS:] if not is_uid(folder)]
    return "/".join([*folders[:_TABLE_FOLDERS], *own_folders, name])


def commit_of(key: str) -> str:
    """Return the id of the commit that made a version, by the key of the version.

    >>> commit_of("db/web/gha/versions/00000000000000000012-nightly-2026")
    'nightly-2026'
    """
    return key.rpartition("/")[2].partition("-")[2]


def is_uid(name: str) -> bool:
    """Return whether a name is one that :func:`new_uid` may have made."""
    return len(name) == UID_LETTERS and _UID_LETTERS.issuperset(name)


def new_uid(random_bytes: Callable[[int], bytes] = os.urandom) -> str:
    """Make the part of a name that no other object ever has: 26 letters and digits.

    >>> new_uid(bytes)
    'AAAAAAAAAAAAAAAAAAAAAAAAAA'
    """
    from base64 import b32encode

    return b32encode(random_bytes(UID_BYTES)).decode().rstrip("=")


def packfile_suffix(algorithm: str) -> str:
    """Return the suffix of packfiles of a compression algorithm.

    Raises `UsageError` if tables have no packfiles of that algorithm.
    """
    if algorithm == "zstd":
        return ".ion.zst"
    if algorithm.startswith("zion"):
        return ".zion"
    raise UsageError(f"tables have no packfiles of the algorithm {algorithm!r}")


def folder_of(key: str) -> str:
    """Return the beginning of the keys of the table that an object belongs to.

    >>> folder_of("db/web/gha/data/2026/X.zion")
    'db/web/gha'
    """
    return "/".join(key.split("/", 3)[:3])


def is_packed(key: str) -> bool:
    """Return whether the original has named a packfile: its collection may delete it.

    >>> is_packed("db/web/gha/packed-X.zion"), is_packed("db/web/gha/data/X.zion")
    (True, False)
    """
    return key.rpartition("/")[2].startswith(_PACKED)


def own_key(key: str) -> str:
    """Return the key that a packfile has once it is ours; all its copies have the same.

    >>> own_key("db/web/gha/2026/packed-X.ion.zst")
    'db/web/gha/data/2026/adopted-X.zion'
    >>> own_key("db/web/gha/data/2026/adopted-X~Y.zion")
    'db/web/gha/data/2026/adopted-X.zion'
    >>> own_key("db/web/gha/data/2026/Z.zion")
    'db/web/gha/data/2026/Z.zion'
    """
    if _PACKED not in key and ADOPTED not in key:  # almost all
        return key
    folder, (above, _, name) = folder_of(key), key.rpartition("/")
    directory = above.removeprefix(folder).removeprefix("/")
    if name.startswith(_PACKED):
        stem = name.removeprefix(_PACKED).removesuffix(".zion").removesuffix(".ion.zst")
        if f"{directory}/".startswith("data/"):
            directory = directory.removeprefix("data").removeprefix("/")
        return "/".join(filter(None, (folder, "data", directory, f"{ADOPTED}{stem}.zion")))
    if name.startswith(ADOPTED) and f"{directory}/".startswith("data/"):
        return f"{above}/{name.removesuffix('.zion').partition('~')[0]}.zion"
    return key


@lru_cache(4096)
def era_of(key: str) -> int:
    """Return the era of the rows of a packfile, which its name tells.

    >>> era_of("db/web/gha/data/X-Y.e5.zion"), era_of("db/web/gha/data/X-Y.zion")
    (5, 0)
    """
    _, mark, number = key.rpartition("/")[2].removesuffix(".zion").rpartition(_ERA)
    return int(number) if mark and number.isascii() and number.isdecimal() else 0


def another_copy(key: str, uid: str) -> str:
    """Return the key of another copy of an adopted packfile."""
    return f"{own_key(key).removesuffix('.zion')}~{uid}.zion"


@record
class TableKeys:
    """Keys of the objects of a table."""

    # Their names
    database: str
    table: str

    @property
    def name(self) -> str:
        """Its name with that of the database; see :func:`joined`."""
        return joined(self.database, self.table)

    @property
    def folder(self) -> str:
        """Beginning of all keys of the table, without the slash at its end."""
        database = check_name(self.database, "database")
        return f"db/{database}/{check_name(self.table, 'table')}"

    @property
    def definition(self) -> str:
        """Key of the definition."""
        return f"{self.folder}/definition.json"

    @property
    def index(self) -> str:
        """Key of the index: the head of the branch `main`."""
        return f"{self.folder}/index"

    @property
    def view(self) -> str:
        """Key of the object that a view of these names has, or a table that is being made."""
        database = check_name(self.database, "database")
        return f"views/{database}/{check_name(self.table, 'view')}"

    def branch(self, name: str) -> str:
        """Return the key of the index of a branch."""
        return self.index if name == "main" else f"{self.folder}/branches/{_ref(name)}/index"

    def version(self, number: int, commit: str) -> str:
        """Return the key of the index of a version, which is never overwritten.

        * ``number``: Number of the version, counted from 1.
        """
        return f"{self.folder}/versions/{number:020}-{check_name(commit, 'commit')}"

    def version_of(self, key: str) -> tuple[int, str] | None:
        """Return number and commit of a version by the key of its index; None: another key."""
        above = f"{self.folder}/versions/"
        number, dash, commit = key.removeprefix(above).partition("-")
        is_one = key.startswith(above) and dash and number.isascii() and number.isdigit()
        if not is_one or len(number) != len(f"{0:020}") or flaw_of_name(commit):
            return None
        return int(number), commit

    def packfile(self, directory: str, suffix: str, uid: str) -> str:
        """Return the key of a packfile as the original names it.

        * ``directory``: Directory of the partition; empty for a table without partitions.
        * ``suffix``: Suffix by algorithm, see :func:`packfile_suffix`.
        * ``uid``: See :func:`new_uid`.
        """
        return "/".join(filter(None, (self.folder, directory, f"packed-{uid}{suffix}")))

    def content(self, directory: str, content_id: str, commit: str = "", *, era: int = 0) -> str:
        """Return the key of a packfile of ours, which is named by its content.

        * ``directory``: Directory of the partition; empty for a table without partitions.
        * ``commit``: Id of the commit, if no other one must have the same packfile.
        * ``era``: The era of its rows, see :mod:`sdb.table.schema.eras`.
        """
        mark = f"-{_mark(commit)}" if commit else ""
        name = f"{content_id}{mark}{f'{_ERA}{era}' if era else ''}.zion"
        return "/".join(filter(None, (self.folder, "data", directory, name)))

    def indirect(self, uid: str) -> str:
        """Return the key of a list of old descriptors."""
        return f"{self.folder}/indirect-{uid}"

    def inputs(self, uid: str) -> str:
        """Return the key of a node of the inputs tree."""
        return f"{self.folder}/inputs-{uid}"

    def history(self, uid: str) -> str:
        """Return the key of a list of old versions."""
        return f"{self.folder}/history-{uid}"

    @property
    def upkeep(self) -> str:
        """Key of the lock of the programs that keep the table small."""
        return f"{self.folder}/upkeep"

    def lease(self, uid: str) -> str:
        """Return the key of the lease of a long read."""
        return f"{self.folder}/leases/{uid}"

    def is_lease(self, key: str) -> bool:
        """Return whether a key is that of a lease."""
        above = f"{self.folder}/leases/"
        return key.startswith(above) and key.removeprefix(above).isalnum()

    def transaction(self, uid: str) -> str:
        """Return key of the intent of a transaction over several tables, of which this is one."""
        return f"db/{check_name(self.database, 'database')}/transactions/{uid}"


def head_of(key: str) -> tuple[TableKeys, str] | None:
    """Return the table and the branch of an index by its key; None: it is that of none."""
    match key.split("/"):
        case ["db", database, table, "index"]:
            return TableKeys(database, table), "main"
        case ["db", database, table, "branches", branch, "index"]:
            return TableKeys(database, table), branch
        case _:
            return None


def check_head(key: object) -> str:
    """Check the key of an index, as it was read from another object.

    Raises `CorruptError` if it is that of another object.
    """
    head = head_of(check_key(key))
    if head is None or (head[1] != "main" and flaw_of_ref(head[1])):
        raise CorruptError(f"invalid key: expected that of an index, got {key!r}")
    return str(key)


def is_transaction(key: str) -> bool:
    """Return whether a key is that of the intent of a transaction over several tables."""
    match key.split("/"):
        case ["db", _, "transactions", uid]:
            return uid.isalnum()
        case _:
            return False


def check_id(text: str) -> str:
    """Check the id of a transaction, which becomes a part of the names of objects.

    Raises `UsageError` if it has more than `MOST_ID_BYTES`, or what no name may have.
    """
    size = len(text.encode(errors="surrogatepass"))
    if size > MOST_ID_BYTES:
        message = f"the id of a transaction has {size:,} bytes: {text[:_SHOWN]!r}..."
        raise UsageError(message, expected=f"at most {MOST_ID_BYTES}")
    return check_name(text, "transaction")


def check_new_ref(name: str, *, is_hold: bool = False) -> str:
    """Check the name of a branch or tag that is about to be made.

    Raises `UsageError` if it is too long.
    """
    size, most = (
        len(name.encode(errors="surrogatepass")),
        MOST_HOLD_BYTES if is_hold else MOST_REF_BYTES,
    )
    if size > most:
        message = f"the name of a branch or tag has {size:,} bytes: {name[:_SHOWN]!r}..."
        raise UsageError(message, expected=f"at most {most}")
    return name


def _mark(commit: str) -> str:
    """Return what tells the id of a commit from all others, in few letters."""
    return short_digest(commit.encode())


def short_digest(data: bytes) -> str:
    """Return what tells an object from all others, in 24 letters and digits."""
    from base64 import b32encode
    from hashlib import blake2b

    return b32encode(blake2b(data, digest_size=_MARK_BYTES).digest()).decode()


def _ref(name: str) -> str:
    if flaw := flaw_of_ref(name):
        raise UsageError(f"the name of a branch: {flaw}")
    return name


def flaw_of_ref(name: str) -> str:
    """Report why a text cannot name a branch or a tag; empty: it can.

    Besides what no name may have, it must not look like a number or a time of a version.
    """
    if flaw := flaw_of_name(name):
        return flaw
    if name[0].isdigit() or name[0] in "-+@":
        return f"{name!r} begins like a number or a time"
    if "@" in name or name != name.strip():
        return f"{name!r} has an @, or white space at its ends"
    return ""
