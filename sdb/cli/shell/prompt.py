"""The line editor of `sdb shell`: history, completion, several lines; by way of prompt_toolkit."""

from __future__ import annotations

import os
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

from sdb.cli.shell.suggestions import command
from sdb.query.syntax.lexer import is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyPressEvent

    from sdb.cli.shell.suggestions import Suggestions


class _Completer(Completer):
    def __init__(self, suggestions: Suggestions) -> None:
        self._suggestions = suggestions

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterator[Completion]:
        begun, words = self._suggestions(document.text_before_cursor, document.text)
        for word in words:
            yield Completion(word, start_position=-len(begun))


def editor(suggestions: Suggestions) -> PromptSession[str]:
    """Return the editor."""
    return PromptSession(
        "sdb> ",
        multiline=True,
        prompt_continuation="...> ",
        completer=_Completer(suggestions),
        complete_while_typing=False,
        history=_history(),
        key_bindings=_keys(),
        enable_open_in_editor=True,
    )


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif (
            command(buffer.text) or is_whole(buffer.text)
        ) and not buffer.document.text_after_cursor.strip():
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


def _history() -> History:
    """Return what was typed in earlier sessions, which is the user's alone to read."""
    above = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(above if above.startswith("/") else "~/.local/state").expanduser() / "sdb"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / "history"
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
