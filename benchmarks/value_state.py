"""How fast a function's value state is added to, read and updated, per state backend, on one core.

    python benchmarks/value_state.py [--keys 100000] [--accesses 10] [--rounds 3]

Every access is one of a row, which makes its key the current one if it is not. All rows of a key
come one after another. ``add`` is the first value of a key, of which there is one row; ``get`` and
``update`` find one, but where the key before is forgotten. The rate is the best of all rounds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click
import numpy as np

from savepoint_functions.functions.backends import STATE_BACKENDS, state_backend
from state_processor import Types, ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from savepoint_functions.functions.backends import KeyedStateBackend
    from savepoint_spark.reading.states import ValueState

    Span = tuple[int, bytes, range]

ACCESSES = ("add", "get", "update")


def spans(keys: NDArray[np.int64], rows: int) -> list[Span]:
    """Keys with their bytes, and so many rows each."""
    data = keys.astype(">i8").tobytes()
    return [
        (key, data[8 * index : 8 * index + 8], range(rows))
        for index, key in enumerate(keys.tolist())
    ]


def seconds(
    backend: KeyedStateBackend, state: ValueState, access: str, rows_by_key: list[Span]
) -> float:
    """How long the accesses of all rows take."""
    set_current_key, value, update = backend.set_current_key, state.value, state.update
    start = time.process_time()
    if access == "get":
        for key, key_bytes, rows in rows_by_key:
            set_current_key(key, key_bytes)
            for _ in rows:
                value()
    else:
        for key, key_bytes, rows in rows_by_key:
            set_current_key(key, key_bytes)
            for row in rows:
                update(row)
    return time.process_time() - start


def rates(name: str, keys: int, accesses: int) -> Iterator[float]:
    """Accesses per ms of each kind."""
    distinct = np.arange(keys)
    with state_backend(name, Types.LONG().layout) as backend:
        state = backend.state(ValueStateDescriptor("value", Types.LONG()))
        for access in ACCESSES:
            rows_by_key = spans(distinct, 1 if access == "add" else accesses)
            count = sum(len(rows) for *_, rows in rows_by_key)
            yield count / seconds(backend, state, access, rows_by_key) / 1000  # type: ignore[arg-type]


@click.command(help=__doc__)
@click.option("--keys", default=100_000, show_default=True, help="Distinct keys.")
@click.option("--accesses", default=10, show_default=True, help="Rows of each key.")
@click.option("--rounds", default=3, show_default=True, help="Rounds of each measurement.")
def main(keys: int, accesses: int, rounds: int) -> None:
    """Measures and prints."""
    click.echo(f"{'backend':12}" + "".join(f"{name:>12}" for name in ACCESSES))
    for name in STATE_BACKENDS:
        of_rounds = [list(rates(name, keys, accesses)) for _ in range(rounds)]
        best = map(max, zip(*of_rounds, strict=True))
        click.echo(f"{name:12}" + "".join(f"{rate:12,.0f}" for rate in best) + "  accesses/ms")


if __name__ == "__main__":
    main()
