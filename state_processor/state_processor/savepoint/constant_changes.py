"""Changes of the constants of enums: a changed class finds its values again.

Flink refuses a state whose enum has lost a constant, even if no value has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor.savepoint.state_changes import StateChanges

if TYPE_CHECKING:
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
        from savepoint_extensions.enums.changed_constants import with_new_name  # noqa: PLC0415  # loads no extension before it is used

        return with_new_name(self.writer(), enum_class, old, new, uid)

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
        from savepoint_extensions.enums.changed_constants import without  # noqa: PLC0415  # as above

        return without(self.writer(), enum_class, constant, uid)
