"""Changes of the constants of enums: a changed class finds its values again.

Flink refuses a state whose enum has lost a constant, even if no value has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import ClassNotNamedError, SchemaChangeError
from savepoint_formats.printable import alternatives, without_secrets
from savepoint_formats.snapshots.enum_constants import ConstantChange
from state_processor.savepoint.state_changes import StateChanges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_spark.changing.changed_operator import ChangedOperator
    from state_processor.savepoint.writer import SavepointWriter


class ConstantChanges(StateChanges):
    """Changes of constants; see ``StateChanges``."""

    __slots__ = ()

    def rename_constant(
        self, enum_class: str, old: str, new: str, *, uid: str | None = None
    ) -> SavepointWriter:
        """Gives a constant of a Java enum another name, wherever serializers name it.

        Only headers change, because values have the place of a constant. Kryo has no names either,
        so what Kryo wrote needs no change.

        Args:
            enum_class: The class of the enum, as ``Class.getName`` gives it: inner classes with ``$``.
            old: The constant.
            new: Its name in the new job.
            uid: The operator; all by default.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            ClassNotNamedError: No serializer names the enum, or none names the constant; the message
                lists the constants.
            SchemaChangeError: The enum has a constant of the new name, or Java's serialization has
                written the old one into a value.

        Example:
            >>> savepoint.rename_constant("shop.Metric", "RATE_AT_MOST", "RATE_BELOW")
        """
        from savepoint_spark.changing.order import StageRule  # noqa: PLC0415  # Spark is slow

        writer = self.writer().ready_for(StageRule.CONSTANT_NAMES, uid)
        change = ConstantChange(enum_class, old, new)
        for name in _named_in(writer.changes_of(uid), change):
            writer = writer.changed(name, lambda operator: operator.with_constant(change))
        return writer

    def drop_constant(
        self, enum_class: str, constant: str, *, uid: str | None = None
    ) -> SavepointWriter:
        """Leaves out a constant of a Java enum that no key, value, element or timer has.

        Values are encoded anew, because they have the place of a constant. All of them are read
        first.

        Args:
            enum_class: The class of the enum, as in ``rename_constant``.
            constant: The constant.
            uid: The operator; all by default.

        Raises:
            OperatorNotFoundError, ClassNotNamedError: As ``rename_constant``.
            SchemaChangeError: The constant is used; the message counts the values by state. Or objects
                of Kryo have constants of the enum, whose places only the class tells.
            UndecodableError: A value around a constant can't be decoded.

        Example:
            >>> savepoint.drop_constant("shop.Metric", "OLD_ONE").write("s3://jobs/tidied")
        """
        from savepoint_spark.changing.order import StageRule  # noqa: PLC0415  # Spark is slow

        writer = self.writer().ready_for(StageRule.DROPPED_CONSTANT, uid)
        change = ConstantChange(enum_class, constant, None)
        operators = writer.changes_of(uid)
        named = _named_in(operators, change)
        uses = {name: operators[name].constant_uses(change) for name in named}
        if any(uses.values()):
            raise _used(change, uses, writer)
        for name in named:
            writer = writer.changed(name, lambda operator: operator.with_constant(change))
        return writer


def _named_in(operators: Mapping[str, ChangedOperator], change: ConstantChange) -> list[str]:
    """The operators whose serializers name the constant."""
    # Tries all of them, because each may have the name where it cannot be changed.
    named = [name for name, operator in operators.items() if operator.changes_constant(change)]
    if named:
        return named
    enums: dict[str, dict[str, None]] = {}
    for operator in operators.values():
        for enum_class, constants in operator.constants().items():
            enums.setdefault(enum_class, {}).update(dict.fromkeys(constants))
    if change.enum_class in enums:
        raise ClassNotNamedError(
            f"enum {change.enum_class} has no constant {change.old!r};"
            f" {alternatives(change.old, enums[change.enum_class])}"
        )
    raise ClassNotNamedError(
        f"no serializer has constants of {change.enum_class}, and values of Kryo have none by name;"
        f" {alternatives(change.enum_class, enums)}"
    )


def _used(
    change: ConstantChange, uses: Mapping[str, Mapping[str, int]], writer: SavepointWriter
) -> SchemaChangeError:
    places = ", ".join(
        f"{count} in state {state!r} of operator {name}"
        for name, counts in uses.items()
        for state, count in counts.items()
    )
    total = sum(sum(counts.values()) for counts in uses.values())
    path = "PATH" if writer.source is None else without_secrets(writer.source.path)
    return SchemaChangeError(
        f"constant {change.old!r} of {change.enum_class} is used {total} times: {places}. Give these"
        f" values another one by update_state first; savepoint find {path} {change.old} lists them"
    )
