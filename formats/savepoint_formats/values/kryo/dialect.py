"""What must be known to read Kryo's object graphs, for it is not in them: version and classes.

Flink 1.x writes with Kryo 2.24, Flink 2.x with 5.6. Objects of user classes have neither field
names nor types; whoever knows the class can say how it looks.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from savepoint_formats.layout import KryoClass, KryoField, Layout, written_kryo

__all__ = ["KryoClass", "KryoDialect", "KryoField", "KryoVersion", "written_dialect"]


class KryoVersion(enum.Enum):
    """Which Kryo wrote the bytes."""

    V2_24 = "2.24"
    V5_6 = "5.6"


@dataclass(frozen=True, slots=True)
class KryoDialect:
    """How the bytes of Kryo are to be read.

    Attributes:
        version: Of the Kryo in the Flink that wrote them; metadata up to version 4 has 2.24.
        classes: The user's classes that occur.
        first_id: The number of the first class that a snapshot registers. It is 85 with the
            classes of Flink's distribution, and 10 where only Flink's core was at hand.
    """

    version: KryoVersion
    classes: tuple[KryoClass, ...] = ()
    first_id: int = 85

    @property
    def is_5(self) -> bool:
        """Whether it is Kryo 5."""
        return self.version is KryoVersion.V5_6


def written_dialect(layout: Layout) -> KryoDialect | None:
    """The Kryo that the objects in a layout are written for; None if none are."""
    kryo = written_kryo(layout)
    return None if kryo is None else KryoDialect(KryoVersion(kryo.version), kryo.classes)
