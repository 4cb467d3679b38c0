"""Reading around serializer snapshots that are not known, where the end of the whole is known.

A snapshot has no length. The body of one of an unknown class ends where everything behind it
parses exactly up to the known end; sizes are tried in ascending order, depth first where several
are unknown. Of a composite's body only the own part is unknown, as its nested serializers are
snapshots again.

The first sizes that fit are the right ones for every serializer but the one with the unknown part:

* Too large a size would swallow what is real. All smaller ones failed before it; and no body
  reaches over a *mark*, a name that stands in front of other serializers and never in a body. At
  first, no body reaches over a known snapshot either.
* Too small a size takes the tail of a body for what follows it. Behind a whole serializer follow
  names that only a mark's owner writes, so that fails. Behind a nested one follows a sibling: a
  body that has snapshots in it without being a composite may then lend one to its parent, and a
  later unknown sibling hide the surplus. That stays inside one serializer, whose values end in
  bytes at the unknown part either way, since nobody knows where its value ends.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import FormatError, UnknownSnapshotError
from savepoint_formats.snapshots.snapshot import (
    COMPOSITE_START,
    KINDS,
    NESTED_START,
    SnapshotView,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

T = TypeVar("T")

# A wrong size fails after a few bytes, so that an attempt takes tens of microseconds.
_ATTEMPTS = 6_000


def read_resynchronised(
    read: Callable[[SnapshotView], T], view: SnapshotView, marks: tuple[str, ...] = ()
) -> T:
    """What ``read`` makes of ``view``, which ends where the structure does.

    Args:
        read: Reads the structure from a view.
        view: All its bytes, from the first on.
        marks: Names that no body of a snapshot contains.

    Raises:
        UnknownSnapshotError: Unknown snapshots are in it, and no sizes of them fit.
        FormatError: It is damaged.
    """
    try:
        result = read(view)
    except UnknownSnapshotError as error:
        try:
            return _Search(read, view, (*marks, *KINDS)).run(error)
        except UnknownSnapshotError:
            return _Search(read, view, marks).run(error)
    view.expect_end()
    return result


@dataclass(slots=True)
class _Choice:
    """An unknown body, the sizes still to try, and what was read in front of it."""

    offset: int
    sizes: Iterator[int]
    known: Mapping[int, tuple[Any, int]]


class _Search(Generic[T]):
    def __init__(
        self, read: Callable[[SnapshotView], T], view: SnapshotView, marks: Iterable[str]
    ) -> None:
        self._read = read
        self._view = view
        self._data = bytes(view.buffer)
        self._ends = sorted({p for mark in marks for p in _positions(self._data, mark)})
        self._ends.append(len(self._data))
        self._sizes: dict[int, int] = {}

    def run(self, unknown: UnknownSnapshotError) -> T:
        """The structure with the first sizes that fit; raises ``unknown`` if none do."""
        choices = [self._choice(unknown, self._view.passed)]
        for _ in range(_ATTEMPTS):
            while (size := next(choices[-1].sizes, None)) is None:
                self._sizes.pop(choices.pop().offset, None)
                if not choices:
                    raise unknown
            self._sizes[choices[-1].offset] = size
            view = self._attempt_view(choices[-1])
            try:
                result = self._read(view)
                view.expect_end()
            except UnknownSnapshotError as error:
                choices.append(self._choice(error, view.passed))
            except FormatError:
                continue
            else:
                return result
        raise unknown

    def _attempt_view(self, choice: _Choice) -> SnapshotView:
        view = SnapshotView(self._data, self._view.path, self._view.base, self._view.depth)
        view.opaque_sizes = self._sizes
        view.known = choice.known
        return view

    def _choice(
        self, unknown: UnknownSnapshotError, passed: Mapping[int, tuple[Any, int]]
    ) -> _Choice:
        start = unknown.offset - self._view.base
        last = self._ends[bisect_left(self._ends, start)]
        ends = range(start, last + 1)
        if self._data.startswith(COMPOSITE_START, start - 8):
            starts = (end for end in ends if self._data.startswith(NESTED_START, end))
        else:
            starts = (end for end in ends if self._may_begin(end) or self._may_begin(end + 2))
        return _Choice(unknown.offset, (end - start for end in starts), passed)

    def _may_begin(self, position: int) -> bool:
        """Whether something can begin here that follows a snapshot, or an i16 count behind it.

        That is the end, or a name and an i32, which is a version, a type or a count: never large.
        """
        data = self._data
        if position >= len(data):
            return position == len(data)
        name = position + 2
        end = name + int.from_bytes(data[position:name], "big")
        return data[end : end + 2] == b"\0\0" and data.find(0, name, end) < 0


def _positions(data: bytes, name: str) -> Iterator[int]:
    """Where the name lies, with its size in front."""
    view = DataOutputView()
    view.write_utf(name)
    mark = view.to_bytes()
    position = data.find(mark)
    while position >= 0:
        yield position
        position = data.find(mark, position + 1)
