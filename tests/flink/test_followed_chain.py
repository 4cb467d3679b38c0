"""Changes along a chain of a real Flink's incremental checkpoints lead from its first checkpoint to its last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.order_chain import FIRST, UIDS, opened, state_of

from savepoint_extensions.change_feed.followed import follow_changes

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from support.order_chain import OrderChain, State

    from savepoint_extensions.change_feed.change_feed import StateBatch


def test_changes_lead_from_the_first_checkpoint_to_the_last(order_chain: OrderChain) -> None:
    paths = order_chain.paths()
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
