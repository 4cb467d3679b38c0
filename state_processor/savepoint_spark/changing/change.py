"""A change of an operator's stored state, whoever makes it.

A kind of change is a class of this shape, in the extension that it belongs to: a mask, a migration,
a sample of the keys. The writer knows none of them by name. ``order`` says which changes are made
together, by what each has done.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.pass_through import EntryChange, KeyChoice
    from savepoint_formats.snapshots import TypeSerializerSnapshot
    from savepoint_formats.state_files import StateMetaInfo, StateNames, Step
    from savepoint_formats.values import KryoDialect
    from savepoint_spark.changing.local_write import LocalKeyedPlan
    from savepoint_spark.changing.operator_changes import OperatorChanges
    from savepoint_spark.writing.keyed_plan import KeyedPlan
    from savepoint_spark.writing.operator_plan import ElementRows, NewOperatorState


class Part(Enum):
    """What the changes of a stage have done so far."""

    VALUES = auto()
    ENTRIES = auto()
    """Entries or elements are written anew, from their bytes."""
    SEALED = auto()
    """Entries are written anew by a change that gives classes in values no new names."""
    CHOICES = auto()
    DELETED = auto()
    CLASSES = auto()
    NAMED_CLASSES = auto()
    NAMING_VALUES = auto()
    CONSTANTS = auto()
    NAMES = auto()
    MERGED = auto()
    REMOVED = auto()


class Change:
    """A change of an operator's stored state; what a class doesn't define stays as it is.

    It knows states by their names in the savepoint, and is small, since tasks get parts of it.

    Attributes:
        does: What it has done, for the changes that come after it.
    """

    does: ClassVar[frozenset[Part]] = frozenset()

    @property
    def touched(self) -> frozenset[str]:
        """The states that are written anew; choices and merges touch all keyed ones besides."""
        return frozenset()

    @property
    def moves_keys(self) -> bool:
        """Whether keys of the same type get other values, and with them other hash codes."""
        return False

    @property
    def retypes_keys(self) -> bool:
        """Whether keys get another type."""
        return False

    def snapshots(self) -> Iterable[TypeSerializerSnapshot]:
        """The serializers that it brings."""
        return ()

    def choices(self) -> tuple[KeyChoice, ...]:
        """Select the keys that remain."""
        return ()

    def new_key(self, key: TypeSerializerSnapshot) -> TypeSerializerSnapshot:
        """The serializer of keys afterwards."""
        return key

    def new_info(self, info: StateMetaInfo) -> StateMetaInfo:
        """The header entry of a keyed state afterwards."""
        return info

    def new_kryo(self, kryo: KryoDialect) -> KryoDialect:
        """The Kryo of the objects in touched states afterwards."""
        return kryo

    def new_names(self, names: StateNames | None) -> StateNames | None:
        """The names of fields that no file has, afterwards."""
        return names

    def entries(self, hash_keys: HashKeys | None) -> EntryChange | None:
        """Writes keyed entries anew, or None; ``hash_keys`` as for a rescale."""
        del hash_keys
        return None

    def new_elements(self, state: NewOperatorState) -> tuple[tuple[Step, ...], NewOperatorState]:
        """What writes the elements of an operator state anew, and the state that they become."""
        return (), state

    def new_rows(self, rows: ElementRows) -> ElementRows:
        """The elements of an operator state, once they are written anew, or fewer of them."""
        return rows

    def merged(self, plan: LocalKeyedPlan) -> KeyedPlan:
        """The files of local state."""
        return plan

    def expect_followed(self, operator: str) -> None:
        """Raises ``SchemaChangeError`` if no later change can see its outcome."""

    def fields(self, stage: OperatorChanges, spark: SparkSession) -> Iterable[Any]:
        """Records about the fields that it masks, after a pass over the state of its stage."""
        del stage, spark
        return ()


@dataclass(frozen=True)
class ChosenKeys(Change):
    """Only the keys that ``choice`` selects remain."""

    choice: KeyChoice

    does: ClassVar = frozenset({Part.CHOICES})

    def choices(self) -> tuple[KeyChoice, ...]:
        """See ``Change``."""
        return (self.choice,)
