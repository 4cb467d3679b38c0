"""Keys that are arrays: each Java virtual machine hashes them otherwise, so none can be moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support.hand_made import (
    BASE,
    LONG,
    canonical_base,
    encoded,
    entry_identity,
    header,
    meta_info,
    savepoint_of,
    snapshot,
)

from savepoint_formats.errors import UnstableHashError
from savepoint_formats.hashing.key_hash import key_hashes
from savepoint_formats.layout import Long, Repeated, VoidNamespace
from savepoint_formats.values.arrow_types import arrow_type
from state_processor import Savepoint, Types

if TYPE_CHECKING:
    from pathlib import Path

    from state_processor import TypeInformation

ARRAYS = [
    (Types.PRIMITIVE_ARRAY(Types.LONG()), [1]),
    (Types.PRIMITIVE_ARRAY(Types.BOOLEAN()), [True]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"a"),
    (Types.BASIC_ARRAY(Types.STRING()), ["a"]),
    (Types.BASIC_ARRAY(Types.LONG()), [1]),
]


@pytest.mark.parametrize(("key", "value"), ARRAYS, ids=str)
def test_have_no_hash_code_that_one_can_tell(key: TypeInformation, value: object) -> None:
    layout = key.snapshot.layout()
    with pytest.raises(UnstableHashError, match="array"):
        key_hashes(layout, pa.array([value], arrow_type(layout)))


def test_a_savepoint_with_such_keys_is_not_rescaled(tmp_path: Path) -> None:
    array = snapshot(
        f"{BASE}array.LongPrimitiveArraySerializer$LongPrimitiveArraySerializerSnapshot"
    )
    layouts = Repeated(Long()), VoidNamespace()
    entry = (2, 0, entry_identity([1, 2], None, layouts), encoded(Long(), 7))
    state = header(meta_info("value", "VALUE", LONG), key=array)
    path = savepoint_of(canonical_base(state, [entry]), tmp_path)
    found = Savepoint.open(path, uids=["a"])
    (batch,) = found.scan("a.keyed_state").batches()
    assert batch.to_pylist() == [{"key": [1, 2], "value": 7}]
    with pytest.raises(UnstableHashError, match="an array: its hash codes differ in each JVM"):
        found.rescale(max_parallelism=8).plan(str(tmp_path / "new"), check=True)
