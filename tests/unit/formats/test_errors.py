"""Every error of the tree survives the way from one process to another."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import re
from typing import TYPE_CHECKING

import pytest

import savepoint_formats
import state_processor
from savepoint_formats import errors, savepoint_warnings
from savepoint_formats.errors import FormatError, SavepointError
from savepoint_formats.savepoint_warnings import SavepointWarning

if TYPE_CHECKING:
    from collections.abc import Iterator


def kinds(root: type[SavepointError]) -> Iterator[type[SavepointError]]:
    yield root
    for kind in root.__subclasses__():
        yield from kinds(kind)


for module in pkgutil.walk_packages(savepoint_formats.__path__, f"{savepoint_formats.__name__}."):
    importlib.import_module(module.name)

KINDS = [
    kind
    for kind in dict.fromkeys(kinds(SavepointError))
    if kind.__module__.startswith("savepoint_formats")
]


def error_of(kind: type[SavepointError]) -> SavepointError:
    found = (
        kind("a wrong byte", "s3://jobs/sp-1/_metadata", 212)
        if issubclass(kind, FormatError)
        else kind("something is wrong: 7 at byte 3")
    )
    return found.within("state 'total'", "operator sum")


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_pickles(kind: type[SavepointError]) -> None:
    error = error_of(kind)
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is kind
    assert str(found) == str(error)
    assert found.places == error.places


def test_the_tree_is_drawn_whole() -> None:
    drawn = re.findall(r"\w+", errors.__doc__ or "")
    in_tree = [kind.__name__ for kind in KINDS if kind.__module__ == errors.__name__]
    assert [name for name in in_tree if name not in drawn] == []


def test_every_error_is_of_a_family() -> None:
    families = set(SavepointError.__subclasses__()) & set(KINDS)
    assert {kind.__name__ for kind in families} == {
        "NotFoundError",
        "DamagedError",
        "RefusedError",
        "UsageError",
        "JobError",
        "WriteError",
    }


def test_errors_of_a_wrong_call_share_a_class() -> None:
    of_calls = set(kinds(errors.UsageError)) & set(KINDS) - {errors.UsageError}
    assert {kind.__name__ for kind in of_calls} == {
        *("AmbiguousJobError", "AmbiguousOperatorError", "ClassNotNamedError"),
        *("ColumnNotFoundError", "ConditionError", "FieldNotFoundError", "JobNotFoundError"),
        *("KeyTypeError", "OperatorNotFoundError", "PlanError", "QueryError"),
        *("StateNotFoundError", "TableNotFoundError"),
    }
    marked = re.findall(r"(\w+) \*", errors.__doc__ or "")
    assert {kind.__name__ for kind in of_calls} <= set(marked)


def test_every_error_and_warning_is_at_hand_in_the_api() -> None:
    defined = [*vars(errors).values(), *vars(savepoint_warnings).values()]
    classes = [one for one in defined if isinstance(one, type)]
    public = [one for one in classes if issubclass(one, SavepointError | SavepointWarning)]
    assert [
        one.__name__ for one in public if getattr(state_processor, one.__name__, None) is not one
    ] == []
    assert {one.__name__ for one in public} <= set(state_processor.__all__)
