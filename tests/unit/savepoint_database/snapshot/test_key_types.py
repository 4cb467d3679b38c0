"""Types of keys that the user tells, for changelogs of which no file tells them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.changelog_jobs import TIMERS, put, registrations
from support.hand_made import change, changelog, encoded, in_memory, operator_with, registration

from savepoint_database.snapshot.key_types import key_types_json, key_types_of
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import KeyTypeError, OperatorNotFoundError
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.layout import Text
from savepoint_formats.metadata import CheckpointMetadata
from savepoint_spark.writing.stored_types import StoredTypes
from state_processor import Savepoint, Types

if TYPE_CHECKING:
    from pathlib import Path

    from support.hand_made import Record

# A user key and a value with what may be the end of a key in it: only its type tells.
PARTS = (encoded(Text(), "a"), b"\0", encoded(Text(), "\0\1"), encoded(Text(), "v"))
ENTRY = change(5, 2, *PARTS)


def savepoint_of(folder: Path, *more: Record, uids: tuple[str, ...] = ("a",)) -> str:
    """A checkpoint of changelogs that were never materialized."""
    records = [registrations()[0], *more, put("a", 7)]
    operator = operator_with(changelog(in_memory(records)))
    operators = (replace(operator, operator_id=OperatorId.from_uid(uid)) for uid in uids)
    view = DataOutputView()
    CheckpointMetadata.new(tuple(operators)).write(view)
    (folder / "_metadata").write_bytes(view.to_bytes())
    return str(folder)


def rows(savepoint: Savepoint) -> list[dict[str, Any]]:
    scan = savepoint.scan("a.keyed_state")
    batches = [batch for split in scan.splits() for batch in scan.read(split)]
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("told", [Types.STRING(), "STRING", "string"], ids=str)
def test_keys_have_the_type_that_the_user_tells(told: object, tmp_path: Path) -> None:
    path = savepoint_of(tmp_path)
    found = Savepoint.open(path, uids=["a"], key_types={"a": told})  # type: ignore[dict-item]
    assert rows(found) == [{"key": "a", "value": 7}]
    types = StoredTypes.of(found.operator("a"))
    assert types.key == Types.STRING().snapshot
    assert [state.name for state in types.states] == ["value"]


def test_what_is_to_be_written_needs_a_type_of_keys(tmp_path: Path) -> None:
    found = Savepoint.open(savepoint_of(tmp_path), uids=["a"])
    with pytest.raises(
        KeyTypeError, match=r"keys of operator a, .* by --key-type a=TYPE, or"
    ) as error:
        StoredTypes.of(found.operator("a"))
    assert "STRING" not in str(error.value)


@pytest.mark.parametrize("verb", ["convert", "rescale", "migrate"])
def test_all_operators_without_a_type_of_keys_are_named_at_once(verb: str, tmp_path: Path) -> None:
    path = savepoint_of(tmp_path, uids=("a", "b", "c d"))
    found = Savepoint.open(path, uids=["a", "b", "c d"], key_types={"b": "STRING"})
    arguments = {"max_parallelism": 8} if verb == "rescale" else {}
    with pytest.raises(KeyTypeError, match="of 2 operators") as error:
        getattr(found, verb)(**arguments).plan(str(tmp_path / "new"), check=True)
    options = "--key-type a=TYPE --key-type 'c d=TYPE', or by key_types={'a': TYPE, 'c d': TYPE}"
    assert str(error.value).endswith(options)


def test_what_is_copied_needs_no_type_of_keys(tmp_path: Path) -> None:
    found = Savepoint.open(savepoint_of(tmp_path, uids=("a", "b")), uids=["a", "b"])
    plan = found.rename_operator("a", "c").plan(str(tmp_path / "new"), check=True)
    assert [row.action for row in plan.operators] == ["renamed from a", "copied"]


def test_verify_says_that_the_type_of_keys_is_missing(tmp_path: Path) -> None:
    faults = Savepoint.open(savepoint_of(tmp_path), uids=["a"]).verify().faults
    assert [fault.problem.partition(";")[0] for fault in faults] == [
        "no file of the operator names the serializer of its keys"
    ]


def test_timers_tell_it_better_than_the_user(tmp_path: Path) -> None:
    timers = (-1, registration(5, "_timer_state/event_t", "TIMERS", TIMERS))
    found = Savepoint.open(savepoint_of(tmp_path, timers), uids=["a"], key_types={"a": "LONG"})
    assert rows(found) == [{"key": "a", "value": 7}]
    assert StoredTypes.of(found.operator("a")).key.layout() == Text()


def test_the_entries_of_maps_are_told_from_their_keys(tmp_path: Path) -> None:
    path = savepoint_of(tmp_path, registrations()[2], (put("a", 7)[0], ENTRY))
    for row in rows(Savepoint.open(path, uids=["a"])):
        reason = "of state 'map', whose key in front"
        assert (row["map"], reason in row["key"]["reason"]) == (None, row["value"] is None)
    (row,) = rows(Savepoint.open(path, uids=["a"], key_types={"a": "STRING"}))
    assert row == {"key": "a", "value": 7, "map": [("\0\1", "v")]}


@pytest.mark.parametrize("text", ["TYPE", "TUPLE<LONG", "LONG INT", ""])
def test_a_text_that_is_no_type_is_told(text: str, tmp_path: Path) -> None:
    with pytest.raises(KeyTypeError, match=r"the type of the keys of 'a': .* expected"):
        Savepoint.open(savepoint_of(tmp_path), key_types={"a": text})


def test_an_operator_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(OperatorNotFoundError, match="no operator 'b'"):
        Savepoint.open(savepoint_of(tmp_path), key_types={"b": "LONG"})


def test_the_option_of_the_data_source_says_the_same() -> None:
    snapshot = Types.LIST(Types.STRING()).snapshot
    assert key_types_of(key_types_json({"a": snapshot})) == {"a": snapshot}
    assert key_types_of('{"a": "STRING"}') == {"a": "STRING"}
    with pytest.raises(ValueError, match="option 'keyTypes'"):
        key_types_of("[1]")
    with pytest.raises(ValueError, match="a JSON object of uids and types"):
        key_types_of("[" * 100_000)
