"""Classes of the user, described or not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from savepoint_formats.layout import KryoClass

DescribedClasses = Iterable[KryoClass] | str | os.PathLike[str]
"""Results of ``kryo_class``, or the path of a file that describes classes."""


@dataclass(frozen=True, slots=True)
class ClassToDescribe:
    """A class of the user in values, whose fields are unknown.

    Attributes:
        class_name: Its full name.
        values: State (``operator/state``) -> number of values in which the class is the first unknown
            one, behind which nothing can be read.
        superclass: The POJO of which it is a subclass that no serializer describes; empty where Kryo
            wrote its objects.
        collections: Fields, as ``operator: state 'name': class.field``, whose elements a migration to
            Flink 2 must know, where the class is a POJO around them.
    """

    class_name: str
    values: Mapping[str, int]
    superclass: str = ""
    collections: tuple[str, ...] = ()

    @property
    def is_pojo(self) -> bool:
        """Whether the savepoint says that Flink takes it as a POJO."""
        return bool(self.superclass or self.collections)
