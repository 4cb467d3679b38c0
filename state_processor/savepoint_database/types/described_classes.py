"""Classes of the user: those that somebody described, and those that nobody has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from savepoint_formats.layout import KryoClass

DescribedClasses = Iterable[KryoClass] | str | os.PathLike[str]
"""Classes as ``kryo_class`` makes them, or the path of a file that describes them."""


@dataclass(frozen=True, slots=True)
class ClassToDescribe:
    """A class of the user in values, of which nobody has said what fields it has.

    Attributes:
        class_name: Its full name.
        values: State -> in how many values it is the first that is not known, behind which nothing
            can be read; states are named ``operator/state``.
        superclass: The POJO that its values stand for, where it is a subclass that no serializer
            describes; empty where Kryo wrote its objects.
        collections: The fields of which a migration to Flink 2 must know what is in them, where
            the class is a POJO around them: ``operator: state 'name': class.field``.
    """

    class_name: str
    values: Mapping[str, int]
    superclass: str = ""
    collections: tuple[str, ...] = ()

    @property
    def is_pojo(self) -> bool:
        """Whether the savepoint says that Flink takes it as a POJO."""
        return bool(self.superclass or self.collections)
