"""Advice in errors, which a command may be unable to follow because it lacks the option."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    import click

_BORDER = re.compile(r"(; |, or )")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def options_of(command: click.Command) -> frozenset[str]:
    """All names of a command's options."""
    return frozenset(name for option in command.params for name in option.opts)


def followable(message: str, options: AbstractSet[str]) -> str:
    """Replaces advice to use options that a command lacks by the name of the command that has them.

    Args:
        message: An error: what is wrong, then advice, separated by ``; `` and ``, or ``.
        options: The options that the command has.
    """
    first, *rest = _BORDER.split(message)
    kept, lacking = first, dict[str, None]()
    for border, advice in zip(rest[::2], rest[1::2], strict=True):
        missing = [name for name in _OPTION.findall(advice) if name not in options]
        if missing and "savepoint " not in advice:
            lacking |= dict.fromkeys(missing)
        else:
            kept += border + advice
    return f"{kept}; savepoint query takes {' and '.join(lacking)}" if lacking else kept
