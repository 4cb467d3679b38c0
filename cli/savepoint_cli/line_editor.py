"""A prompt with history, completion and several lines, by the library of the extra "prompt"."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyPressEvent

_WORD = re.compile(r'[\w."$-]*$')


def editing_reader(
    words: Callable[[str, str], list[str]],
    is_whole: Callable[[str], bool],
    beginning: str,
    continued: str,
) -> Callable[[], str]:
    """Reads texts of one or several lines, which begin with the two marks.

    Args:
        words: Names to complete, by the text before the cursor and by the whole text.
        is_whole: Whether Enter submits a text.
        beginning: The mark of a text.
        continued: The mark of its further lines.
    """
    session: PromptSession[str] = PromptSession(
        beginning,
        multiline=True,
        prompt_continuation=continued,
        key_bindings=_bindings(is_whole),
        completer=_Names(words),
        complete_while_typing=False,
        history=_history(),
    )
    return session.prompt


class _Names(Completer):
    def __init__(self, words: Callable[[str, str], list[str]]) -> None:
        self._words = words

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterator[Completion]:
        start = _WORD.search(document.text_before_cursor)
        word = start[0] if start else ""
        for name in self._words(document.text_before_cursor, document.text):
            if name.casefold().startswith(word.casefold()):
                yield Completion(name, -len(word))


def _bindings(is_whole: Callable[[str], bool]) -> KeyBindings:
    bindings = KeyBindings()

    @Condition
    def is_submitted() -> bool:
        return is_whole(get_app().current_buffer.text)

    @bindings.add("enter", filter=is_submitted)
    def _accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings


def _history() -> History:
    """Earlier statements, from the user's state folder, or else only of this session."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    file = Path(state, "savepoint-state-processor", "history")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))
