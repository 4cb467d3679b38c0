"""Results of ``separation``: ends of values that cannot be decoded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Hides = Literal["nothing", "fields", "all"]
"""Values that may hide in the bytes of one that cannot be decoded.

| value   | then                                                          |
|---------|---------------------------------------------------------------|
| nothing | any hidden value is an error                                  |
| fields  | hidden fields are null; hidden elements are an error          |
| all     | hidden elements and entries are missing                       |
"""


def hidden_advice(wanted: str) -> str:
    """Advice for an error that ``undescribed_subclasses=wanted`` avoids."""
    return (
        "; describe the class (kryo_classes, --classes), or see what can be told apart with"
        f" undescribed_subclasses={wanted!r} (--undescribed-subclasses {wanted})"
    )


@dataclass(frozen=True, slots=True)
class HiddenEnds:
    """Offsets of values that cannot be decoded.

    Attributes:
        of_values: Start of a value -> its end.
        of_elements: Start of the first element of a collection -> the starts of all, and the end of
            the last one. An element may hide more.
    """

    of_values: dict[int, int] = field(default_factory=dict)
    of_elements: dict[int, tuple[int, ...]] = field(default_factory=dict)
