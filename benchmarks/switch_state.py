"""Cost per key of the switch from a backlog to its stream, without Spark around it.

    python benchmarks/switch_state.py --keys 1000000

A savepoint with two value states is written into the files of the switch, as a task does it, and then
a thousand keys are looked up as a stream does at their first visit: in the order of the files, as
Spark gives the keys of a batch, and in none. All in one thread, after a run that loads machine code.
``mixed_mode.py --only backlog switch`` measures the switch as a user sees it, the start of the query
included.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from checks import UID, make

from savepoint_extensions.mixed_mode.stored_backend import encoded_keys
from savepoint_extensions.mixed_mode.switch_state import (
    SwitchFile,
    SwitchReading,
    SwitchState,
    SwitchWriting,
)
from savepoint_formats.hashing.key_hash import hashed_key_groups
from state_processor import Savepoint, Types

LOOKED_UP = 1000


def written(savepoint: Savepoint, directory: Path) -> SwitchState:
    """The files of the switch."""
    directory.mkdir()
    states = [state.name for state in savepoint.operator(UID).catalog.states]
    files: list[SwitchFile] = []
    for table in SwitchReading.all_of(savepoint, UID, states):
        numbers = pa.record_batch([pa.array(range(len(table.splits)))], names=["id"])
        for batch in SwitchWriting(str(directory), table, watermark=0).run([numbers]):
            files += [SwitchFile(**fields) for fields in batch.to_pylist()]
    return SwitchState(str(directory), tuple(files))


def looked_up(switch: SwitchState, keys: int, *, is_sorted: bool) -> float:
    """The CPU seconds that it takes to look up some keys."""
    layout = Types.LONG().layout
    numbers = pa.array(random.Random(1).sample(range(keys), LOOKED_UP), pa.int64())
    groups = hashed_key_groups(layout, numbers, 128, None).tolist()
    places = list(zip(encoded_keys(layout, numbers).to_pylist(), groups, strict=True))
    begin = time.process_time()
    rows = [switch.row(group, key) for key, group in (sorted(places) if is_sorted else places)]
    seconds = time.process_time() - begin
    assert None not in rows
    return seconds


def main() -> None:
    """Prints a line per number of keys."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000_000])
    options = parser.parse_args()
    print(f"CPU microseconds per key; load {os.getloadavg()[0]:.0f}")
    print("     keys   written  looked up in order  in none")
    with tempfile.TemporaryDirectory() as folder:
        for number, keys in enumerate([10_000, *options.keys]):
            path = Path(folder) / f"{number}"
            make(path, keys)
            savepoint = Savepoint.open(str(path), uids=[UID])
            begin = time.process_time()
            switch = written(savepoint, path / "switch")
            of_key = (time.process_time() - begin) / keys
            lookups = [looked_up(switch, keys, is_sorted=order) for order in (True, False)]
            if number:
                in_order, in_none = (1e6 * seconds / LOOKED_UP for seconds in lookups)
                print(f"{keys:9,} {1e6 * of_key:9.2f} {in_order:19.1f} {in_none:8.1f}", flush=True)


if __name__ == "__main__":
    main()
