"""Options with which several snapshots are opened."""

from __future__ import annotations

import inspect

from savepoint_database.snapshot.opening import OpeningOptions, opening_of
from savepoint_database.snapshot.snapshot import Snapshot


def test_they_are_those_of_open() -> None:
    arguments = set(inspect.signature(Snapshot.open).parameters) - {"path"}
    assert set(OpeningOptions.__annotations__) == arguments
    assert set(opening_of()) == arguments


def test_an_iterator_can_be_used_again() -> None:
    options = opening_of(uids=iter(["a", "b"]), allow_paths=iter(["/x"]))
    assert (options["uids"], options["allow_paths"]) == (("a", "b"), ("/x",))
