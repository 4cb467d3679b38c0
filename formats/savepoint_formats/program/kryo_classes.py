"""Classes in a program's graphs of Kryo, in the form that the kernel looks for in the bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.program.kernel import DIGIT_OPS, KRYO_OPS, OTHER_OPS
from savepoint_formats.program.kernel.kryo_objects import CLASS_SIZE, SINGLE, TRACKED
from savepoint_formats.program.kernel.ops import Op
from savepoint_formats.program.kryo_singles import SINGLES
from savepoint_formats.values.kryo.output import KryoOutput

if TYPE_CHECKING:
    import numpy.typing as npt

    from savepoint_formats.values.kryo.known_classes import KnownClasses

_FIRST_NUMBER = 2
_NO_NUMBER = -1


@dataclass(frozen=True, slots=True, eq=False)
class GraphClasses:
    """The classes of a program.

    Attributes:
        names: The bytes of all names.
        table: Four numbers per class, see ``kryo_objects``; the name is a position in ``names``.
        kernel: 2 if the program has ``OTHER_OPS``, 1 if it has ``DIGIT_OPS``, else 0.
    """

    names: npt.NDArray[np.uint8]
    table: npt.NDArray[np.int64]
    kernel: int

    def with_addresses(self) -> npt.NDArray[np.int64]:
        """The table with addresses of names; they are valid while this object lives."""
        table = self.table.copy()
        table[:, 1] += self.names.ctypes.data
        return table


class ClassTable:
    """The classes of an unfinished program."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self._rows: list[tuple[int, int, int, int]] = []
        self._names = bytearray()
        self._users: list[KnownClasses] = []

    def use(self, known: KnownClasses) -> None:
        """Sets the known classes among which ``number`` looks next."""
        self._users.append(known)

    def number(self, name: str) -> int:
        """The number of a class."""
        key = len(self._users), name
        if key not in self._numbers:
            self._numbers[key] = len(self._rows)
            self._add(name, self._users[-1])
        return self._numbers[key]

    def _add(self, name: str, known: KnownClasses) -> None:
        view = DataOutputView()
        KryoOutput(view, is_5=known.is_5).write_class_name(name)
        data = view.to_bytes()
        number = known.numbers.get(name, _NO_NUMBER - _FIRST_NUMBER) + _FIRST_NUMBER
        kind = TRACKED if known.has_references(name) else 0
        if name in SINGLES or known.is_enum(name) or name == "[B":
            kind |= SINGLE
        self._rows.append((number, len(self._names), len(data), kind))
        self._names += data

    def finished(self, ops: set[int]) -> GraphClasses | None:
        """The classes of a program with these instructions; None without graphs."""
        if Op.GRAPH not in ops:
            return None
        names = np.frombuffer(bytes(self._names), np.uint8)
        kernel = 2 if not ops <= KRYO_OPS - OTHER_OPS else int(not ops.isdisjoint(DIGIT_OPS))
        return GraphClasses(
            names, np.array(self._rows, np.int64).reshape(-1, CLASS_SIZE // 8), kernel
        )
