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
    """Of bytes or a text, as pickles have one; of a number it would be so many zeros."""
    return bytearray(content.encode(*encoding) if isinstance(content, str) else bytes(content[:]))


_BYTEARRAY = pickle.BYTEARRAY8[0]


# That of C takes memory for any number that a few bytes say is that of an object.
_Unpickler: Any = pickle._Unpickler


class _PlainUnpickler(_Unpickler):  # type: ignore[misc]
    """Knows the classes of plain data, and no function at all."""

    dispatch: ClassVar = dict(_Unpickler.dispatch)

    def _load_bytearray(self) -> None:
        """As many bytes as there are; Python's own makes as many zeros first as the size says."""
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
    # A damaged pickle makes the interpreter of its instructions fail in any way.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise UndecodableError(f"no plain pickle: {reason}", "<pickle>", 0) from error
