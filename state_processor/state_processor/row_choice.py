"""Which rows and columns of keyed state are wanted, as its readers are asked for them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class RowChoice:
    """What of a table is wanted; the attributes are the arguments of ``read_keyed_state``."""

    columns: Sequence[str] | None = None
    keys: Sequence[Any] | None = None
    flat: str | None = None
    with_key_group: bool = False
    with_times: bool = False

    def __post_init__(self) -> None:
        for name in ("columns", "keys"):
            # A text is a sequence, too: of letters, which nobody means.
            if isinstance(given := getattr(self, name), str | bytes):
                raise TypeError(f"{name} are {given!r}, expected a list: {name}=[{given!r}]")

    def options(self) -> dict[str, Any]:
        """The options of the data source."""
        return {
            "columns": self.columns,
            "keys": self.keys,
            "flat": self.flat,
            "withKeyGroup": self.with_key_group,
            "withTimes": self.with_times,
        }

    def keys_of_function(self) -> tuple[Any, ...] | None:
        """The keys that a function is called for; None for all.

        Raises:
            ValueError: More was asked for, which a function decides itself, or does not see.
        """
        given = {
            "columns": self.columns is not None,
            "flat": self.flat is not None,
            "with_key_group": self.with_key_group,
            "with_times": self.with_times,
        }
        if refused := [name for name, is_given in given.items() if is_given]:
            raise ValueError(
                "a reader function takes no arguments but 'schema' and 'keys';"
                f" leave {', '.join(refused)} to reads without a function"
            )
        return None if self.keys is None else tuple(self.keys)


def option_text(value: Any) -> str:
    """An option of the data source as Spark takes it."""
    match value:
        case bool():
            return str(value).lower()
        case str() | int():
            return str(value)
        case _:
            return json.dumps(list(value), default=_plain)


def _plain(value: Any) -> str:
    """What JSON has no word for, as the option ``keys`` takes it."""
    return value.hex() if isinstance(value, bytes) else str(value)
