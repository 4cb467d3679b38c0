"""Options that a command takes together, as one object: its own, and those that an extension adds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any

from savepoint_cli.command_table import ADDED
from savepoint_formats.lazy_names import named

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., None]


def collected(
    name: str, kind: type, *options: Callable[[Function], Function]
) -> Callable[[Function], Function]:
    """Gives a command options, and passes their values as one ``kind`` named ``name``."""

    def decorate(command: Function) -> Function:
        @wraps(command)
        def call(**values: Any) -> None:
            ours = {field.name: values.pop(field.name) for field in fields(kind)}
            command(**values, **{name: kind(**ours)})

        decorated: Function = call
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


@dataclass(frozen=True, slots=True)
class AddedOptions:
    """Options that an extension adds to a command.

    Attributes:
        kind: A dataclass of their values.
        options: The options.
        help: What the command's help says about them.
        answers: Given their values and those of the command, answers in its place; False if it
            doesn't.
    """

    kind: type
    options: tuple[Callable[[Function], Function], ...]
    help: str
    answers: Callable[[Any, dict[str, Any]], bool]


def added(name: str) -> Callable[[Function], Function]:
    """Gives the command of a name the options of an extension; see ``ADDED``."""

    def decorate(command: Function) -> Function:
        more: AddedOptions = named(ADDED[name])

        @wraps(command)
        def call(*, more_values: Any, **values: Any) -> None:
            if not more.answers(more_values, values):
                command(**values)

        call.__doc__ = f"{command.__doc__}\n    {more.help}\n"
        return collected("more_values", more.kind, *more.options)(call)

    return decorate
