"""The entries of a changelog: those of its base as they are stored, with the changes applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import within
from savepoint_formats.pass_through.changed_entries import ChangedEntries
from savepoint_formats.sources.changelog_source import state_changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from savepoint_formats.key_groups.ranges import KeyGroupRange
    from savepoint_formats.layout import Layout
    from savepoint_formats.locations.file_io import SnapshotDirectory
    from savepoint_formats.metadata import ChangelogHandle
    from savepoint_formats.pass_through.stored_runs import StoredSource
    from savepoint_formats.state_files.state_piece import StatePiece
    from savepoint_formats.values.kryo.dialect import KryoDialect


class StoredChangelog:
    """A changelog.

    Args:
        directory: Where the savepoint is.
        handle: Its handle.
        bases: The sources of the materialized state, and the key groups that each has.
        key: The layout of keys, which no change tells.
        kryo: What is known of the Kryo that wrote object graphs.
    """

    def __init__(
        self,
        directory: SnapshotDirectory,
        handle: ChangelogHandle,
        bases: Sequence[tuple[StoredSource, KeyGroupRange]],
        key: Layout,
        kryo: KryoDialect | None,
    ) -> None:
        self._directory = directory
        self._handle = handle
        self._bases = bases
        self._key = key
        self._kryo = kryo

    def pieces(self, names: frozenset[str], key_groups: KeyGroupRange) -> Iterator[StatePiece]:
        """The entries of these states.

        Raises:
            UndecodableError: A change cannot be applied.
            FormatError: A file is damaged.
        """
        own = key_groups.intersection(self._handle.key_groups)
        changed = self._changed(names, own)
        for base, held in self._bases:
            for piece in base.pieces(names, held.intersection(own)):
                name = piece.state.name
                with within(f"state {name!r}"):
                    yield changed[name].untouched(piece) if name in changed else piece
        for name, changes in changed.items():
            with within(f"state {name!r}"):
                yield changes.after()

    def _changed(
        self, names: frozenset[str], key_groups: KeyGroupRange
    ) -> dict[str, ChangedEntries]:
        changed: dict[str, ChangedEntries] = {}
        classes = self._kryo.classes if self._kryo else ()
        found = state_changes(
            self._directory,
            self._handle,
            key_groups,
            self._key,
            lambda state: state.with_kryo_classes(classes),
        )
        for state, change in found:
            if state.name in names:
                changed.setdefault(state.name, ChangedEntries(self._kryo)).add(state, change)
        return changed
