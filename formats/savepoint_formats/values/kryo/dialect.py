"""The dialect of Kryo's object graphs: version and classes, which their bytes do not tell.

Flink 1.x writes with Kryo 2.24, Flink 2.x with 5.6. Objects of user classes have neither field
names nor types.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from savepoint_formats.layout import KryoClass, Layout, written_kryo


class KryoVersion(enum.Enum):
    """The Kryo that wrote the bytes."""

    V2_24 = "2.24"
    V5_6 = "5.6"


@dataclass(frozen=True, slots=True)
class KryoDialect:
    """How to read the bytes of Kryo.

    Attributes:
        version: The Kryo of the Flink that wrote them; metadata up to version 4 has 2.24.
        classes: The user's classes.
        first_id: The number of the first class that a snapshot registers: 85 with the classes of
            Flink's distribution, 10 if the job had only Flink's core.
        python_types: States of an operator of PyFlink, and their types as the user told them.
    """

    version: KryoVersion
    classes: tuple[KryoClass, ...] = ()
    first_id: int = 85
    python_types: tuple[tuple[str, str], ...] = ()

    @property
    def is_5(self) -> bool:
        """Whether it is Kryo 5."""
        return self.version is KryoVersion.V5_6


def written_dialect(layout: Layout) -> KryoDialect | None:
    """The Kryo that a layout's objects are written for; None if none are."""
    kryo = written_kryo(layout)
    return None if kryo is None else KryoDialect(KryoVersion(kryo.version), kryo.classes)
