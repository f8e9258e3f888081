"""Errors of queries that ran out of memory, or of room to put things aside."""

from __future__ import annotations

from sdb.errors import SdbError

_OUT_OF_MEMORY = "Out of Memory"
_NO_ROOM = ("failed to offload", "max_temp_directory_size", "No space left")


def exhausted(error: BaseException) -> SdbError | None:
    """Give the error that tells what ran out, or None where nothing did.

    Parameters
    ----------
    error : exception
        An error of the engine, of what reads its rows, or of Python.

    Returns
    -------
    SdbError or None
        It says whether memory was too little, or the folder for what does not fit into it.
    """
    text = str(error).strip()
    lines = text.splitlines() or [type(error).__name__]
    if any(words in text for words in _NO_ROOM):
        import tempfile

        folder = tempfile.gettempdir()
        return SdbError(
            f"{folder} has no room for what the query cannot keep in memory: {lines[0]}",
            hint="let TMPDIR name a folder with more room, or allow more with --memory",
            path=folder,
        )
    if _OUT_OF_MEMORY in text or isinstance(error, MemoryError):
        return SdbError(
            f"the query needs more memory than it may have: {lines[0]}",
            hint="allow more with --memory, or ask for fewer groups, columns or rows at a time",
        )
    return None
