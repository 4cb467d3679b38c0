"""What of a table is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from savepoint_formats.scan.entry_source import PORTION_SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.columns.merge_rules import MergeInstances
    from savepoint_formats.key_groups import KeyGroupRange


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What of a table is read.

    Attributes:
        columns: Names of columns, in the order wanted; all by default.
        keys: Only rows of these keys, as ``to_pylist`` would give them.
        key_groups: Only rows of these key groups.
        flat: Name of a list or map state of a table of keyed state: a row per element or entry.
        with_key_group: Adds the column ``key_group``, i32, to tables of keyed state.
        with_subtask: Adds the column ``subtask``, i32; each copy of broadcast state is then read.
        with_scope: Adds the column ``scope`` to tables of keyed state, ``keyed`` or ``local``.
        merge: State -> what merges its instances, a rule by its name or a function; of local state.
        with_times: Values with TTL are ``struct<timestamp, value>``.
        portion_size: Bytes of the largest key group that is decoded as a whole; a larger one is
            decoded in portions of that size.
    """

    columns: tuple[str, ...] | None = None
    keys: tuple[Any, ...] | None = None
    key_groups: KeyGroupRange | None = None
    flat: str | None = None
    with_key_group: bool = False
    with_subtask: bool = False
    with_scope: bool = False
    merge: Mapping[str, str | MergeInstances] | None = None
    with_times: bool = False
    portion_size: int = PORTION_SIZE
