"""Types of keys that the user gives, for operators whose files don't tell them.

A checkpoint of a changelog that was never materialized has no header, and changes don't tell the
serializer of keys. Timers do; without timers, only the user knows it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from savepoint_database.snapshot.operator import id_called
from savepoint_database.types.type_names import parse_type
from savepoint_database.types.types import TypeInformation
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import KeyTypeError
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_formats.metadata import OperatorState

    GivenType = TypeInformation | TypeSerializerSnapshot | str


def key_serializers(
    given: Mapping[str, GivenType], operators: Iterable[OperatorState], path: str
) -> dict[OperatorId, TypeSerializerSnapshot]:
    """Serializers of keys that the user gave, by the operator.

    ``given`` maps a uid, a hash or its first digits to a type: a call such as ``Types.STRING()``, or its
    text. ``path`` names the savepoint in errors.
    """
    uids = {str(record.operator_id): record.uid or None for record in operators}
    return {
        OperatorId.from_hex(id_called(uid, uids, path)): _serializer(uid, key_type)
        for uid, key_type in given.items()
    }


def _serializer(uid: str, given: GivenType) -> TypeSerializerSnapshot:
    if isinstance(given, TypeSerializerSnapshot):
        return given
    if isinstance(given, str):
        try:
            return parse_type(given).snapshot
        except ValueError as error:
            raise KeyTypeError(f"the type of the keys of {uid!r}: {error}") from error
    if not isinstance(given, TypeInformation):
        raise TypeError(
            f"a key type that is a {type(given).__name__}, expected a call such as Types.STRING()"
        )
    return given.snapshot


def key_types_json(given: Mapping[str, TypeSerializerSnapshot]) -> str:
    """Serializers by uid as the option ``keyTypes`` of the data source."""
    return json.dumps({uid: {"serializer": _hex(snapshot)} for uid, snapshot in given.items()})


def _hex(snapshot: TypeSerializerSnapshot) -> str:
    view = DataOutputView()
    snapshot.write(view)
    return view.to_bytes().hex()


def key_types_of(text: str) -> dict[str, GivenType]:
    """The option ``keyTypes``: a JSON object of uids and types. Raises ``ValueError`` for other texts."""
    try:
        types = json.loads(text)
    except ValueError:
        types = None
    if not isinstance(types, dict):
        raise ValueError(f"option 'keyTypes' is {text!r}, expected a JSON object of uids and types")
    return {uid: _given(uid, key_type) for uid, key_type in types.items()}


def _given(uid: str, value: object) -> GivenType:
    match value:
        case str():
            return value
        case {"serializer": str(data)}:
            view = SnapshotView(bytes.fromhex(data), f"the key type of {uid!r}")
            return TypeSerializerSnapshot.read(view)
        case _:
            raise ValueError(f"the key type of {uid!r} is {value!r}, expected a text")
