"""Things that answers hide: where the root is, and what only a view or a stored query may read."""

from __future__ import annotations

import os
import re

from sdb.errors import QueryError
from sdb.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sdb.errors import SdbError

_PLACE = "the root"


@record
class Hiding:
    """Takes out of texts what their reader has no right to, or no use for."""

    root: str  # folder or URL: it is no client's concern
    # Databases and names of tables and views that the reader may not read
    tables: tuple[tuple[str, str], ...] = ()
    instead: str = "what it reads"  # what is named in their place
    hides_query: bool = False  # whether the text of the query is not its reader's

    def text(self, text: str) -> str:
        """Return a text without that."""
        for form in {self.root, os.path.abspath(self.root)}:  # noqa: PTH100 - it may be a URL
            folder = form.rstrip("/")
            text = text.replace(f" below {folder}", "").replace(f"{folder}/", "")
            if "/" in folder:
                text = re.sub(rf"{re.escape(folder)}(?![\w.-])", _PLACE, text)
        for database, table in self.tables:
            key = rf"(?:db|views)/{re.escape(database)}/{re.escape(table)}(?:/[^\s,;:]*)?"
            name = rf'"?{re.escape(database)}"?\."?{re.escape(table)}"?(?:@\w+)?'
            text = re.sub(rf"(?<![\w./]){key}(?![\w])|(?<![\w.]){name}(?!\w)", self.instead, text)
        return text

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
