"""The state that a job declares, without values, for comparison with a new version of the job.

You can keep it as JSON in the job's repository:

| field           | meaning                                                                        |
|-----------------|--------------------------------------------------------------------------------|
| version         | 1                                                                              |
| written_by      | the releases of Flink that may have written the savepoint: ``["2.1", "2.3"]``  |
| metadata_version | version of its ``_metadata``                                                  |
| backend         | the state backend, if its files tell it; else empty                            |
| operators       | ``uid``, ``hash``, ``parallelism``, ``max_parallelism``, ``states``            |
| problems        | why states may be missing; a schema with problems can't be compared            |
| states          | ``name``, ``kind``, ``is_v2``, and ``serializers``: role -> snapshot in base64 |

Readers skip fields that they don't know.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

from savepoint_extensions.upgrade.compatibility.facts import ROLES, StateFacts, uses_of
from savepoint_formats.errors import DescriptionError, FormatError
from savepoint_formats.key_groups import MAX_PARALLELISM
from savepoint_formats.metadata import FlinkVersionRange, release, release_text
from savepoint_formats.snapshots import (
    SnapshotView,
    TypeSerializerSnapshot,
    read_resynchronised,
    snapshot_bytes,
)

VERSION = 1
_HASH = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class JobOperator:
    """An operator of a job, and its states; ``hash`` is that of its uid, in hexadecimal digits."""

    uid: str | None
    hash: str
    parallelism: int
    max_parallelism: int
    states: tuple[StateFacts, ...]

    @property
    def name(self) -> str:
        """The uid, or the hash where the uid is unknown."""
        return self.uid or self.hash

    @property
    def is_keyed(self) -> bool:
        """Whether some state belongs to keys."""
        return any("key" in state.roots and state.kind != "broadcast" for state in self.states)


@dataclass(frozen=True, slots=True)
class JobSchema:
    """The state that a job declares.

    Attributes:
        path: Where it comes from, for messages.
        written: Releases of Flink that may have written the savepoint.
        backend: The state backend, if the files tell it; else empty.
        problems: Why some states may be missing.
    """

    path: str
    written: FlinkVersionRange
    metadata_version: int
    backend: str
    operators: tuple[JobOperator, ...]
    problems: tuple[str, ...] = ()

    def expect_complete(self) -> JobSchema:
        """The schema itself. Raises ``DescriptionError`` if states may be missing."""
        if self.problems:
            message = f"{self.path} lacks states of the job: {self.problems[0]}"
            raise DescriptionError(f"{message}; take another savepoint of it")
        return self

    def as_json(self) -> dict[str, Any]:
        """The schema as JSON, in base64 where Flink has bytes."""
        return {
            "version": VERSION,
            "written_by": [release_text(self.written.oldest), release_text(self.written.newest)],
            "metadata_version": self.metadata_version,
            "backend": self.backend,
            "operators": [_operator_json(operator) for operator in self.operators],
            "problems": list(self.problems),
        }

    @classmethod
    def from_json(cls, text: str, path: str) -> JobSchema:
        """The schema in a text. Raises ``DescriptionError`` unless it is one of this version."""
        try:
            read = json.loads(text)
            if not isinstance(read, dict) or read.get("version") != VERSION:
                raise ValueError(f"not version {VERSION}")
            oldest, newest = (release(each) for each in read["written_by"])
            return cls(
                path,
                FlinkVersionRange(oldest, newest),
                int(read["metadata_version"]),
                str(read["backend"]),
                tuple(_operator(operator) for operator in read["operators"]),
                tuple(map(str, read["problems"])),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise _no_schema(path, f"{type(error).__name__}: {error}") from error
        except FormatError as error:
            raise _no_schema(path, str(error)) from error


def _no_schema(path: str, reason: str) -> DescriptionError:
    return DescriptionError(
        f"{path} is not the schema of a job ({reason}): make one with savepoint schema PATH --output json"
    )


def _operator_json(operator: JobOperator) -> dict[str, Any]:
    return {
        "uid": operator.uid,
        "hash": operator.hash,
        "parallelism": operator.parallelism,
        "max_parallelism": operator.max_parallelism,
        "states": [
            {
                "name": state.name,
                "kind": state.kind,
                "is_v2": state.is_v2,
                "serializers": {
                    role: base64.b64encode(snapshot_bytes(snapshot)).decode()
                    for role, snapshot in state.roots.items()
                },
            }
            for state in operator.states
        ],
    }


def _operator(read: dict[str, Any]) -> JobOperator:
    uid, digits = read["uid"], read["hash"]
    parallelism, max_parallelism = int(read["parallelism"]), int(read["max_parallelism"])
    if not isinstance(digits, str) or not _HASH.fullmatch(digits):
        raise ValueError(f"{digits!r} is not the hash of an operator")
    if not 0 < parallelism <= max_parallelism <= MAX_PARALLELISM:
        raise ValueError(f"parallelism {parallelism} of {max_parallelism}")
    name = None if uid is None else str(uid)
    states = tuple(_state(state) for state in read["states"])
    return JobOperator(name, digits, parallelism, max_parallelism, states)


def _state(read: dict[str, Any]) -> StateFacts:
    name, kind = str(read["name"]), str(read["kind"])
    given = {role: _snapshot(text, f"{name}, {role}") for role, text in read["serializers"].items()}
    uses = (use for role in ROLES if role in given for use in uses_of(given[role], role))
    return StateFacts(name, kind, tuple(uses), is_v2=bool(read["is_v2"]))


def _snapshot(text: str, place: str) -> TypeSerializerSnapshot:
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{place}: {error}") from error
    return read_resynchronised(TypeSerializerSnapshot.read, SnapshotView(data, place))
