"""The table function ``changes`` in queries of DuckDB.

::

    FROM changes('s3://jobs/savepoint-5e6f')              -- from the savepoint of the query to this one
    FROM changes('savepoint-1', 'savepoint-2', state := 'orders.total')

DuckDB has no table functions in Python. So a query that calls it gets the changes as a table, which goes to disk
if it is large, and a macro that finds the table by the arguments.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from savepoint_database.types import EXPORTED, double_quoted
from savepoint_extensions.change_feed.change_feed import ChangeFeed
from savepoint_extensions.change_feed.feed_tables import Wanted
from savepoint_formats.errors import QueryError

if TYPE_CHECKING:
    import duckdb

    from savepoint_database.snapshot import Snapshot

_MACRO = """
    CREATE OR REPLACE TEMP MACRO changes(before, after := '', state := '')
    AS TABLE FROM query_table('changes ' || sha256(before) || sha256(after) || sha256(state))
"""
_ROWS = "rows of changes"
_CALL = "changes('old', 'new', state := 'operator.state'), with texts as arguments"


def define_changes(
    connection: duckdb.DuckDBPyConnection, snapshot: Snapshot, call: dict[str, Any]
) -> None:
    """Makes the table that a call of ``changes`` in a query names; ``call`` is its node in the query's tree.

    Raises:
        QueryError: An argument is no text, or queries may read no files.
        SavepointError: A savepoint can't be read.
    """
    before, after, state = _arguments(call)
    ((may_read,),) = connection.execute(
        "SELECT current_setting('enable_external_access')"
    ).fetchall()
    if not may_read:
        raise QueryError(
            "changes reads other savepoints than that of the query; allow it with --allow-files,"
            " allow_files=True"
        )
    connection.execute(_MACRO)
    # DuckDB's names have no case, and those of query_table no quotes; texts have both.
    digests = (sha256(text.encode()).hexdigest() for text in (before, after, state))
    table = double_quoted(f"changes {''.join(digests)}")
    feed = _feed(snapshot, before, after)
    form = EXPORTED["text"]
    name = state or None
    rows = form.schema(feed.schema(name)).empty_table()
    connection.register(_ROWS, rows)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS FROM {double_quoted(_ROWS)}")
    for batch in feed.batches(name):
        connection.register(_ROWS, pa.Table.from_batches([form.batch(batch)]))
        connection.execute(f"INSERT INTO {table} FROM {double_quoted(_ROWS)}")
    connection.unregister(_ROWS)


def _feed(snapshot: Snapshot, before: str, after: str) -> ChangeFeed:
    uids = [operator.uid for operator in snapshot.operators() if operator.uid]
    from state_processor import Savepoint  # noqa: PLC0415  # the database loads this module by its name

    rules = snapshot.directory.rules
    first = Savepoint.open(
        before if after else snapshot.path,
        uids=uids,
        kryo_classes=snapshot.kryo.classes,
        allow_paths=rules.allowed,
        strict_paths=rules.is_strict,
    )
    return ChangeFeed(first.diff(after or before), Wanted())


def _arguments(call: dict[str, Any]) -> tuple[str, str, str]:
    given = {"before": "", "after": "", "state": ""}
    names = iter(given)
    for argument in call["arguments"]:
        name = argument["name"] or next(names, "")
        literal = argument["expression"].get("literal", {})
        if name not in given or literal.get("kind") != "STRING":
            raise QueryError(f"a wrong call of changes, expected {_CALL}")
        given[name] = literal["text"]
    if not given["before"]:
        raise QueryError(f"changes without a savepoint, expected {_CALL}")
    return given["before"], given["after"], given["state"]
