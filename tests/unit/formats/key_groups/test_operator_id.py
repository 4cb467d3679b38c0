"""Operator ids against those that Flink printed."""

from __future__ import annotations

import pickle

import pytest

from savepoint_formats.key_groups.operator_id import OperatorId, murmur3_128

PRINTED_BY_FLINK = {
    "a": "897859f6655555855a890e51483ab5e6",
    "source": "e5a72f353fc1e6bbf3bd96a41384998c",
    "my-uid-1": "6f4393172fb86dcc5948ff2b89bd43c6",
    "été": "149a9d9b6c5fbf532881418509693336",
}


@pytest.mark.parametrize(("uid", "printed"), PRINTED_BY_FLINK.items())
def test_an_id_is_the_murmur_hash_of_the_uid(uid: str, printed: str) -> None:
    assert str(OperatorId.from_uid(uid)) == printed


def test_nothing_hashes_to_zeros() -> None:
    assert murmur3_128(b"") == bytes(16)


def test_an_empty_uid_is_refused() -> None:
    with pytest.raises(ValueError, match="a uid is empty"):
        OperatorId.from_uid("")


def test_a_uid_of_more_than_a_block_takes_every_byte_into_account() -> None:
    uids = ["x" * size for size in range(1, 64)]
    assert len({OperatorId.from_uid(uid) for uid in uids}) == len(uids)


def test_an_id_comes_back_from_its_hex_form() -> None:
    assert OperatorId.from_hex(PRINTED_BY_FLINK["a"]) == OperatorId.from_uid("a")


def test_an_id_equals_its_bytes() -> None:
    assert OperatorId.from_uid("a") == bytes.fromhex(PRINTED_BY_FLINK["a"])
    assert pickle.loads(pickle.dumps(OperatorId.from_uid("a"))) == OperatorId.from_uid("a")


@pytest.mark.parametrize("text", ["", "89", "89" * 17, "x" * 32])
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected 32 hex digits"):
        OperatorId.from_hex(text)
