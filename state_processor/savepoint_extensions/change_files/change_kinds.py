"""Kinds of changes: rows of the table that reads, applies and describes the entries of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_extensions.change_files.change_words import words_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from savepoint_extensions.change_files.change_words import ChangeWord, Words
    from state_processor import PlannedOperator, SavepointWriter


def _never(_words: Words) -> bool:
    return False


def _no_mistake(_words: Words) -> str:
    return ""


def _as_they_are(words: Words) -> Words:
    return words


def present_names(operator: PlannedOperator) -> dict[str, str]:
    """The present names of the states of an operator, by their names in the savepoint."""
    if operator.source is None:
        return {}
    # A copy asks for no change, whose module imports Spark.
    change = None if operator.is_copied else operator.change
    states = (operator.source if change is None else change.stages[0].operator).catalog.states
    present: dict[str, str | None] = {state.name: state.name for state in states}
    for stage in () if change is None else change.stages:
        present = {
            stored: None if name is None else stage.names.get(name, name)
            for stored, name in present.items()
        }
    return {stored: name for stored, name in present.items() if name is not None}


def states_by_word(operator: PlannedOperator, words: Words) -> Iterable[str]:
    """The state that a word names, or all states of an operator by their present names."""
    state = words.get("state")
    return (state,) if isinstance(state, str) else present_names(operator).values()


@dataclass(frozen=True, slots=True)
class ChangeKind:
    """A kind of change: an entry of a file, and the command of the same name, if there is one.

    Attributes:
        name: The name of the entry, and of the command.
        help: One line about it.
        words: The words of an entry.
        make: Makes the change. It gets a writer of the savepoint, as changed so far, and the values
            of all words by their names. It returns another writer.
        mistake: What is wrong with words together; empty if nothing is.
        needs_session: Whether the change needs a session of Spark before anything is written.
        of_command: Makes the words of an entry from the parameters of the command, where they differ.
        states: The states of a planned operator that the change touches.
    """

    name: str
    help: str
    words: tuple[ChangeWord, ...]
    make: Callable[[SavepointWriter, Words], SavepointWriter]
    mistake: Callable[[Words], str] = _no_mistake
    needs_session: Callable[[Words], bool] = _never
    of_command: Callable[[Words], Words] = _as_they_are
    states: Callable[[PlannedOperator, Words], Iterable[str]] = states_by_word

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the words of an entry."""
        return {"description": self.help} | words_schema(self.words)
