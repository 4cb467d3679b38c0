"""Queries change while they run: plan A reads the first half, plan B goes on with what we carried over.

Each job runs on a real Flink. Plan B over the second half must give what plan B gives over all of it,
apart from new aggregates, which count from then on.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.changed_queries import PAIRS, QUERIES, write_rows
from support.incidents import walk
from support.nightly import VARIABLE, is_night
from support.query_jobs import Jobs, net, without_zeros

from savepoint_extensions.sql_jobs.planned_operators import compiled_plan
from state_processor import Savepoint, SavepointWriter, sql_diff

if TYPE_CHECKING:
    from collections import Counter

    from pyspark.sql import SparkSession
    from support.query_jobs import QueryServers

pytestmark = pytest.mark.flink

_FEW = (
    ("count", "count_alias"),
    ("count", "count_sum"),
    ("count_ttl", "count"),
    ("join_price", "join"),
    ("last", "last_price"),
    ("top", "top_qty"),
    ("window", "window_sum"),
    ("rates", "rates_note"),
)
RELEASES = {"1.20.5": tuple(PAIRS) if is_night() else _FEW, "2.3.0": tuple(PAIRS)}
"""Release -> the pairs that it is tried with; by day, the older one has few."""

OF_PAGE = ("count", "count_sum")
"""The pair whose state is carried over by the commands of ``docs/incidents/changed-query.md``."""


@dataclass(frozen=True)
class Outcome:
    """The answers of all jobs of a release, by query, begin and end, or by pair and kind of savepoint.

    ``walked`` is what the commands of the page of a changed query have printed.
    """

    jobs: Jobs
    plain: dict[Any, dict[str, Any]]
    restored: dict[Any, dict[str, Any]]
    walked: dict[str, str]

    def net(self, key: Any, columns: tuple[int, ...] | None) -> Counter[tuple[str, ...]]:
        """Rows that a job emitted less those that it took back."""
        answer = self.plain.get(key) or self.restored[key]
        assert "error" not in answer, answer["error"][-3000:]
        return net(answer["rows"], columns)


@pytest.fixture(scope="module", params=RELEASES)
def outcome(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    spark: SparkSession,
    query_servers: QueryServers,
) -> Outcome:
    folder = tmp_path_factory.mktemp("migrated")
    write_rows(folder)
    pairs = RELEASES[request.param]
    names = {name for pair in pairs for name in pair}
    queries = {name: QUERIES[name].statements(folder) for name in QUERIES if name in names}
    jobs = Jobs(query_servers.of(request.param), folder, queries)
    asked = {(old, "start", "half"): jobs.job(old, "start", "half") for old, _ in pairs}
    for old, new in pairs:
        asked[new, "start", "half"] = jobs.job(new, "start", "half")
        asked[new, "start", "end"] = jobs.job(new, "start", "end")
        if PAIRS[old, new].since:
            asked[new, "half", "end"] = jobs.job(new, "half", "end")
    plain = jobs.run(asked)
    again = {}
    for old, new in pairs:
        pair = PAIRS[old, new]
        answer = plain[old, "start", "half"]
        assert "error" not in answer, (old, answer["error"][-3000:])
        savepoint = Savepoint.load(spark, answer["savepoint"], plan=jobs.plan(old))
        target = jobs.folder / "migrated" / f"{old}-{new}"
        if (old, new) == OF_PAGE:
            places = {"PATH": Path(answer["savepoint"].removeprefix("file:")), "OUT": target}
            plans = {"orders-v1.json": jobs.plan(old), "orders-v2.json": jobs.plan(new)}
            walked = walk("changed-query", folder, places | plans)
        else:
            writer = savepoint.sql_migrate(jobs.plan(new), accept=pair.accept, renames=pair.renames)
            writer.write(target)
        again[old, new, "migrated"] = jobs.job(new, "half", "end", str(target))
        if pair.verdict == "carried over":
            target = jobs.folder / "renamed" / f"{old}-{new}"
            renamed(savepoint, jobs, old, new).write(target)
            again[old, new, "renamed"] = jobs.job(new, "half", "end", str(target))
    return Outcome(jobs, plain, jobs.run(again), walked)


@pytest.fixture(autouse=True)
def expect_tried(outcome: Outcome, old: str, new: str) -> None:
    """Passes over a pair that this release is not tried with by day."""
    if (old, new) not in RELEASES[outcome.jobs.release]:
        pytest.skip(f"runs at night, or with {VARIABLE}=1")


def renamed(savepoint: Savepoint, jobs: Jobs, old: str, new: str) -> SavepointWriter:
    """A savepoint whose operators have the uids of the new plan, and their old rows."""
    before, after = (compiled_plan(jobs.plan(query)) for query in (old, new))
    renames = PAIRS[old, new].renames
    changes = sql_diff(jobs.plan(old), jobs.plan(new), renames=renames)
    matches = {it.old: it.new for it in changes if it.old is not None}
    nodes = before.nodes_by_operator()
    writer = savepoint.writer()
    for operator in savepoint.operators():
        uid, node = nodes.get(operator.record.operator_id, ("", None))
        if node is not None and (number := matches.get(node.id)) is not None:
            new_uid = after.nodes[number].uid_like(node, uid)
            assert new_uid is not None
            writer = writer.rename_operator(operator.id, new_uid)
    return writer


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_a_changed_query_goes_on(outcome: Outcome, old: str, new: str) -> None:
    pair = PAIRS[old, new]
    begun = outcome.net((new, "start", "half"), pair.kept)
    rest = outcome.net((old, new, "migrated"), pair.kept)
    whole = outcome.net((new, "start", "end"), pair.kept)
    assert rest
    begun.update(rest)
    assert without_zeros(begun) == without_zeros(whole)


@pytest.mark.parametrize(("old", "new"), [OF_PAGE])
def test_the_page_of_a_changed_query_holds(outcome: Outcome, old: str, new: str) -> None:
    first, refused, *_, described = outcome.walked.values()
    (counts,) = (line for line in first.splitlines() if line.startswith("carried over"))
    assert "total = SUM(price) is new: it begins empty" in counts
    assert "with --accept NAME" in refused
    assert "GroupAggregate" in described
    assert outcome.net((old, new, "migrated"), None), "Flink restored it"


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_the_verdict_is_what_was_done(outcome: Outcome, old: str, new: str) -> None:
    renames = PAIRS[old, new].renames
    changes = sql_diff(outcome.jobs.plan(old), outcome.jobs.plan(new), renames=renames)
    kind, verdict = PAIRS[old, new].kind, PAIRS[old, new].verdict
    assert verdict in {
        change.verdict for change in changes if change.description.startswith(kind)
    }, changes


@pytest.mark.parametrize(("old", "new"), [pair for pair, it in PAIRS.items() if it.since])
def test_new_aggregates_count_from_then_on(outcome: Outcome, old: str, new: str) -> None:
    columns = PAIRS[old, new].since
    rest = outcome.net((old, new, "migrated"), (0, *columns))
    alone = outcome.net((new, "half", "end"), (0, *columns))
    begun = outcome.net((new, "start", "half"), (0, *columns))
    assert alone
    assert {row for row, count in rest.items() if count > 0} == {
        row for row, count in alone.items() if count > 0
    }
    assert begun


@pytest.mark.parametrize(
    ("old", "new"), [pair for pair, it in PAIRS.items() if it.verdict == "carried over"]
)
def test_flink_does_not_restore_what_is_only_renamed(outcome: Outcome, old: str, new: str) -> None:
    answer = outcome.restored[old, new, "renamed"]
    if "error" in answer:
        assert "StateMigrationException" in answer["error"], answer["error"][-3000:]
        return
    # Flink 2 turns times to live on and off by itself.
    assert (old, new) in (("count", "count_ttl"), ("count_ttl", "count"))
    assert outcome.jobs.release != "1.20.5"
    begun = outcome.net((new, "start", "half"), None)
    begun.update(net(answer["rows"], None))
    assert without_zeros(begun) == without_zeros(outcome.net((new, "start", "end"), None))
