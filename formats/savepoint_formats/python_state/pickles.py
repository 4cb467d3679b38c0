"""Pickled values of PyFlink state, read without running anything.

Unpickling runs any code that the bytes name, so this project never unpickles. Its own machine
follows the opcodes. It knows only plain data: it imports nothing, and calls nothing that a pickle
names.

| bytes | field  | meaning                                              |
|-------|--------|------------------------------------------------------|
| i32   | size   | of the pickle, big endian                            |
| …     | pickle | opcodes of protocol 2 to 5, the last one is ``STOP`` |

| global                                              | value                                  |
|-----------------------------------------------------|----------------------------------------|
| ``datetime.date``, ``datetime``, ``time``           | of the packed bytes, and a zone        |
| ``datetime.timedelta``, ``timezone``                | of their numbers                       |
| ``decimal.Decimal``, ``uuid.UUID``                  | of a text; of the number in the state  |
| ``builtins.complex``, ``set``, ``frozenset``, ...   | of their contents                      |
| ``collections.OrderedDict``, ``deque``              | a dict, a list                         |
| ``pyflink.common.types._create_row``                | a dict of the fields, or a list        |

PyFlink: ``PickleCoder``, ``CloudPickleCoder``.
"""

from __future__ import annotations

import math
import pickletools
import warnings
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import UUID

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import UndecodableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MOST_VALUES = 64
"""Values per byte of a pickle; a few bytes can repeat a value without end."""

_DEEPEST = 64
"""Limit of nested containers."""

_MOST_COLLISIONS = 100
"""Limit of keys with one hash code; Python compares each with all others."""


class _RefusedError(Exception):
    """The pickle holds something that is not plain data."""


class _Global:
    """A name of a class or function: never imported."""

    def __init__(self, module: str, name: str) -> None:
        self.name = f"{module}.{name}"

    def __repr__(self) -> str:
        return self.name


class _Items(list[Any]):
    """Contents of a list, tuple, set or dict (as pairs) while the opcodes fill it."""

    def __init__(self, kind: Callable[[list[Any]], Any], items: list[Any]) -> None:
        super().__init__(items)
        self.kind = kind


class _Made:
    """An object that a global makes from arguments; ``state`` follows for a UUID."""

    def __init__(self, maker: _Global, arguments: list[Any]) -> None:
        self.maker, self.arguments, self.state = maker, arguments, None
        self.items: _Items | None = None
        if maker.name in ("collections.OrderedDict", "collections.deque"):
            self.items = _Items(dict if maker.name.endswith("Dict") else list, [])


_MARK = object()


def unpickle_plain(data: bytes) -> Any:
    """The value of a pickle of plain data, with or without PyFlink's size in front.

    Raises:
        UndecodableError: It is damaged, or names a class or function that is not plain data.

    Example:
        >>> unpickle_plain(row["total"][0]["bytes"])
    """
    view = DataInputView(data, "<pickle>")
    if len(data) > 4 and view.peek_int() == len(data) - 4:
        view.read_int()
    content = view.read_rest()
    try:
        machine = _Machine()
        with warnings.catch_warnings():
            # Texts of protocol 0 may have escapes that Python warns about.
            warnings.simplefilter("ignore", DeprecationWarning)
            for opcode, argument, _ in pickletools.genops(content):
                machine.step(opcode.name, argument)
        return _Values(_MOST_VALUES * len(content)).of(machine.result, 0)
    except _RefusedError as error:
        raise UndecodableError(f"not a plain pickle: {error}", "<pickle>", 0) from None
    # Damaged opcodes and numbers fail in these ways; memory is never asked for in advance.
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise UndecodableError(f"not a plain pickle: {reason}", "<pickle>", 0) from error


_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = frozenset(
    [
        "INT",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG",
        "LONG1",
        "LONG4",
        "FLOAT",
        "BINFLOAT",
        "SHORT_BINBYTES",
        "BINBYTES",
        "BINBYTES8",
        "BYTEARRAY8",
        "SHORT_BINUNICODE",
        "BINUNICODE",
        "BINUNICODE8",
    ]
)
_EMPTY: dict[str, Callable[[Any], Any]] = {
    "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict, "EMPTY_SET": set,
}  # fmt: skip
_OF_MARKED: dict[str, Callable[[Any], Any]] = {"LIST": list, "TUPLE": tuple, "FROZENSET": frozenset}
_COUNTED = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Machine:
    """A stack and a memo, which hold values and contents; nothing is hashed or called."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.result: Any = None

    def step(self, name: str, argument: Any) -> None:
        """Follows an opcode."""
        if name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _VALUES:
            self.stack.append(argument)
        elif name in _EMPTY:
            self.stack.append(_Items(_EMPTY[name], []))
        elif name in _OF_MARKED:
            self.stack.append(_Items(_OF_MARKED[name], self._marked()))
        elif name in _COUNTED:
            items = [self._popped() for _ in range(_COUNTED[name])]
            self.stack.append(_Items(tuple, items[::-1]))
        else:
            step = getattr(self, f"_{name.lower()}", None)
            if step is None or not name.isupper():
                raise _RefusedError(f"it has the opcode {name}, which plain data does not have")
            step(argument)

    def _popped(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise ValueError("it takes more values than it has")
        return self.stack.pop()

    def _marked(self) -> list[Any]:
        """Values behind the last mark, without the mark."""
        items = []
        while self.stack and self.stack[-1] is not _MARK:
            items.append(self.stack.pop())
        if not self.stack:
            raise ValueError("a mark is missing")
        self.stack.pop()
        return items[::-1]

    def _filled(self) -> _Items:
        """The contents below the last values."""
        top = self.stack[-1]
        items = top.items if isinstance(top, _Made) else top
        if not isinstance(items, _Items):
            raise ValueError(f"a {type(top).__name__} holds no values")
        return items

    def _proto(self, argument: int) -> None:
        if argument > 5:
            raise ValueError(f"protocol {argument}, expected 2 to 5")

    def _frame(self, argument: int) -> None:
        """Bytes of a frame; the opcodes tell their own sizes."""

    def _stop(self, _: None) -> None:
        self.result = self._popped()

    def _mark(self, _: None) -> None:
        self.stack.append(_MARK)

    def _pop(self, _: None) -> None:
        self.stack.pop()

    def _pop_mark(self, _: None) -> None:
        self._marked()

    def _memoize(self, _: None) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _put(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    _binput = _long_binput = _put

    def _get(self, number: int) -> None:
        self.stack.append(self.memo[number])

    _binget = _long_binget = _get

    def _append(self, _: None) -> None:
        value = self._popped()
        self._filled().append(value)

    def _appends(self, _: None) -> None:
        values = self._marked()
        self._filled().extend(values)

    _additems = _appends

    def _setitem(self, _: None) -> None:
        value, key = self._popped(), self._popped()
        self._filled().append((key, value))

    def _setitems(self, _: None) -> None:
        values = self._marked()
        self._filled().extend(zip(values[::2], values[1::2], strict=True))

    def _dict(self, _: None) -> None:
        values = self._marked()
        self.stack.append(_Items(dict, list(zip(values[::2], values[1::2], strict=True))))

    def _global(self, argument: str) -> None:
        self.stack.append(_Global(*argument.split(" ", 1)))

    def _stack_global(self, _: None) -> None:
        name, module = self._popped(), self._popped()
        self.stack.append(_Global(str(module), str(name)))

    def _reduce(self, _: None) -> None:
        arguments, maker = self._popped(), self._popped()
        if not isinstance(maker, _Global) or maker.name not in _MAKERS:
            raise _RefusedError(f"it names {maker}, which is not plain data")
        if not isinstance(arguments, _Items):
            raise ValueError("the arguments of a global are no tuple")
        self.stack.append(_Made(maker, list(arguments)))

    _newobj = _reduce

    def _build(self, _: None) -> None:
        state, made = self._popped(), self.stack[-1]
        if not isinstance(made, _Made) or made.maker.name != "uuid.UUID":
            raise _RefusedError("it sets the attributes of an object")
        made.state = state


class _Values:
    """Values of Python, up to a limit: shared contents count each time."""

    def __init__(self, most: int) -> None:
        self.left = most

    def of(self, value: Any, depth: int) -> Any:
        """The value of something on the stack."""
        self.left -= 1
        if self.left < 0 or depth > _DEEPEST:
            raise _RefusedError("it repeats or nests values too often")
        match value:
            case _Items() if value.kind is dict:
                pairs = [(self.of(key, depth + 1), self.of(item, depth + 1)) for key, item in value]
                _expect_spread([key for key, _ in pairs])
                return dict(pairs)
            case _Items():
                items = [self.of(item, depth + 1) for item in value]
                return _set_of(value.kind, items) if value.kind in _SETS else value.kind(items)
            case _Made():
                return self._made(value, depth)
            case _Global():
                raise _RefusedError(f"it names {value}, which is not plain data")
            case bytes() | bytearray() | str():
                self.left -= len(value) // _MOST_VALUES
        return value

    def _made(self, made: _Made, depth: int) -> Any:
        arguments = [self.of(argument, depth + 1) for argument in made.arguments]
        if made.items is not None:
            return self.of(made.items, depth)
        if made.maker.name == "uuid.UUID":
            return UUID(int=self.of(made.state, depth + 1)["int"])
        return _MAKERS[made.maker.name](*arguments)


_SETS = (set, frozenset)


def _set_of(kind: Callable[[list[Any]], Any], items: Iterable[Any]) -> Any:
    values = list(items)
    _expect_spread(values)
    return kind(values)


def _expect_spread(keys: list[Any]) -> None:
    """Refuses many keys of one hash code. A file can choose numbers that have the same, but no texts."""
    # Sorted, because a table of hash codes could have the same fault.
    equal = groupby(sorted(map(hash, keys)))
    if len(keys) > _MOST_COLLISIONS and any(
        sum(1 for _ in run) > _MOST_COLLISIONS for _, run in equal
    ):
        raise _RefusedError("many keys of a dict or set have one hash code")


def _packed(kind: type[date | time], size: int) -> Callable[..., Any]:
    """Maker of a date or time from the bytes that Python pickles."""

    def made(packed: bytes, zone: timezone | None = None) -> Any:
        if not isinstance(packed, bytes) or len(packed) != size:
            raise ValueError(f"a {kind.__name__} of {packed!r}, expected {size} bytes")
        return kind(packed) if zone is None else kind(packed, zone)  # type: ignore[call-arg, arg-type]

    return made


def _row(fields: list[str] | None, values: tuple[Any, ...], *_kind: Any) -> Any:
    """A row of PyFlink; rows without names are lists."""
    if not fields:
        return list(values)
    _expect_spread(fields)
    return dict(zip(fields, values, strict=True))


def _decimal(text: str) -> Decimal:
    if not isinstance(text, str):
        raise ValueError(f"a Decimal of {type(text).__name__}, expected a text")
    return Decimal(text)


def _content(content: Any = b"", *encoding: str) -> bytearray:
    """A bytearray of bytes or a text; a number would become that many zeros."""
    return bytearray(content.encode(*encoding) if isinstance(content, str) else bytes(content[:]))


_MAKERS: dict[str, Callable[..., Any]] = {
    "builtins.bytearray": _content,
    "builtins.complex": complex,
    "builtins.frozenset": lambda items=(): _set_of(frozenset, items),
    "builtins.set": lambda items=(): _set_of(set, items),
    "collections.OrderedDict": dict,
    "collections.deque": list,
    "datetime.date": _packed(date, 4),
    "datetime.datetime": _packed(datetime, 10),
    "datetime.time": _packed(time, 6),
    "datetime.timedelta": timedelta,
    "datetime.timezone": timezone,
    "decimal.Decimal": _decimal,
    "pyflink.common.types.RowKind": lambda number: number,
    "pyflink.common.types._create_row": _row,
    "uuid.UUID": UUID,
}


def plain_json(value: Any) -> Any:
    """A value of ``unpickle_plain`` as JSON has it.

    Times, decimals and the like are texts, bytes are hexadecimal. A dict with a key that is no text is a list
    of pairs.
    """
    match value:
        case dict() if all(isinstance(key, str) for key in value):
            return {key: plain_json(item) for key, item in value.items()}
        case dict():
            return [[plain_json(key), plain_json(item)] for key, item in value.items()]
        case list() | tuple() | set() | frozenset():
            return [plain_json(item) for item in value]
        case bytes() | bytearray():
            return value.hex()
        case date() | time():
            return value.isoformat()
        case float() if not math.isfinite(value):
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)
