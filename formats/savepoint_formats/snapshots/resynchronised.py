"""Reads structures with unknown serializer snapshots, if the end of the structure is known.

A snapshot has no length. The body of an unknown class ends where everything behind it parses
exactly up to the known end. Sizes are tried in ascending order, depth first if several are unknown.
In a composite only the own part is unknown because nested serializers are snapshots again.

The first sizes that fit are right for every serializer except the one with the unknown body:

* A size that is too large would swallow known structures. All smaller sizes failed before, and no
  body reaches over a *mark*: a name that stands in front of other serializers, never in a body. At
  first, no body reaches over a known snapshot either.
* A size that is too small takes the end of a body for what follows. Behind a whole serializer come
  names that only the owner of a mark writes, so that fails. Behind a nested one comes a sibling: a
  body with snapshots inside may lend one to its parent, and a later unknown sibling may hide the
  surplus. The error stays inside one serializer, whose values are bytes from the unknown one on
  anyway.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from savepoint_formats.errors import FormatError, UnknownSnapshotError
from savepoint_formats.snapshots.fields import utf_bytes
from savepoint_formats.snapshots.snapshot import COMPOSITE_START, KINDS, NESTED_START, SnapshotView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

T = TypeVar("T")

# A wrong size fails after a few bytes, so that an attempt takes tens of microseconds.
_ATTEMPTS = 6_000


def read_resynchronised(
    read: Callable[[SnapshotView], T], view: SnapshotView, marks: tuple[str, ...] = ()
) -> T:
    """Reads a structure from a view that ends where the structure does.

    No body of a snapshot contains one of the names ``marks``. Raises ``UnknownSnapshotError`` if no
    sizes of unknown snapshots fit.
    """
    start = view.position
    try:
        return _read_searching(read, view, marks)
    except FormatError as error:
        if not view.of_plug_ins:
            raise
        # A plug-in that misreads a body takes no other serializer along.
        reason = f"its plug-in does not read its body: {error.message}"
        view.distrusted = dict.fromkeys(view.of_plug_ins, reason)
        view.position, view.passed = start, {}
        return _read_searching(read, view, marks)


def _read_searching(
    read: Callable[[SnapshotView], T], view: SnapshotView, marks: tuple[str, ...]
) -> T:
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
    """An unknown body, the sizes left to try, and values that were read before it."""

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
        """The structure with the first sizes that fit; raises ``unknown`` if none fit."""
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
        view.distrusted, view.of_plug_ins = self._view.distrusted, self._view.of_plug_ins
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
        """Whether something that may follow a snapshot begins here.

        That is the end, or a name and an i32 that is never large: a version, a type or a count.
        """
        data = self._data
        if position >= len(data):
            return position == len(data)
        name = position + 2
        end = name + int.from_bytes(data[position:name], "big")
        return data[end : end + 2] == b"\0\0" and data.find(0, name, end) < 0


def _positions(data: bytes, name: str) -> Iterator[int]:
    mark = utf_bytes(name)
    position = data.find(mark)
    while position >= 0:
        yield position
        position = data.find(mark, position + 1)
