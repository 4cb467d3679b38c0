"""Facts that the user gives a savepoint are understood, and cost nothing if there are none."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from savepoint_database.snapshot.opening import given_plan, given_types
from savepoint_formats.layout import Text
from savepoint_formats.metadata import CheckpointMetadata
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = CheckpointMetadata.new(())


def test_without_facts_there_are_none() -> None:
    assert given_plan(None, NOTHING, "sp") == (None, {})
    assert given_types(None, {}, NOTHING, "sp") == ({}, {})


def test_a_type_of_keys_belongs_to_its_operator(samples: Path) -> None:
    path = str(samples / "currency-2.2.1-hashmap-canonical")
    metadata = Savepoint.open(path).metadata
    ((operator, serializer),) = given_types({"summarize": "STRING"}, None, metadata, path)[
        0
    ].items()
    assert str(operator) in {str(record.operator_id) for record in metadata.operators}
    assert serializer.layout() == Text()


def test_a_look_without_facts_imports_nothing_that_understands_them(samples: Path) -> None:
    program = (
        "import sys; from state_processor import Savepoint;"
        f"Savepoint.open({str(samples / 'currency-2.2.1-hashmap-canonical')!r}).describe();"
        "print(*(name for name in sys.modules if name.endswith(('key_types', 'planned_operators'))),"
        " end='')"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert run.stdout == ""
