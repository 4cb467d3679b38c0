"""Catalogs of real savepoints have the states that their jobs registered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.layout import Opaque, nodes_of
from savepoint_formats.locations.file_io import SnapshotDirectory
from savepoint_formats.metadata import CheckpointMetadata
from savepoint_formats.state_files.state import StateKind
from savepoint_formats.tables.catalog import OperatorCatalog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Snapshot:
    """A real savepoint, and the catalog of each of its operators."""

    name: str
    catalogs: dict[OperatorId, OperatorCatalog]

    @classmethod
    def of(cls, folder: Path) -> Snapshot:
        directory = SnapshotDirectory.of(str(folder))
        view = DataInputView(directory.read_metadata(), str(folder))
        operators = CheckpointMetadata.read(view).operators
        return cls(
            str(folder),
            {
                operator.operator_id: OperatorCatalog.of(directory, operator)
                for operator in operators
            },
        )


def snapshots_below(folder: Path) -> Iterator[Snapshot]:
    for path in sorted(folder.rglob("_metadata")):
        yield Snapshot.of(path.parent)


MODES = {
    "list": StateKind.OPERATOR_LIST,
    "union": StateKind.UNION_LIST,
    "broadcast": StateKind.BROADCAST,
}
NO_STATES = {"key", "window", "state_window", "namespace"}
KINDS = {
    "memos": StateKind.LIST,
    "by_currency": StateKind.MAP,
    "changes": StateKind.MAP,
    "memo_by_currency": StateKind.MAP,
    "cents_sum": StateKind.REDUCING,
    "average": StateKind.AGGREGATING,
    "recent_memos": StateKind.LIST,
    "recent_by_currency": StateKind.MAP,
    "merging-window-set": StateKind.LIST,
}
"""The kinds of states of keys, as the jobs register them; all others are value states."""


def expected_states(tables: dict[str, Any]) -> dict[str, StateKind]:
    found = {
        name: MODES[state["mode"]] for name, state in tables.get("operator_states", {}).items()
    }
    for row in tables.get("keyed_state", []):
        names = row.keys() - NO_STATES
        found |= {name: KINDS.get(name, StateKind.VALUE) for name in names}
    return found


@pytest.fixture(scope="session")
def sample_snapshots(samples: Path) -> dict[str, tuple[dict[str, Any], Snapshot]]:
    """Expected content of each sample, and what its catalogs say."""
    found = {}
    for path in sorted(samples.glob("*/expected.json")):
        expected = json.loads(path.read_text())
        found[path.parent.name] = expected, Snapshot.of(path.parent / expected["snapshot"])
    assert len(found) > 20
    return found


def test_no_sample_has_problems(
    sample_snapshots: dict[str, tuple[dict[str, Any], Snapshot]],
) -> None:
    problems = [
        (name, problem)
        for name, (_, snapshot) in sample_snapshots.items()
        for catalog in snapshot.catalogs.values()
        for problem in catalog.problems
    ]
    assert problems == []


def test_samples_have_the_states_that_their_jobs_registered(
    sample_snapshots: dict[str, tuple[dict[str, Any], Snapshot]],
) -> None:
    for name, (expected, snapshot) in sample_snapshots.items():
        for uid, tables in expected["operators"].items():
            catalog = snapshot.catalogs[OperatorId.from_uid(uid)]
            plain = {
                state.name: state.kind
                for state in catalog.states
                if state.kind is not StateKind.TIMERS
                if not state.kind.is_keyed or state.namespace is None
            }
            assert plain == expected_states(tables), (name, uid)


def test_samples_have_the_window_states_that_their_jobs_registered(
    sample_snapshots: dict[str, tuple[dict[str, Any], Snapshot]],
) -> None:
    for name, (expected, snapshot) in sample_snapshots.items():
        for uid, tables in expected["operators"].items():
            catalog = snapshot.catalogs[OperatorId.from_uid(uid)]
            windowed = {
                state.name
                for state in catalog.states
                if state.kind.is_keyed and state.kind is not StateKind.TIMERS and state.namespace
            }
            rows = tables.get("window_state", [])
            states = {column for row in rows for column in row} - NO_STATES
            assert windowed == states, (name, uid)


def test_samples_have_timers_where_their_jobs_registered_some(
    sample_snapshots: dict[str, tuple[dict[str, Any], Snapshot]],
) -> None:
    for name, (expected, snapshot) in sample_snapshots.items():
        for uid, tables in expected["operators"].items():
            catalog = snapshot.catalogs[OperatorId.from_uid(uid)]
            timers = {state.name for state in catalog.states if state.kind is StateKind.TIMERS}
            domains = {timer["domain"].removesuffix("_time") for timer in tables.get("timers", [])}
            found = {timer.removeprefix("_timer_state/").partition("_")[0] for timer in timers}
            assert found >= domains, (name, uid)


def test_no_savepoint_of_the_corpus_has_problems_or_unknown_serializers(corpus: Path) -> None:
    problems, unknown = [], []
    for part in ("savepoints", "sql"):
        for snapshot in snapshots_below(corpus / part):
            for operator, catalog in snapshot.catalogs.items():
                problems += [(snapshot.name, operator, problem) for problem in catalog.problems]
                states = [state for state in catalog.states if not state.kind.is_raw]
                layouts = [part for s in states for part in (s.key, s.namespace, s.value)]
                unknown += [list(nodes_of(part, Opaque)) for part in layouts if part is not None]
    assert problems == []
    assert [parts for parts in unknown if parts] == []
