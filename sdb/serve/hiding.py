"""Things that answers hide: where the root is, and what only a view or a stored query may read."""

from __future__ import annotations

import os
import re

from sdb.errors import QueryError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.errors import SdbError
    from sdb.table.catalog.root import Visible

_PLACE = "the root"
_KEY = re.compile(r"(?<![\w./])(?:db|views)/([^/\s]+)/([^/\s,;:]+)(?:/[^\s,;:]*)?")


@record
class Hiding:
    """Takes out of texts what their reader has no right to, or no use for."""

    root: str  # folder or URL: it is no client's concern
    # Databases and names of tables and views that the reader may not read
    tables: tuple[tuple[str, str], ...] = ()
    # Whether the reader may know of a table or view that an object belongs to; None: of all
    knows: Visible | None = None
    instead: str = "what it reads"  # what is named in their place
    hides_query: bool = False  # whether the text of the query is not its reader's

    def text(self, text: str) -> str:
        """Return a text without that."""
        for form in {self.root, os.path.abspath(self.root)}:  # noqa: PTH100 - it may be a URL
            folder = form.rstrip("/")
            text = text.replace(f" below {folder}", "").replace(f"{folder}/", "")
            if "/" in folder:
                text = re.sub(rf"{re.escape(folder)}(?![\w.-])", _PLACE, text)
        text = _KEY.sub(self._key, text)
        for database, table in self.tables:
            name = rf'"?{re.escape(database)}"?\."?{re.escape(table)}"?(?:@\w+)?'
            text = re.sub(rf"(?<![\w.]){name}(?!\w)", self.instead, text)
        return text

    def _key(self, key: re.Match[str]) -> str:
        """Return the key of an object, or what stands in its place."""
        pair = key[1], key[2]
        is_hidden = pair in self.tables or (self.knows is not None and not self.knows(*pair))
        return self.instead if is_hidden else key[0]

    def texts(self, texts: list[str]) -> list[str]:
        """Return several texts without that, each once."""
        return list(dict.fromkeys(map(self.text, texts)))

    def error(self, error: SdbError) -> None:
        """Take it out of the texts of an error."""
        error.message = self.text(error.message)
        error.hint = error.hint and self.text(error.hint)
        error.expected = error.expected and self.text(error.expected)
        if self.hides_query and isinstance(error, QueryError):
            error.query = error.line = None
