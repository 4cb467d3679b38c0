"""State of the samples with other names of classes in its values."""

from __future__ import annotations

import pytest
from support.object_classes import CARD, CLASSES
from support.object_samples import opened

from savepoint_formats.snapshots.renamed_classes import ClassRename
from savepoint_spark.changing.named_classes import entries_with_names
from savepoint_spark.changing.stored_rows import stored_chunks

RENAMES = (
    ClassRename("shop.Shape$Square", "a.Kept"),
    ClassRename("shop.CardPayment", "of.many.Card"),
    ClassRename("a.Kept", "a.B"),
)
BYTES = {
    # Kryo marks the last letter; a POJO has the size in front.
    "shapes": (b"shop.Shape$Squar\xe5", b"a.\xc2"),
    "payments": (b"\4\0\x10shop.CardPayment", b"\4\0\x0cof.many.Card"),
}


@pytest.mark.parametrize("sample", ["hashmap-native", "rocksdb-canonical"])
@pytest.mark.parametrize("uid", BYTES)
def test_nothing_but_the_name_is_another(uid: str, sample: str) -> None:
    operator = opened(f"objects-1.20.5-{sample}", (*CLASSES, CARD)).operator(uid)
    recoded = entries_with_names(None, operator, RENAMES)
    assert recoded is not None
    old, new = BYTES[uid]
    named = 0
    for chunk in stored_chunks(operator, uid.removesuffix("s")):
        entries = recoded.entries(chunk)
        assert entries.keys == chunk.entries.keys
        before = chunk.entries.values.to_pylist()
        named += sum(old in value for value in before)
        assert entries.values.to_pylist() == [value.replace(old, new) for value in before]
    assert named > 0
