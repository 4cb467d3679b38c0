"""Splits of sources of numbers, and of sources that run other sources one after the other.

A split of ``NumberSequenceSource``, which ``DataGeneratorSource`` has too, version 1:

| bytes | field | meaning                                          |
|-------|-------|--------------------------------------------------|
| utf   | split | id, a number                                     |
| i64   | from  | the next number                                  |
| i64   | to    | the last number; one less than ``from`` if there is none left |

Its enumerator, version 1: i32 n, n splits. A split of ``HybridSource``, version 0:

| bytes      | field  | meaning                                              |
|------------|--------|------------------------------------------------------|
| i32        | source | index of the source that it belongs to               |
| utf        | split  | id                                                   |
| i32 i32, … | inner  | version, size and bytes of that source's split       |

Its enumerator, version 0: i32 index of the source that runs; i32 version, i32 size and bytes of the
state of that source's enumerator.

Flink: ``NumberSequenceSource``, ``HybridSourceSplitSerializer``, ``HybridSourceEnumeratorStateSerializer``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_formats.bytes import DataInputView, DataOutputView
from savepoint_formats.errors import UnsupportedVersionError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUMBERS_VERSION, _HYBRID_VERSION = 1, 0


@dataclass(frozen=True, slots=True)
class NumbersSplit:
    """A range of numbers; ``first`` is the next one."""

    split: str
    first: int
    last: int

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are no range of numbers."""
        view = _numbers_view(versioned, path)
        split = cls._read(view)
        view.expect_end()
        return split

    @classmethod
    def all_of(cls, versioned: Versioned, path: str) -> Iterator[Self]:
        """The splits that no reader has; raises ``FormatError`` for another enumerator."""
        view = _numbers_view(versioned, path)
        splits = [cls._read(view) for _ in range(view.read_count(18))]
        view.expect_end()
        yield from splits

    @classmethod
    def _read(cls, view: DataInputView) -> Self:
        split, first, last = view.read_utf(), view.read_long(), view.read_long()
        if not split.isdigit() or first > last + 1:
            raise view.error(f"a split {split!r} from {first} to {last}")
        return cls(split, first, last)

    def to_versioned(self) -> Versioned:
        """The split, of version 1."""
        view = DataOutputView()
        view.write_utf(self.split)
        view.write_longs((self.first, self.last))
        return Versioned(_NUMBERS_VERSION, view.to_bytes())


def _numbers_view(versioned: Versioned, path: str) -> DataInputView:
    view = DataInputView(versioned.data, path)
    if versioned.version != _NUMBERS_VERSION:
        message = f"a range of numbers of version {versioned.version}"
        raise view.error(message, UnsupportedVersionError)
    return view


@dataclass(frozen=True, slots=True)
class HybridSplit:
    """A split of a source among several; ``source`` is its index."""

    source: int
    split: str
    inner: Versioned

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` if the bytes are no split of a hybrid source."""
        view = _hybrid_view(versioned, path)
        split = cls(_index(view), view.read_utf(), Versioned.read(view))
        view.expect_end()
        return split

    def with_inner(self, inner: Versioned) -> Versioned:
        """The split, of version 0, around another split of the same source."""
        view = DataOutputView()
        view.write_int(self.source)
        view.write_utf(self.split)
        inner.write(view)
        return Versioned(_HYBRID_VERSION, view.to_bytes())


@dataclass(frozen=True, slots=True)
class HybridEnumerator:
    """The index of the source that runs, and the state of its enumerator."""

    source: int
    inner: Versioned

    @classmethod
    def of(cls, versioned: Versioned, path: str) -> Self:
        """Raises ``FormatError`` for another enumerator."""
        view = _hybrid_view(versioned, path)
        state = cls(_index(view), Versioned.read(view))
        view.expect_end()
        return state


def _hybrid_view(versioned: Versioned, path: str) -> DataInputView:
    view = DataInputView(versioned.data, path)
    if versioned.version != _HYBRID_VERSION:
        message = f"state of a hybrid source of version {versioned.version}"
        raise view.error(message, UnsupportedVersionError)
    return view


def _index(view: DataInputView) -> int:
    source = view.read_int()
    if source < 0:
        raise view.error(f"source {source}")
    return source
