"""Pickled values of PyFlink state, read without running anything.

PyFlink stores pickles of Python as bytes. Unpickling runs any code that the bytes name, so this project
never unpickles unasked. Here you get plain data only; a pickle that names anything else is refused.

| bytes | field  | meaning                        |
|-------|--------|--------------------------------|
| i32   | size   | of the pickle, big endian      |
| …     | pickle | as ``cloudpickle`` writes it   |

PyFlink: ``PickleCoder``.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, ClassVar

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UndecodableError

_PLAIN = {
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


def _bytearray(content: bytes | str, *encoding: str) -> bytearray:
    """A bytearray of bytes or a text; a number would become so many zeros."""
    return bytearray(content.encode(*encoding) if isinstance(content, str) else bytes(content[:]))


_BYTEARRAY = pickle.BYTEARRAY8[0]


# The unpickler in C reserves memory for any object number that a few bytes name.
_Unpickler: Any = pickle._Unpickler


class _PlainUnpickler(_Unpickler):  # type: ignore[misc]
    """Knows the classes of plain data, and no functions."""

    dispatch: ClassVar = dict(_Unpickler.dispatch)

    def _load_bytearray(self) -> None:
        """Reads the bytes that are there; Python's own first makes zeros of the claimed size."""
        size = int.from_bytes(self.read(8), "little")
        self.append(bytearray(self.read(size)))

    dispatch[_BYTEARRAY] = _load_bytearray

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "bytearray"):
            return _bytearray
        if (module, name) not in _PLAIN:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no plain data")
        return super().find_class(module, name)


def unpickle_plain(data: bytes) -> Any:
    """The value of a pickle of plain data, with or without PyFlink's size in front.

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
    # A damaged pickle makes the interpreter of its instructions fail in any way.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise UndecodableError(f"no plain pickle: {reason}", "<pickle>", 0) from error
