"""Two columns of one type change places in the state of every kind of SQL operator.

The query stays; its tables get the two columns in another order, and so do the rows in the state. A
state that is not carried over right would give the values of one column under the name of the other,
and no type would tell. What the new query emits for the second half must be what it emits anyway, or
the migration refuses the operator.

State of one of both queries has a time to live.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from support.nightly import nightly
from support.query_jobs import Jobs, net, without_zeros
from support.swapped_queries import GROUPS, statements, write_tables

from savepoint_extensions.sql_jobs.plans.node_rows import NodeRows
from savepoint_formats.layout import BinaryRow, nodes_of
from savepoint_formats.state_files.state import StateKind
from state_processor import MigrationError, Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from support.query_jobs import QueryServers

pytestmark = pytest.mark.flink

REFUSED = {"multi_join": "state 'multi-join-input-1'"}
"""Query -> the state that is refused, because its rows have another form in each backend."""


@dataclass(frozen=True)
class Outcome:
    """What the jobs of a release emitted: by group and part of the input, and after migrations."""

    plans: dict[str, Path]
    jobs: dict[Any, dict[str, Any]]
    migrated: dict[str, dict[str, Any]]
    refused: dict[str, str]

    def emitted(self, group: str, query: str) -> tuple[dict[Any, int], dict[Any, int]]:
        """Rows of a query that goes on, and of one that never stopped."""
        answers = (self.jobs[group, "half"], self.migrated[group], self.jobs[group, "end"])
        for answer in answers:
            assert "error" not in answer, answer["error"][-3000:]
        begun, rest, whole = (net(answer["rows"], None) for answer in answers)
        begun.update(rest)
        of_query = (
            {row: count for row, count in without_zeros(rows).items() if row[0] == query}
            for rows in (begun, whole)
        )
        gone_on, expected = of_query
        return gone_on, expected


@pytest.fixture(scope="module", params=[pytest.param("1.20.5", marks=nightly), "2.3.0"])
def outcome(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    spark: SparkSession,
    query_servers: QueryServers,
) -> Outcome:
    folder = tmp_path_factory.mktemp("swapped")
    write_tables(folder)
    groups = {name: group for name, group in GROUPS.items() if group.since <= request.param}
    queries = {
        (name, is_swapped): statements(group, folder, is_swapped=is_swapped)
        for name, group in groups.items()
        for is_swapped in (False, True)
    }
    server = query_servers.of(request.param)
    jobs = Jobs(server, folder, {_job(*it): query for it, query in queries.items()})
    asked = {}
    for name in groups:
        asked[name, "old"] = jobs.job(_job(name, False), "start", "half")
        asked[name, "half"] = jobs.job(_job(name, True), "start", "half")
        asked[name, "end"] = jobs.job(_job(name, True), "start", "end")
    answers = jobs.run(asked)
    again, refused = {}, {}
    for name in groups:
        answer = answers[name, "old"]
        assert "error" not in answer, answer["error"][-3000:]
        old, new = jobs.plan(_job(name, False)), jobs.plan(_job(name, True))
        savepoint = Savepoint.load(spark, answer["savepoint"], plan=old)
        target = folder / "migrated" / name
        try:
            writer = savepoint.sql_migrate(new)
        except MigrationError as error:
            refused[name] = str(error)
            writer = savepoint.sql_migrate(new, allow_loss=True)
        writer.write(target)
        again[name] = jobs.job(_job(name, True), "half", "end", str(target))
    plans = {name: jobs.plan(_job(name, False)) for name in groups}
    return Outcome(plans, answers, jobs.run(again), refused)


def _job(group: str, is_swapped: bool) -> str:
    return f"{group}_swapped" if is_swapped else group


CASES = [(name, query) for name, group in GROUPS.items() for query in group.queries]


@pytest.mark.parametrize(("group", "query"), CASES)
def test_swapped_columns_keep_their_values_or_are_refused(
    outcome: Outcome, group: str, query: str
) -> None:
    if group not in outcome.migrated:
        pytest.skip("this release is tested with other queries")
    if query in REFUSED:
        assert REFUSED[query] in outcome.refused[group]
        return
    gone_on, expected = outcome.emitted(group, query)
    assert expected
    assert gone_on == expected


def test_nothing_else_is_refused(outcome: Outcome) -> None:
    with_refused = {name for name, group in GROUPS.items() if group.queries.keys() & REFUSED}
    assert outcome.refused.keys() == with_refused & outcome.migrated.keys()


def test_every_row_in_keyed_state_has_the_names_of_the_query(outcome: Outcome) -> None:
    unnamed = set()
    for group, plan in outcome.plans.items():
        savepoint = Savepoint.open(outcome.jobs[group, "old"]["savepoint"], plan=plan)
        for operator in savepoint.operators():
            states = operator.catalog.states
            assert isinstance(operator.names, NodeRows) or not states, operator.name
            for state in states:
                assert isinstance(operator.names, NodeRows)
                rows = [*nodes_of((state.stored, *filter(None, [state.key])), BinaryRow)]
                has_names = all(row.names[:1] != ("f0",) for row in rows)
                if rows and not (has_names and any(operator.names.remarks(state.name))):
                    unnamed.add((operator.names.node.kind, state.name))
    names = {name for _, name in unnamed if not name.startswith(("_timer_state", "agg"))}
    # Their rows have another form in each backend.
    assert names <= {"multi-join-input-1", "multi-join-input-2"}


def test_values_have_times_where_the_plan_says_that_they_expire(outcome: Outcome) -> None:
    differing, expiring = set(), 0
    for group, plan in outcome.plans.items():
        savepoint = Savepoint.open(outcome.jobs[group, "old"]["savepoint"], plan=plan)
        for operator in savepoint.operators():
            for state in operator.catalog.states:
                assert isinstance(operator.names, NodeRows)
                time = operator.names.ttl(state.name)
                expires = time is not None and not time.startswith("0 ")
                expiring += expires
                if state.kind is not StateKind.TIMERS and expires != state.has_ttl:
                    differing.add((operator.names.node.kind, state.name))
    assert not differing
    is_expiring = any(not GROUPS[group].begins_to_expire for group in outcome.plans)
    assert bool(expiring) == is_expiring
