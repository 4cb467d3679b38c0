"""Reading around serializer snapshots that are not known, where the end of the whole is known.

A snapshot has no length. One of an unknown class ends where everything behind it parses exactly
up to the known end; sizes are tried in ascending order, depth first where several are unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from savepoint_formats.errors import FormatError, UnknownSnapshotError
from savepoint_formats.snapshots.snapshot import SnapshotView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

# A wrong size fails after a few bytes, so that an attempt takes microseconds.
_ATTEMPTS = 100_000


def read_resynchronised(
    read: Callable[[SnapshotView], T], data: bytes, path: str, base: int = 0
) -> T:
    """What ``read`` makes of ``data``, which ends where the structure does.

    Args:
        read: Reads the structure from a view.
        data: All its bytes.
        path: Where they come from; named in errors.
        base: The offset of the first byte there.

    Raises:
        UnknownSnapshotError: Unknown snapshots are in it, and no sizes of them fit.
        FormatError: It is damaged.
    """
    try:
        return read(SnapshotView(data, path, base))
    except UnknownSnapshotError as error:
        found = _Search(read, data, path, base).run(error)
        if found is None:
            raise
        return found


class _Search:
    def __init__(
        self, read: Callable[[SnapshotView], T], data: bytes, path: str, base: int
    ) -> None:
        self._read = read
        self._data = data
        self._path = path
        self._base = base
        self._attempts = _ATTEMPTS
        self._sizes: dict[int, int] = {}
        self._known_sizes: dict[str, int] = {}

    def run(self, unknown: UnknownSnapshotError) -> T | None:
        """The structure with the first sizes that fit; None if none do."""
        for size in self._candidates(unknown):
            self._sizes[unknown.offset] = size
            before = self._known_sizes.get(unknown.class_name)
            self._known_sizes[unknown.class_name] = size
            found = self._attempt()
            if isinstance(found, UnknownSnapshotError):
                found = self.run(found) if found.offset not in self._sizes else None
            if found is not None:
                return found
            if before is None:
                del self._known_sizes[unknown.class_name]
            if self._attempts <= 0:
                break
        self._sizes.pop(unknown.offset, None)
        return None

    def _candidates(self, unknown: UnknownSnapshotError) -> Iterator[int]:
        """Sizes to try: first the one that fitted for this class before."""
        largest = self._base + len(self._data) - unknown.offset
        known = self._known_sizes.get(unknown.class_name)
        if known is not None and known <= largest:
            yield known
        yield from (size for size in range(largest + 1) if size != known)

    def _attempt(self) -> T | UnknownSnapshotError | None:
        self._attempts -= 1
        view = SnapshotView(self._data, self._path, self._base, self._sizes)
        try:
            found = self._read(view)
        except UnknownSnapshotError as error:
            return error
        except FormatError:
            return None
        return found if not view.remaining else None
