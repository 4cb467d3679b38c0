"""Types of PyFlink for new state: the serializers that a job's own savepoint has."""

from __future__ import annotations

import pytest
import yaml
from support.pyflink_jobs import SAMPLE, TYPES, UIDS

from savepoint_formats.state_files.header import VALUE_SERIALIZER
from savepoint_formats.tables.catalog import keyed_headers
from state_processor import MapStateDescriptor, PyFlink, Savepoint

KEYS = {
    "by_long": "Types.LONG()",
    "by_text": "Types.STRING()",
    "by_row": 'Types.ROW_NAMED(["size", "text"], [Types.LONG(), Types.STRING()])',
    "by_tuple": "Types.TUPLE([Types.LONG(), Types.STRING()])",
    "by_pickle": "Types.PICKLED_BYTE_ARRAY()",
}


@pytest.mark.parametrize("uid", KEYS)
def test_serializers_and_columns_are_those_of_a_savepoint_of_the_job(uid: str) -> None:
    types = yaml.safe_load(TYPES.read_text(encoding="utf-8"))
    operator = Savepoint.open(SAMPLE, uids=UIDS, types=types).operator(uid)
    header, *_ = keyed_headers(operator.directory, operator.record.subtasks[0])
    key = PyFlink.key(KEYS[uid])
    assert key.snapshot == header.key_serializer
    infos = {info.name: info for info in header.states}
    states = {state.name: state for state in operator.catalog.states}
    for name, text in types[uid].items():
        if name == "key":
            continue
        descriptor = PyFlink.state(name, text)
        descriptor = descriptor.with_ttl() if name.startswith("recent") else descriptor
        assert descriptor.stored == infos[descriptor.name].serializer(VALUE_SERIALIZER)
        assert descriptor.stored.layout() == states[descriptor.name].stored
        assert key.layout == states[descriptor.name].key


def test_broadcast_state_has_both_serializers_of_a_map() -> None:
    rules = PyFlink.state("rules", "MapState(Types.STRING(), Types.LONG())")
    assert isinstance(rules, MapStateDescriptor)
    operator = Savepoint.open(SAMPLE, uids=UIDS, types=TYPES).operator("with_rules")
    (state,) = (state for state in operator.catalog.states if state.name == rules.name)
    assert (rules.user_key.layout(), rules.user_value.layout()) == (state.key, state.stored)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LONG", "no call"),
        ("Types.WRONG()", "no type of PyFlink"),
        (
            "Types.OBJECT_ARRAY(Types.LONG())",
            "an array of objects, which can't be a key in PyFlink",
        ),
    ],
)
def test_a_text_that_is_no_type_of_a_key_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        PyFlink.key(text)


def test_a_text_that_is_no_state_is_refused() -> None:
    with pytest.raises(ValueError, match="no type of PyFlink"):
        PyFlink.state("total", "SetState(Types.LONG())")
