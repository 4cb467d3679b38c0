"""The fields of a cluster's answers, each checked: a cluster may be another program, or a stranger's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_formats.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ValueT = TypeVar("_ValueT")

Answer = dict[str, Any]

# Exact in JSON.
_LARGEST = 1 << 53
# The first millisecond that Python's dates don't have.
_END_OF_DATES = 253_402_300_800_000


def text_of(answer: Mapping[str, Any], name: str) -> str:
    """A text; empty if there is none."""
    text = _value(answer, name, str, "a text") or ""
    # JSON can have half a character, which nothing can print.
    return text.encode("utf-8", errors="replace").decode()


def object_of(answer: Mapping[str, Any], name: str) -> Answer:
    """An object; empty if there is none."""
    return _value(answer, name, dict, "an object") or {}


def objects_of(answer: Mapping[str, Any], name: str) -> list[Answer]:
    """A list of objects; empty if there is none."""
    values = _value(answer, name, list, "a list") or []
    for value in values:
        if not isinstance(value, dict):
            raise _wrong(name, value, "a list of objects")
    return values


def number_of(answer: Mapping[str, Any], name: str) -> int:
    """A number from 0 that is there."""
    value = answer.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _LARGEST:
        raise _wrong(name, value, "a number")
    return value


def milliseconds_of(answer: Mapping[str, Any], name: str) -> int:
    """A time in milliseconds since 1970 that is there."""
    value = number_of(answer, name)
    if value >= _END_OF_DATES:
        raise _wrong(name, value, "a time in milliseconds")
    return value


def _value(
    answer: Mapping[str, Any], name: str, kind: type[_ValueT], expected: str
) -> _ValueT | None:
    value = answer.get(name)
    if value is not None and not isinstance(value, kind):
        raise _wrong(name, value, expected)
    return value


def _wrong(name: str, value: object, expected: str) -> ClusterError:
    return ClusterError(
        f"the cluster answered {value!r:.100} as {name!r}, expected {expected}: it does not answer like"
        " Flink's REST interface"
    )
