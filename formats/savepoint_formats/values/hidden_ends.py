"""What ``separation`` finds out, for the general path to go by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Hides = Literal["nothing", "fields", "all"]
"""What may be among the bytes of a value that cannot be decoded, so that it is missing.

| value   | then                                                           |
|---------|----------------------------------------------------------------|
| nothing | it is an error if anything is                                  |
| fields  | fields behind it may be, and are null; of lists all must be there |
| all     | elements and entries may be, too, so that there are fewer      |
"""


def hidden_advice(wanted: str) -> str:
    """What to do about an error, where ``wanted`` of ``undescribed_subclasses`` shows more."""
    return (
        "; describe the class (kryo_classes, --classes), or see what can be told apart with"
        f" undescribed_subclasses={wanted!r} (--undescribed-subclasses {wanted})"
    )


@dataclass(frozen=True, slots=True)
class HiddenEnds:
    """Where values end that cannot be decoded, all as offsets.

    Attributes:
        of_values: Where one begins -> where it ends.
        of_elements: Where the first element of a collection begins -> where each one begins, and
            where the last one ends. In an element more may be hidden.
    """

    of_values: dict[int, int] = field(default_factory=dict)
    of_elements: dict[int, tuple[int, ...]] = field(default_factory=dict)
