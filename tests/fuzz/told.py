"""What ``verify`` tells of each class of bytes: ``python -m fuzz.told --each 40 --seed 1``.

A byte of each class is changed, again and again. ``verify`` tells of it; or the savepoint has the same
meaning; or it has another one, and nothing tells.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from fuzz.byte_classes import file_classes, metadata_classes
from fuzz.samples import SAMPLES, InMemory, Inputs, rows
from fuzz.state_targets import kind_of, opened_metadata
from savepoint_database.checks.verification import Verification
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import SavepointError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_formats.checks.faults import Fault

FORMS = {
    "canonical": "currency-2.2.1-hashmap-canonical",
    "canonical, of RocksDB": "windows-1.20.5-rocksdb-canonical",
    "canonical, compressed": "states-1.20.5-hashmap-compressed",
    "heap": "currency-2.2.1-hashmap-native",
    "RocksDB": "currency-2.2.1-rocksdb-native",
    "RocksDB, incremental": "states-2.2.1-rocksdb-incremental",
    "changelog": "states-1.20.5-hashmap-changelog",
    "raw timers": "states-2.2.1-rocksdb-heaptimers",
    "inline": "currency-1.20.5-hashmap-inline",
    "objects": "objects-2.2.1-hashmap-canonical",
    "objects, RocksDB": "objects-1.20.5-rocksdb-native",
    "SQL": "sql-2.2.1-rocksdb-native",
    "windows, heap": "windows-2.2.1-hashmap-native",
    "PyFlink": "pyflink-2.2.1",
    "Scala": "scala-1.20.5",
}

Change = tuple[int, int]
"""A byte, and the bits of it that change."""


@dataclass
class Answers:
    """Changes of bytes of one class.

    Attributes:
        size: Bytes of the class.
        told: Changes that ``verify`` calls damage.
        unchecked: Changes of which it says that the savepoint alone does not tell.
        same: Changes that leave the meaning as it is.
        untold: Changes of which it says nothing, though the meaning is another one.
        unread: Changes of which it says nothing, though reading is refused.
        examples: Some of the ``untold`` and ``unread``.
    """

    size: int = 0
    told: int = 0
    unchecked: int = 0
    same: int = 0
    untold: int = 0
    unread: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """Number of changes."""
        return self.told + self.unchecked + self.same + self.untold + self.unread


class Before(NamedTuple):
    """What a savepoint says, and what ``verify`` says of it, without a change."""

    meaning: tuple[Any, ...]
    faults: Collection[Fault]


def content(snapshot: Snapshot) -> tuple[Any, ...]:
    """All that files say: rows, and states with names and types."""
    found = rows(snapshot)
    return found, [[repr(state) for state in one.catalog.states] for one in snapshot.operators()]


def meaning(snapshot: Snapshot) -> tuple[Any, ...]:
    """All that a savepoint says: that of its files, and what ``_metadata`` has."""
    return *content(snapshot), snapshot.metadata


def _answer(
    snapshot: Callable[[], Snapshot],
    before: Before,
    meaning: Callable[[Snapshot], tuple[Any, ...]],
) -> str:
    """The class of one change, by the name of its count; faults without the change tell nothing."""
    try:
        opened = snapshot()
    except SavepointError:
        return "told"  # ``verify`` reports that ``_metadata`` does not open
    faults = [fault for fault in Verification.of(opened).faults if fault not in before.faults]
    if any(fault.is_damage for fault in faults):
        return "told"
    try:
        now = meaning(snapshot())
    except SavepointError:
        return "unchecked" if faults else "unread"
    if now == before.meaning:
        return "same"
    return "unchecked" if faults else "untold"


def _tried(
    of_class: Answers, places: list[int], each: int, chance: Random, answer: Callable[[Change], str]
) -> None:
    of_class.size += len(places)
    for at in sorted(chance.sample(places, min(each, len(places)))):
        bits = chance.choice((1, 0x80, 0xFF, 1 << chance.randrange(8)))
        name = answer((at, bits))
        setattr(of_class, name, getattr(of_class, name) + 1)
        if name in ("untold", "unread") and len(of_class.examples) < 3:
            of_class.examples.append(f"{name}: byte {at} ^ {bits:02x}")


def _changed(data: bytes, change: Change) -> bytes:
    at, bits = change
    return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]


def of_files(inputs: Inputs, each: int, chance: Random) -> dict[tuple[str, str], Answers]:
    """Answers by the kind of file and the class of bytes; one file of each kind and role."""
    found: dict[tuple[str, str], Answers] = defaultdict(Answers)
    for kind, operator, name, data in _chosen(inputs.operators):
        before = _before(operator)
        classes = file_classes(kind, operator, name, data)

        def answer(
            change: Change,
            operator: InMemory = operator,
            name: str = name,
            data: bytes = data,
            before: Before = before,
        ) -> str:
            record = operator.with_file(name, _changed(data, change))
            return _answer(lambda: operator.opened(record), before, content)

        for of_class, places in classes.items():
            _tried(found[kind, of_class], places, each, chance, answer)
    return found


@cache
def _before(operator: InMemory) -> Before:
    opened = operator.opened(operator.record)
    return Before(content(opened), Verification.of(opened).faults)


def _chosen(operators: Iterable[InMemory]) -> list[tuple[str, InMemory, str, bytes]]:
    """The smallest file of each kind that has more than a header, and of each of RocksDB's names."""
    best: dict[tuple[str, str], tuple[str, InMemory, str, bytes]] = {}
    for operator in operators:
        for name, (data, of) in operator.files.items():
            kind = kind_of(operator, name, of)
            role = name.split("-", 2)[2].strip("0123456789-")
            known = best.get((kind, role))
            if data and (known is None or len(data) < len(known[3])):
                best[kind, role] = kind, operator, name, data
    return list(best.values())


def of_metadata(inputs: Inputs, each: int, chance: Random) -> dict[tuple[str, str], Answers]:
    """Answers of ``_metadata``, by the field of a record."""
    found: dict[tuple[str, str], Answers] = defaultdict(Answers)
    snapshot = inputs.snapshots[0]
    view = DataOutputView()
    snapshot.metadata.write(view)
    data = view.to_bytes()
    whole = opened_metadata(data, snapshot)
    before = Before(meaning(whole), Verification.of(whole).faults)

    def answer(change: Change) -> str:
        return _answer(lambda: opened_metadata(_changed(data, change), snapshot), before, meaning)

    for of_class, places in metadata_classes(data).items():
        _tried(found["_metadata", of_class], places, each, chance, answer)
    return found


def main() -> int:
    """Prints a table for each form; returns how many classes have changes that reading refuses alone."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.told")
    parser.add_argument("--each", type=int, default=20, help="bytes of each class")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--form", action="append", choices=FORMS, help="all by default")
    chosen = parser.parse_args()
    unread = 0
    for form in chosen.form or FORMS:
        inputs, chance = Inputs(SAMPLES / FORMS[form]), Random(f"{chosen.seed} {form}")
        answers = {
            **of_metadata(inputs, chosen.each, chance),
            **of_files(inputs, chosen.each, chance),
        }
        print(f"{form}: {FORMS[form]}")
        for (kind, of_class), found in answers.items():
            counts = Counter(
                {
                    name: getattr(found, name)
                    for name in ("told", "unchecked", "same", "untold", "unread")
                }
            )
            shown = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
            print(f"  {kind:16} {of_class:44} {found.size:>7,} bytes: {shown}  {found.examples}")
            unread += bool(found.unread)
        sys.stdout.flush()
    return unread


if __name__ == "__main__":
    sys.exit(main())
