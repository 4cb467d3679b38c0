"""Rows that a function gives beside its output, each under the tag of a side output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql.types import StructType

    from savepoint_spark.reading.functions import OutputRow


@dataclass(frozen=True)
class OutputTag:
    """A side output of a function.

    Attributes:
        name: Its name, which no other side output of the function has.
        schema: The columns of its rows, as a schema of Spark or as a DDL string.

    Example:
        >>> LATE = OutputTag("late", "account BIGINT, cents BIGINT")
    """

    name: str
    schema: StructType | str


class SideOutputs:
    """Rows that a function has given to side outputs and that nobody has taken yet.

    ``given`` has the rows by name of tag, each with the place that it was given for.
    """

    def __init__(self, function: object) -> None:
        self._function = type(function).__name__
        tags: Iterable[OutputTag] = getattr(function, "side_outputs", ())
        self.given: dict[str, list[tuple[object, Any]]] = {tag.name: [] for tag in tags}

    def add(self, tag: OutputTag, place: object, row: OutputRow) -> None:
        """Adds a row; ``place`` is for messages. Raises ``ValueError`` for an unknown tag."""
        if tag.name not in self.given:
            raise ValueError(
                f"{self._function} has no side output {tag.name!r}: name all tags that it gives rows"
                f" to in side_outputs; it has: {', '.join(self.given) or 'none'}"
            )
        self.given[tag.name].append((place, row))

    def clear(self) -> None:
        for rows in self.given.values():
            rows.clear()


def side_outputs(function: object) -> tuple[OutputTag, ...]:
    """The side outputs that a function names. Raises ``ValueError`` if two have the same name."""
    tags: tuple[OutputTag, ...] = tuple(getattr(function, "side_outputs", ()))
    names = [tag.name for tag in tags]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{type(function).__name__} has two side outputs {twice[0]!r}")
    return tags


def expect_one_output(function: object) -> None:
    """Raises ``ValueError`` if a function for a stream has side outputs."""
    if tags := side_outputs(function):
        raise ValueError(
            f"{type(function).__name__} has side output {tags[0].name!r}, but a stream, and the backlog"
            " in front of it, have one output: give its rows as rows of the function"
        )
