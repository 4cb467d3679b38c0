"""Which keys a condition lets pass, and which columns it is about.

DuckDB hands conditions to a dataset as Arrow's expressions, which tell nothing of themselves. Their
stored form does: a record batch whose metadata is the expression, element by element, in order;
constants and options are its columns. Names come several times in that metadata, so it is read as
Arrow's C data interface has it.

| name             | value                                                                   |
|------------------|-------------------------------------------------------------------------|
| call             | the function; its arguments follow, up to ``end``                       |
| literal          | the number of the column that has the constant                          |
| field_ref        | the name of a column                                                    |
| nested_field_ref | how many ``field_ref`` follow, which lead to the field of a struct      |
| options          | the number of the column that has the options of the call, behind its   |
|                  | arguments                                                               |

Arrow: ``compute::Serialize`` of ``Expression``.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.compute as pc

_AND = {"and", "and_kleene"}
_OR = {"or", "or_kleene"}


@dataclass(frozen=True, slots=True)
class _Call:
    function: str
    arguments: tuple[Any, ...]
    options: Any


@dataclass(frozen=True, slots=True)
class _Field:
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Literal:
    value: Any


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the rows of a table.

    Attributes:
        columns: The names of the columns that it is about.
        keys: No row of another key fulfils it; None if it tells nothing of keys.
    """

    columns: tuple[str, ...]
    keys: tuple[Any, ...] | None

    @classmethod
    def of(cls, expression: pc.Expression, key: str) -> Condition:
        """What an expression tells.

        Args:
            expression: It is about columns by their names.
            key: The name of the column that has the keys.
        """
        _, (stored, *_) = expression.__reduce__()
        with pa.ipc.open_file(stored) as file:
            batch = file.get_batch(0)
        tree = _tree(iter(_metadata(batch.schema)), batch)
        keys = _keys(tree, _Field((key,)))
        return cls(tuple(dict.fromkeys(_columns(tree))), None if keys is None else tuple(keys))


def _tree(elements: Iterator[tuple[str, str]], batch: pa.RecordBatch) -> Any:
    """The next expression."""
    name, value = next(elements)
    match name:
        case "literal":
            return _Literal(batch.column(int(value))[0].as_py())
        case "field_ref":
            return _Field((value,))
        case "nested_field_ref":
            return _Field(tuple(next(elements)[1] for _ in range(int(value))))
        case "call":
            return _call(value, elements, batch)
        case _:
            raise ValueError(f"an expression of Arrow with a {name}, which is not known")


def _call(function: str, elements: Iterator[tuple[str, str]], batch: pa.RecordBatch) -> _Call:
    arguments: list[Any] = []
    options = None
    for name, value in elements:
        if name == "end":
            return _Call(function, tuple(arguments), options)
        if name == "options":
            options = batch.column(int(value))[0].as_py()
        else:
            arguments.append(_tree(chain([(name, value)], elements), batch))
    raise ValueError(f"an expression of Arrow with a call of {function} that does not end")


def _columns(tree: Any) -> Iterator[str]:
    match tree:
        case _Field((column, *_)):
            yield column
        case _Call(_, arguments):
            for argument in arguments:
                yield from _columns(argument)


def _keys(tree: Any, key: _Field) -> frozenset[Any] | None:
    """The keys that fulfil a condition, if it tells; perhaps more, never fewer."""
    match tree:
        case _Call("equal", (field, _Literal(value)) | (_Literal(value), field)) if field == key:
            return _plain([value])
        case _Call("is_in", (field,), {"value_set": values}) if field == key:
            return _plain(values)
        case _Call("if_else", (_, wanted, _Literal(None | False))):
            return _keys(wanted, key)
        case _Call(function, (first, second)) if function in _AND:
            left, right = _keys(first, key), _keys(second, key)
            return left & right if left is not None and right is not None else left or right
        case _Call(function, (first, second)) if function in _OR:
            left, right = _keys(first, key), _keys(second, key)
            return left | right if left is not None and right is not None else None
        case _:
            return None


def _plain(values: list[Any]) -> frozenset[Any] | None:
    """Keys whose equality is the same to Arrow, DuckDB and Java; not that of floating point."""
    is_plain = all(isinstance(value, bool | int | str) for value in values)
    return frozenset(values) if is_plain else None


class _ArrowSchema(ctypes.Structure):
    """The first fields of ``struct ArrowSchema`` of Arrow's C data interface."""

    _fields_: ClassVar = [
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
    ]


def _metadata(schema: pa.Schema) -> list[tuple[str, str]]:
    """The metadata of a schema, in order, with all that have one name.

    | bytes | field  | meaning                                     |
    |-------|--------|---------------------------------------------|
    | i32   | n      | number of pairs, in the machine's own order |
    | n     | pairs  | i32 and bytes of a name, the same of a value |
    """
    capsule = schema.__arrow_c_schema__()
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    exported = _ArrowSchema.from_address(pointer_of(capsule, b"arrow_schema"))
    if not exported.metadata:
        return []
    position = exported.metadata

    def number() -> int:
        nonlocal position
        position += 4
        return ctypes.c_int32.from_address(position - 4).value

    def text() -> str:
        nonlocal position
        size = number()
        position += size
        return ctypes.string_at(position - size, size).decode()

    return [(text(), text()) for _ in range(number())]
