"""Changes along a chain of a real Flink's incremental checkpoints lead from its first checkpoint to its last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.java_jobs import JavaJobs

from savepoint_extensions.change_feed.followed import follow_changes
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa

    from savepoint_extensions.change_feed.change_feed import StateBatch

UIDS = ("ticks", "batches", "orders", "end")
FIRST, SECOND = 6, 3

State = dict[tuple[str, Any, Any], Any]


def test_changes_lead_from_the_first_checkpoint_to_the_last(tmp_path: Path) -> None:
    target = tmp_path / "checkpoints"
    jobs = JavaJobs("2.2.1", tmp_path, "chain_job", "chain.ChainJobs")
    answers = jobs.run(
        # Leaks from its fourth checkpoint on, and begins again at another parallelism.
        [
            *("rocksdb", "2", "-", str(FIRST), "4", target.as_uri()),
            *("rocksdb", "3", "last", str(SECOND), "0", target.as_uri()),
        ]
    )
    paths = [target.joinpath(*answer["path"].split("/")[-2:]) for answer in answers]
    state = state_of(paths[0])
    before = len(state)
    steps = list(follow_changes(paths[0].parent, uids=UIDS))
    assert len(steps) == FIRST - 1
    for step, path in zip(steps, paths[1:FIRST], strict=True):
        assert apply(state, step.by_state()) > 0
        assert state == state_of(path), path
    apply(state, opened(paths[FIRST - 1]).changes(opened(paths[FIRST])).by_state())
    for step in follow_changes(paths[FIRST].parent, uids=UIDS):
        apply(state, step.by_state())
    assert state == state_of(paths[-1])
    assert len(state) > before


def opened(path: Path) -> Savepoint:
    return Savepoint.open(path, uids=UIDS)


def state_of(path: Path) -> State:
    """All state of the keys, by reads that know nothing of changes."""
    savepoint = opened(path)
    state: State = {}
    for row in savepoint.scan("orders.keyed_state").to_arrow().to_pylist():
        if row["latest"] is not None:
            state["latest", row["key"], None] = row["latest"]
        for name in ("open", "closed", "fading"):
            state |= {(name, row["key"], entry): value for entry, value in row[name] or ()}
    for row in savepoint.scan("orders.timers").to_arrow().to_pylist():
        state["timers", row["key"], row["timestamp"]] = True
    return state


def apply(state: State, batches: Iterable[StateBatch]) -> int:
    """Makes the changes of the operator, and returns their number; each must fit what is there."""
    count = 0
    for changed, batch in batches:
        if changed.operator == "orders":
            for place, old, new, kind in places(changed.state, batch):
                count += 1
                assert state.get(place) == old
                assert kind == ("added" if old is None else "removed" if new is None else "changed")
                if new is None:
                    del state[place]
                else:
                    state[place] = new
    return count


def places(name: str, batch: pa.RecordBatch) -> Iterable[tuple[Any, Any, Any, str]]:
    for row in batch.to_pylist():
        old, new = row["before"], row["after"]
        if name == "timers":
            yield (
                (name, row["key"], (old or new)["timestamp"]),
                old and True,
                new and True,
                row["kind"],
            )
        else:
            yield (name, row["key"], row.get("map_key")), old, new, row["kind"]
