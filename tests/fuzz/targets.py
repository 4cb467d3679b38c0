"""All targets, by the name that each is asked for by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz import byte_targets, state_targets

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz.samples import Inputs
    from fuzz.target import Target

TARGETS: dict[str, Callable[[Inputs], Target]] = {
    "metadata": byte_targets.metadata,
    "snapshots": byte_targets.snapshots,
    "java": byte_targets.java_streams,
    "kryo": byte_targets.kryo,
    "pickles": byte_targets.pickles,
    "values": byte_targets.stored_values,
    "kafka": byte_targets.kafka,
    "descriptions": byte_targets.descriptions,
    "manifests": state_targets.manifests,
    "canonical": state_targets.canonical_files,
    "heap": state_targets.heap_files,
    "compressed": state_targets.compressed_files,
    "operator-state": state_targets.operator_state_files,
    "changelogs": state_targets.changelogs,
    "raw-timers": state_targets.raw_timers,
    "tables": state_targets.tables,
    "verify": state_targets.verified,
    "structure": state_targets.structure,
    "metadata-structure": state_targets.metadata_structure,
}
