"""Changes of a changelog that cannot be read are errors that name the state."""

from __future__ import annotations

import pytest
from support.changelog_jobs import NAMES, PLAIN, Job, Step, found_in, plain_base, plain_rows, put
from support.hand_made import (
    STRING,
    UNKNOWN,
    canonical_base,
    change,
    changelog,
    encoded,
    group_of,
    header,
    i32,
    in_memory,
    list_of,
    registration,
)

from savepoint_formats.errors import FormatError, SavepointError, UndecodableError
from savepoint_formats.layout import Text
from savepoint_formats.state_files.changelog import StateChangeOperation as Operation


class TestErrors:
    def test_name_a_state_that_was_not_registered(self) -> None:
        handle = changelog(in_memory([put("a", 1)]), base=(plain_base(),))
        with pytest.raises(
            FormatError, match="a change of state 0, which nothing before it describes"
        ):
            found_in(handle, PLAIN)

    def test_name_a_change_that_a_state_has_not(self) -> None:
        cases = {
            "value": (2, 3, 4, 5, 6, 7),
            "list": (6, 7),
            "map": (1, 2),
            "sum": (3, 5, 6, 7),
            "largest": (3, 5, 6, 7),
        }
        for name, operations in cases.items():
            for operation in operations:
                data = change(operation, NAMES.index(name), encoded(Text(), "a"), bytes(9))
                with pytest.raises(
                    FormatError, match=f"{Operation(operation).name} of state"
                ) as found:
                    plain_rows((group_of("a"), data))
                assert f"state '{name}'" in str(found.value)

    def test_every_cut_of_a_change_is_noticed(self) -> None:
        steps = [
            Step("value", Operation.SET, "a", None, 1),
            Step("list", Operation.ADD, "a", None, ["x", "yy"]),
            Step("map", Operation.ADD, "a", None, {"x": "y", "z": None}),
            Step("map", Operation.ADD_OR_UPDATE_ELEMENT, "a", None, ("x", "y")),
            Step("map", Operation.REMOVE_ELEMENT, "a", None, "x"),
            Step("list", Operation.MERGE_NS, "a", None, [None]),
        ]
        for step in steps:
            group, data = step.record(PLAIN.layout)
            for cut in range(len(data)):
                with pytest.raises(SavepointError):
                    plain_rows((group, data[:cut]))
            with pytest.raises(FormatError):
                plain_rows((group, data + b"\0"))

    def test_name_the_state_of_a_damaged_change(self) -> None:
        group, data = put("a", 1)
        with pytest.raises(FormatError) as found:
            plain_rows((group, data[:-1]))
        assert "in a change of state 'value'" in found.value.__notes__

    def test_say_that_a_type_has_changed_since_the_base(self) -> None:
        record = (-1, registration(0, "value", "VALUE", STRING))
        key = encoded(Text(), "a") + b"\0"
        records = [record, (group_of("a"), change(1, 0, key, encoded(Text(), "x")))]
        job = Job()
        job.do([Step("value", Operation.SET, "a", None, 1)])
        handle = changelog(in_memory(records), base=(plain_base(job),))
        with pytest.raises(UndecodableError, match="state 'value' was of type int64 when"):
            found_in(handle, PLAIN)

    def test_say_that_a_collection_of_unknown_elements_cannot_be_read(self) -> None:
        record = (-1, registration(0, "list", "LIST", list_of(UNKNOWN)))
        key = encoded(Text(), "a") + b"\0"
        records = [record, (group_of("a"), change(3, 0, key, i32(2), b"abcdef"))]
        handle = changelog(in_memory(records), base=(canonical_base(header(), []),))
        with pytest.raises(UndecodableError, match="a change of state 'list' cannot be read"):
            found_in(handle, PLAIN)
