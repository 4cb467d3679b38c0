"""Values of classes that nobody describes hide where they end; commands say what tells it."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.hand_made import (
    encoded,
    group_of,
    header,
    heap_base,
    i32,
    list_of,
    meta_info,
    savepoint_of,
    utf,
)
from support.object_classes import CARD
from support.object_samples import opened

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import UndescribedSubclassError
from savepoint_formats.layout import Text, VoidNamespace
from savepoint_formats.state_files.header import VALUE_SERIALIZER
from savepoint_spark.writing.stored_types import StoredTypes
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

_PAYER = b"\x0apayer 213"

SAMPLE = "objects-1.20.5-hashmap-native"


def payment_serializer() -> bytes:
    """The snapshot of POJOs that Flink wrote, which knows no subclass."""
    types = StoredTypes.of(opened(SAMPLE).operator("payments"))
    (serializer,) = (
        info.serializer(VALUE_SERIALIZER) for info in types.states if info.name == "payment"
    )
    assert serializer is not None
    view = DataOutputView()
    serializer.write(view)
    return view.to_bytes()


def payment_of_card() -> bytes:
    """A value of the subclass, as Flink wrote it."""
    (row, *_) = (
        row
        for batch in opened(SAMPLE)
        .with_forms(undescribed_subclasses="bytes")
        .scan("payments.keyed_state")
        .batches()
        for row in batch.to_pylist()
        if row["payment"]["$undecoded"] is not None
    )
    return bytes(row["payment"]["$undecoded"]["bytes"])


def native(folder: Path, case: str) -> str:
    """A native savepoint of the heap with such payments in a key group."""
    serializer, card = payment_serializer(), payment_of_card()
    identity, group = encoded(VoidNamespace(), None) + encoded(Text(), "a"), group_of("a")
    match case:
        case "a list":
            states = [meta_info("payment", "LIST", list_of(serializer))]
            entries = [(group, 0, identity + i32(2) + 2 * card)]
        case "two states":
            states = [meta_info(name, "VALUE", serializer) for name in ("payment", "other")]
            # The payer of the first one looks as the beginning of the second state does.
            text = struct.pack(">Hi", 1, 1) + identity + b"\4" + utf("shop.CardPayment")
            looking = card.replace(_PAYER, bytes([len(text) + 1]) + text)
            entries = [(group, 0, identity + looking), (group, 1, identity + card)]
        case _:
            raise ValueError(case)
    handle = heap_base(header(*states), len(states), entries)
    return savepoint_of(replace(handle, handle_id="handle"), folder)


@pytest.mark.parametrize("case", ["a list", "two states"])
@pytest.mark.parametrize("verb", ["convert", "rescale"])
def test_that_a_class_hides_ends_is_told_with_what_the_command_takes(
    tmp_path: Path, case: str, verb: str
) -> None:
    path = native(tmp_path, case)
    arguments = {"max_parallelism": 8} if verb == "rescale" else {}
    found = Savepoint.open(path, uids=["a"])
    with pytest.raises(UndescribedSubclassError, match=r"a value of shop\.CardPayment") as error:
        getattr(found, verb)(**arguments).plan(str(tmp_path / "new"), check=True)
    message = str(error.value)
    assert "describe the class and what it extends, as kryo_class(…) or by --classes" in message
    assert "undescribed" not in message
    assert "canonical savepoint" not in message
    described = Savepoint.open(path, uids=["a"], kryo_classes=(CARD,))
    plan = getattr(described, verb)(**arguments).plan(str(tmp_path / "new"), check=True)
    assert [row.operator for row in plan.operators] == ["a"]


@pytest.mark.parametrize("case", ["a list", "two states"])
def test_whoever_reads_is_told_how_to_see_it_as_bytes(tmp_path: Path, case: str) -> None:
    scan = Savepoint.open(native(tmp_path, case), uids=["a"]).scan("a.keyed_state")
    with pytest.raises(
        UndescribedSubclassError, match=r"by --classes.*; or read it as bytes: with"
    ):
        list(scan.batches())
