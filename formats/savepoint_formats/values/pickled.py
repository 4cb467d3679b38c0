"""Pickled values of PyFlink state, read without running anything.

PyFlink stores what Python pickled, as bytes. Unpickling runs whatever code the bytes name, so that
nothing in this project does it by itself; who asks for it here gets plain data only. A pickle that
names anything else is refused.

| bytes | field  | meaning                        |
|-------|--------|--------------------------------|
| i32   | size   | of the pickle, big endian      |
| …     | pickle | as ``cloudpickle`` writes it   |

PyFlink: ``PickleCoder``.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UndecodableError

_PLAIN = {
    ("builtins", "bytearray"),
    ("builtins", "complex"),
    ("builtins", "frozenset"),
    ("builtins", "set"),
    ("collections", "OrderedDict"),
    ("datetime", "date"),
    ("datetime", "datetime"),
    ("datetime", "time"),
    ("datetime", "timedelta"),
    ("datetime", "timezone"),
    ("decimal", "Decimal"),
    ("uuid", "UUID"),
}


class _PlainUnpickler(pickle.Unpickler):
    """Knows the classes of plain data, and no function at all."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PLAIN:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no plain data")
        return super().find_class(module, name)


def unpickle_plain(data: bytes) -> Any:
    """The value of a pickle that holds plain data only.

    Args:
        data: The pickle, with PyFlink's size in front or without.

    Raises:
        UndecodableError: It is damaged, or names a class or function that is no plain data.

    Example:
        >>> unpickle_plain(row["python-state-total"][0])
    """
    view = DataInputView(data, "<pickle>")
    if len(data) > 4 and view.peek_int() == len(data) - 4:
        view.read_int()
    try:
        return _PlainUnpickler(io.BytesIO(view.read_rest())).load()
    # A damaged pickle makes the interpreter of its instructions fail in any of these ways.
    except (
        pickle.UnpicklingError,
        AttributeError,
        EOFError,
        ImportError,
        IndexError,
        KeyError,
        MemoryError,
        OverflowError,
        TypeError,
        ValueError,
    ) as error:
        raise UndecodableError(f"no plain pickle: {error}", "<pickle>", 0) from error
