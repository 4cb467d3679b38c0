"""Fixtures of pytest for the state of jobs: installed with the package, and nothing heavy until one is used.

| fixture              | what a test does with it                                                    |
|----------------------|-----------------------------------------------------------------------------|
| ``savepoint``        | opens a savepoint, without Spark                                            |
| ``assert_state_equal`` | compares a table with rows, or two savepoints                             |
| ``make_savepoint``   | writes a savepoint of rows, which a test of the job restores; starts Spark  |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from savepoint_database.snapshot import Snapshot
    from savepoint_database.types import StateDescriptor, TypeInformation
    from savepoint_formats.locations import PathText
    from state_processor.savepoint.savepoint import Savepoint

    Rows = Sequence[Mapping[str, Any]]

_SHOWN = 5


@pytest.fixture(name="savepoint")
def opened_savepoint() -> Callable[..., Savepoint]:
    """Opens a savepoint or checkpoint: ``savepoint(path, uids=[...])``, as ``Savepoint.open`` does."""
    from state_processor import Savepoint  # noqa: PLC0415  # every run of pytest loads this module

    return Savepoint.open


@pytest.fixture
def assert_state_equal() -> Callable[..., None]:
    """Compares state: ``assert_state_equal(savepoint, "orders.keyed_state", rows)``, or with another savepoint."""
    return _expect_equal


def _expect_equal(
    actual: Snapshot | PathText, table: Any, rows: Rows | None = None, **options: Any
) -> None:
    """Fails with a few of the rows that differ.

    Args:
        actual: A savepoint, or its path.
        table: The table as ``<operator>.<table>``; or the savepoint that it must equal.
        rows: The rows that the table must have, in any order, as ``to_pylist`` gives them. Columns that
            they do not name are not compared.
        options: Of ``Savepoint.open`` for a path, such as ``uids``.
    """
    from savepoint_database.snapshot import Snapshot  # noqa: PLC0415  # as above
    from state_processor import Savepoint  # noqa: PLC0415  # as above

    opened = actual if isinstance(actual, Snapshot) else Savepoint.open(actual, **options)
    if rows is None:
        diff = Savepoint.open(opened.path, **options).diff(table)
        changed = [f"{table.table}: {table}" for table in diff.tables if not table.is_equal]
        differences = [*map(str, diff.differences), *changed]
        if not diff.is_equal:
            pytest.fail("the states differ:\n" + "\n".join(differences[:_SHOWN]), pytrace=False)
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    scan = opened.scan(table, columns=names or None)
    stored = [
        row for split in scan.splits() for batch in scan.read(split) for row in batch.to_pylist()
    ]
    missing, surplus = [dict(row) for row in rows], []
    for row in stored:
        if row in missing:
            missing.remove(row)
        else:
            surplus.append(row)
    if missing or surplus:
        lines = [f"- {row}" for row in missing[:_SHOWN]] + [f"+ {row}" for row in surplus[:_SHOWN]]
        counts = f"{len(missing)} rows are missing (-), {len(surplus)} are unexpected (+)"
        pytest.fail(f"{table}: {counts}\n" + "\n".join(lines), pytrace=False)


@pytest.fixture
def make_savepoint(tmp_path: Path) -> Callable[..., str]:
    """Writes a savepoint of one operator with keyed state, and returns its path.

    ``make_savepoint("orders", rows, key="customer", states=[ValueStateDescriptor("total", Types.LONG())])``:
    each row is a dict with the key and a column per state; ``key_type`` and ``max_parallelism`` are those of
    the job.
    """
    count = 0

    def make(
        uid: str,
        rows: Rows,
        *,
        key: str = "key",
        states: Sequence[StateDescriptor],
        key_type: TypeInformation | None = None,
        max_parallelism: int = 128,
    ) -> str:
        nonlocal count
        count += 1
        path = str(tmp_path / f"savepoint-{count}")
        _write(path, uid, rows, key, states, key_type, max_parallelism)
        return path

    return make


def _write(  # what a savepoint of one operator consists of
    path: str,
    uid: str,
    rows: Rows,
    key: str,
    states: Sequence[StateDescriptor],
    key_type: TypeInformation | None,
    max_parallelism: int,
) -> None:
    import pyarrow as pa  # noqa: PLC0415  # every run of pytest loads this module

    from savepoint_database.types import OutputRows  # noqa: PLC0415  # as above
    from savepoint_formats.values import arrow_type  # noqa: PLC0415  # as above
    from state_processor import OperatorTransformation, Savepoint, local_session  # noqa: PLC0415  # as above

    keys = [row[key] for row in rows]
    of_key = pa.array(keys).type if key_type is None else arrow_type(key_type.layout)
    types = {state.name: arrow_type(state.stored.layout()) for state in states}
    given = OutputRows(pa.schema({key: of_key} | types), "the test")
    columns = [keys, *([row.get(state.name) for row in rows] for state in states)]
    table = pa.Table.from_batches([given.batch([f"key {value!r}" for value in keys], columns)])
    spark = local_session()
    data = OperatorTransformation.bootstrap_with(spark.createDataFrame(table))
    operator = data.key_by(key, key_type=key_type)
    for state in states:
        operator = operator.with_state(state)
    Savepoint.create(spark, max_parallelism=max_parallelism).with_operator(uid, operator).write(
        path
    )
