"""Options of a read, which every method that reads makes from its keywords."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from savepoint_formats.key_groups import CHUNK_SIZE, KeyGroupRange
from savepoint_formats.printable import call_text
from savepoint_formats.values.kinds.precise_times import Nanoseconds, checked_nanoseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from savepoint_formats.scan.merged_columns import MergeInstances
    from savepoint_formats.scan.scan import TableScan
    from savepoint_formats.values.undecoded import Hides

UndescribedSubclasses = Literal["refuse", "bytes", "rest"]
"""Treatment of a POJO of a subclass that its serializer's snapshot does not describe.

| value  | then                                                                              |
|--------|-----------------------------------------------------------------------------------|
| refuse | it is an error                                                                    |
| bytes  | POJOs end with ``$undecoded``, a struct of ``bytes`` and ``reason``; if a value   |
|        | was not decoded, the other fields are null instead. So are fields behind a value  |
|        | with an unknown end; its reason names them                                        |
| rest   | as ``bytes``, and elements and entries with unknown borders are missing           |

Unknown borders are an error otherwise.
"""

_HIDES: dict[UndescribedSubclasses, Hides] = {"refuse": "nothing", "bytes": "fields", "rest": "all"}


def checked_subclasses(value: UndescribedSubclasses) -> UndescribedSubclasses:
    """The value itself; raises ``ValueError`` for an unknown one."""
    known = get_args(UndescribedSubclasses)
    if value not in known:
        expected = ", ".join(known)
        raise ValueError(f"undescribed_subclasses is {value!r}, expected one of {expected}")
    return value


@dataclass(frozen=True, slots=True, repr=False)
class ReadOptions:
    """Options of a read: rows and columns of a table, and treatment of some values.

    Attributes:
        columns: Names of columns, in the order wanted; all by default. Columns that the attributes
            below add come after them, unless they are named.
        keys: Only rows of these keys, in the form of ``to_pylist``. In a store, a state that
            only other subtasks have may lack a column, unless ``columns`` names it.
        key_groups: Only rows of these key groups.
        flat: Name of a list or map state of a table of keyed state: a row per element or entry.
        is_narrow: Leaves out rows that no state among ``columns`` has; other states are not read.
        with_key_group: Adds the column ``key_group``, i32, to tables of keyed state.
        with_subtask: Adds the column ``subtask``, i32; each copy of broadcast state is then read.
        with_scope: Adds the column ``scope`` to tables of keyed state, ``keyed`` or ``local``.
        merge: Local state -> name of a rule, or function, that merges its instances.
        with_times: Values with TTL are ``struct<timestamp, value>``.
        nanoseconds: Type in Spark of times with nanoseconds; Arrow has them as they are.
        undescribed_subclasses: Treatment of POJOs whose class no snapshot describes.
        chunk_size: Bytes of the largest key group that is decoded at once; a larger one is
            decoded chunk by chunk. None for any.
    """

    columns: tuple[str, ...] | None = None
    keys: tuple[Any, ...] | None = None
    key_groups: KeyGroupRange | None = None
    flat: str | None = None
    is_narrow: bool = False
    with_key_group: bool = False
    with_subtask: bool = False
    with_scope: bool = False
    merge: Mapping[str, str | MergeInstances] | None = None
    with_times: bool = False
    nanoseconds: Nanoseconds = "refuse"
    undescribed_subclasses: UndescribedSubclasses = "refuse"
    chunk_size: int | None = CHUNK_SIZE

    def __post_init__(self) -> None:
        for name, (is_right, expected) in _EXPECTED.items():
            value = getattr(self, name)
            if not is_right(value):
                raise TypeError(f"{name} is {value!r}, expected {expected}")
        if self.chunk_size is not None and self.chunk_size < 1:
            raise ValueError(f"chunk_size is {self.chunk_size}, expected a number of bytes")
        checked_nanoseconds(self.nanoseconds)
        checked_subclasses(self.undescribed_subclasses)
        self._check_columns()

    def __repr__(self) -> str:
        return call_text(self)

    def _check_columns(self) -> None:
        names = self.columns
        if names is None:
            return
        if not names:
            raise ValueError("columns is empty, expected names: leave it out for all columns")
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"column {twice[0]!r} is named twice: name it once in columns")

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """Options among the arguments of a call, which are its ``locals()``.

        A list may be any iterable except a text; key groups may be a number, or ``'0-15'``. Names
        that are no options are ignored.
        """
        given = {
            option.name: arguments[option.name]
            for option in fields(cls)
            if option.name in arguments
        }
        for name in ("columns", "keys"):
            if name in given:
                given[name] = _as_tuple(name, given[name])
        if "key_groups" in given:
            given["key_groups"] = checked_key_groups(given["key_groups"])
        return cls(**given)

    def of_columns(self, names: tuple[str, ...]) -> Self:
        """Options for these columns and no others."""
        others: dict[str, Any] = {
            f"with_{name}": False for name in self.added() if name not in names
        }
        return replace(self, columns=names, **others)

    @property
    def has_open_pojos(self) -> bool:
        """Whether POJOs whose class no snapshot describes are bytes."""
        return self.undescribed_subclasses != "refuse"

    @property
    def hides(self) -> Hides:
        """Contents that may hide among the bytes of an undecodable value."""
        return _HIDES[self.undescribed_subclasses]

    @property
    def hides_unwanted(self) -> Hides:
        """Contents that may hide in undecodable values that no column shows."""
        return "all" if self.hides == "all" else "fields"

    def added(self) -> tuple[str, ...]:
        """Names of the requested columns that the table itself does not have."""
        return tuple(name for name in _ADDED if getattr(self, f"with_{name}"))


def narrowed(
    scan: TableScan, tested: Collection[str], keeps_nulls: Callable[[], bool]
) -> TableScan:
    """The scan, without states of other columns if a condition on ``tested`` rejects rows of nulls alone."""
    options, table = scan.options, scan.shown
    is_plain = scan.kind.is_keyed and options.flat is None and not options.merge
    of_states = {column.name for column, _ in table.state_columns()} if is_plain else set()
    if not tested or not of_states.issuperset(tested) or keeps_nulls():
        return scan
    return replace(scan, options=replace(options, is_narrow=True))


_ADDED = ("key_group", "subtask", "scope")


def checked_key_groups(value: object) -> Any:
    """Range of key groups from a number or a text; other values stay as they are.

    Raises ``ValueError`` for any other text.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        return value
    start, _, end = str(value).partition("-")
    try:
        return KeyGroupRange(int(start), int(end or start))
    except ValueError as error:
        raise ValueError(
            f"key_groups is {value!r}, expected a number or range such as 3 or '0-15'"
        ) from error


def _as_tuple(name: str, value: Any) -> Any:
    if isinstance(value, str | bytes):
        # A text is iterable too, but nobody means its letters.
        raise TypeError(f"{name} is {value!r}, expected a list: {name}=[{value!r}]")
    is_list = isinstance(value, Iterable) and not isinstance(value, Mapping)
    return tuple(value) if is_list else value


def _is_names(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(name, str) for name in value)


def _is_rules(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(state, str) and (isinstance(rule, str) or callable(rule))
        for state, rule in value.items()
    )


def _optional(kind: type) -> Callable[[object], bool]:
    return lambda value: value is None or (isinstance(value, kind) and not isinstance(value, bool))


_FLAG = (lambda value: isinstance(value, bool), "True or False")
_EXPECTED: dict[str, tuple[Callable[[object], bool], str]] = {
    "columns": (lambda value: value is None or _is_names(value), "a list of names"),
    "keys": (_optional(tuple), "a list of keys"),
    "key_groups": (_optional(KeyGroupRange), "key groups, such as 3 or '0-15'"),
    "flat": (_optional(str), "the name of a list or map state"),
    "is_narrow": _FLAG,
    "with_key_group": _FLAG,
    "with_subtask": _FLAG,
    "with_scope": _FLAG,
    "merge": (
        lambda value: value is None or _is_rules(value),
        "rules by the names of states, such as {'count': 'sum'}",
    ),
    "with_times": _FLAG,
    "chunk_size": (_optional(int), "a number of bytes"),
}
