"""All targets, by the name that each is asked for by: a row adds one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzz import byte_targets, connector_targets, state_targets, text_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from fuzz.samples import Inputs
    from fuzz.target import Target


@dataclass(frozen=True)
class Reader:
    """A reader.

    Attributes:
        target: Makes the target out of inputs that are right.
        share: Inputs that it gets in a run of all, out of some thousands; those that read whole
            operators take a hundred times as long as others.
    """

    target: Callable[[Inputs], Target]
    share: int

    def __call__(self, inputs: Inputs) -> Target:
        return self.target(inputs)


TARGETS = {
    "metadata": Reader(byte_targets.metadata, 60),
    "snapshots": Reader(byte_targets.snapshots, 50),
    "java": Reader(byte_targets.java_streams, 100),
    "kryo": Reader(byte_targets.kryo, 100),
    "pickles": Reader(byte_targets.pickles, 100),
    "values": Reader(byte_targets.stored_values, 25),
    "kafka": Reader(connector_targets.kafka, 80),
    "splits": Reader(connector_targets.splits, 80),
    "plans": Reader(text_targets.plans, 40),
    "class-files": Reader(text_targets.class_files, 80),
    "archives": Reader(text_targets.archives, 30),
    "sources": Reader(text_targets.sources, 15),
    "descriptions": Reader(text_targets.descriptions, 40),
    "jsons": Reader(text_targets.jsons, 40),
    "types": Reader(text_targets.types, 60),
    "conditions": Reader(text_targets.conditions, 20),
    "queries": Reader(text_targets.queries, 15),
    "manifests": Reader(state_targets.manifests, 40),
    "sst": Reader(state_targets.tables_alone, 60),
    "entries": Reader(state_targets.entries, 20),
    "canonical": Reader(state_targets.canonical_files, 3),
    "heap": Reader(state_targets.heap_files, 1),
    "compressed": Reader(state_targets.compressed_files, 3),
    "operator-state": Reader(state_targets.operator_state_files, 5),
    "changelogs": Reader(state_targets.changelogs, 1),
    "raw-timers": Reader(state_targets.raw_timers, 1),
    "tables": Reader(state_targets.tables, 1),
    "verify": Reader(state_targets.verified, 1),
    "structure": Reader(state_targets.structure, 1),
    "metadata-structure": Reader(state_targets.metadata_structure, 1),
}


def shares(names: Collection[str], inputs: int) -> dict[str, int]:
    """Inputs of each of these targets in a run in which all targets together get so many, or a few more."""
    total = sum(row.share for row in TARGETS.values())
    return {name: -(-inputs * TARGETS[name].share // total) for name in TARGETS if name in names}
