"""Types of keys and of PyFlink's state that the user gives, because files don't tell them.

A checkpoint of a changelog that was never materialized has no header, and changes don't contain the
serializer of keys. Timers do; without timers, only the user knows it.

PyFlink's process mode stores no types. The user gives them like this:

::

    orders:
      key: Types.STRING()
      total: ValueState(Types.LONG())
      seen: ListState(Types.LONG())
      rules: MapState(Types.STRING(), Types.LONG())

``key`` gives the field names of keys that are rows. A state called ``key`` is ``python-state-key`` here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from savepoint_database.snapshot.operator import id_called
from savepoint_database.types.type_names import parse_type
from savepoint_database.types.types import TypeInformation
from savepoint_database.types.yaml_section import YamlSection, yaml_text
from savepoint_formats.bytes import DataOutputView
from savepoint_formats.errors import DescriptionError, KeyTypeError
from savepoint_formats.key_groups import OperatorId
from savepoint_formats.python_state.job_source import job_types
from savepoint_formats.python_state.stored_forms import KEY
from savepoint_formats.python_state.type_texts import state_layout, type_layout
from savepoint_formats.snapshots import SnapshotView, TypeSerializerSnapshot

if TYPE_CHECKING:
    from savepoint_formats.metadata import OperatorState

    GivenType = TypeInformation | TypeSerializerSnapshot | str


def key_serializers(
    given: Mapping[str, GivenType], operators: Iterable[OperatorState], path: str
) -> dict[OperatorId, TypeSerializerSnapshot]:
    """Serializers of keys that the user gave, by the operator.

    ``given`` maps a uid, a hash or its first digits to a type: a call such as ``Types.STRING()``, or its
    text. ``path`` names the savepoint in errors.
    """
    by_name = _finder(operators, path)
    return {by_name(uid): _serializer(uid, key_type) for uid, key_type in given.items()}


def _finder(operators: Iterable[OperatorState], path: str) -> Callable[[str], OperatorId]:
    """Finds an operator as ``id_called`` does."""
    records = tuple(operators)
    uids = {str(record.operator_id): record.uid or None for record in records}
    names = {str(record.operator_id): record.name for record in records}
    return lambda name: OperatorId.from_hex(id_called(name, uids, names, path))


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
    except (ValueError, RecursionError):
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


StateTypes = Mapping[str, Mapping[str, str]] | str | os.PathLike[str]
"""Operator -> state -> text of its type, or the path of a YAML file with them."""


def python_types(
    given: StateTypes, operators: Iterable[OperatorState], path: str
) -> dict[OperatorId, tuple[tuple[str, str], ...]]:
    """States and texts of their types that the user gave, by the operator.

    ``path`` names the savepoint in errors.

    Raises:
        OperatorNotFoundError: No operator has one of the uids.
        AmbiguousOperatorError: Several hashes begin with the digits.
        DescriptionError: A text is not a type of PyFlink, or the file has another mistake.
    """
    is_file = isinstance(given, str | os.PathLike)
    types = types_of_file(given) if is_file else given  # type: ignore[arg-type]  # as asked
    by_name = _finder(operators, path)
    told = {}
    for uid, states in types.items():  # type: ignore[union-attr]  # it is a mapping now
        for state, text in states.items():
            try:
                (type_layout if state == KEY else state_layout)(text)
            except ValueError as error:
                raise DescriptionError(f"type of {state!r} of {uid!r}: {error}") from error
        told[by_name(uid)] = tuple(states.items())
    return told


def types_of_file(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Operator -> state -> text of its type, of a YAML file. Raises ``DescriptionError`` for a mistake."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DescriptionError(f"{path} is not UTF-8 at byte {error.start}") from error
    return types_of_text(text, str(path))


def types_of_text(text: str, file: str) -> dict[str, dict[str, str]]:
    """Types in the content of a file; see ``types_of_file``."""
    whole = YamlSection.of_text(text, file)
    return {
        uid: {state: section.text(state) for state in section.fields}
        for uid in whole.fields
        if (section := whole.section(uid)) is not None
    }


def types_of_option(text: str) -> dict[str, dict[str, str]]:
    """The option ``types``: a JSON object of ``types_of_file``. Raises ``ValueError`` for other texts."""
    try:
        types = json.loads(text)
    except (ValueError, RecursionError):
        types = None
    if isinstance(types, dict) and all(isinstance(states, dict) for states in types.values()):
        return types
    raise ValueError(f"option 'types' is {text!r}, expected a JSON object of operators and states")


def described_job_types(source: str, file: str) -> str:
    """The YAML of the types that the source of a job names.

    Raises ``DescriptionError`` if the source is not Python, or names no state.
    """
    return yaml_text(job_types(source, file), width=1000)
