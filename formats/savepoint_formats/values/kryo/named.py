"""Objects of undescribed classes whose fields a serializer of POJOs names.

Kryo writes fields in the order of their names. The serializer does not tell whether a number is an
object, whether a class is final, or the declared type of a list. All ways are tried; an object is
read if it fits in only one way.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from savepoint_formats.errors import FormatError
from savepoint_formats.layout import KryoClass
from savepoint_formats.values.kryo.body import read_field
from savepoint_formats.values.kryo.graph import KryoGraph
from savepoint_formats.values.kryo.objects import KryoObject, json_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from savepoint_formats.bytes.data_view import DataInputView
    from savepoint_formats.layout import Kryo, KryoField
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.dialect import KryoDialect

_MOST_TRIALS = 256

Choices = dict[Hashable, object]


class _UndecidedError(Exception):
    """A choice must be made before an object can be read further."""

    def __init__(self, what: Hashable, options: Sequence[object]) -> None:
        super().__init__(what)
        self.what, self.options = what, options


def named_objects(layout: Kryo, view: DataInputView, dialect: KryoDialect) -> set[tuple[int, str]]:
    """All ways in which an object fits: its end, and its content as JSON.

    There are none if an object in it has a class whose fields have no known names.
    """
    enums = (
        KryoClass(known.class_name, constants=known.constants)
        for known in layout.named
        if known.constants
    )
    dialect = replace(dialect, classes=(*enums, *dialect.classes))
    start, left, trials = view.position, [Choices()], 0
    fitting: set[tuple[int, str]] = set()
    while left:
        choices, trials = left.pop(), trials + 1
        view.position = start
        graph = _NamedGraph(layout, view, dialect, choices)
        try:
            text = json_text(graph.read_class_and_object())
        except _UndecidedError as undecided:
            left += [{**choices, undecided.what: option} for option in undecided.options]
        except (FormatError, ValueError):
            if graph.unknown is not None:
                return set()
        else:
            fitting.add((view.position, text))
        if trials + len(left) > _MOST_TRIALS:
            return set()
    return fitting


class _NamedGraph(KryoGraph):
    """Reads a graph up to the first field without a choice."""

    def __init__(
        self,
        layout: Kryo,
        view: DataInputView,
        dialect: KryoDialect,
        choices: Mapping[Hashable, object],
    ) -> None:
        super().__init__(layout, view, dialect)
        self._choices = choices
        self._named = {known.class_name: known for known in layout.named}
        self._described = {known.class_name for known in dialect.classes} - self._named.keys()

    def read_unknown(self, class_name: str) -> Value:
        """The fields that a serializer names."""
        named = self._named.get(class_name)
        if named is None or named.constants:
            return self.refuse_unknown(class_name)
        values: dict[str, Value] = {}
        for options in sorted(named.fields, key=lambda some: some[0].name):
            values[options[0].name] = self._read_field(class_name, options)
        return KryoObject(class_name, values)

    def _read_field(self, class_name: str, options: tuple[KryoField, ...]) -> Value:
        field = self._chosen((class_name, options[0].name), options)
        of_job = "." in field.type and not field.type.startswith(("java.", "["))
        if of_job and field.type not in self._described:
            if self._chosen(field.type, (False, True)):
                return self.read_object_or_null(field.type)
            return self.read_class_and_object(field.arguments)
        return read_field(field, self)

    def _chosen(self, what: Hashable, options: Sequence[Value]) -> Value:
        if len(options) == 1:
            return options[0]
        if what not in self._choices:
            raise _UndecidedError(what, options)
        return self._choices[what]
