"""Small versions of savepoints that a stranger may have made: an answer, or an error that says why."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from faults import bombs

from savepoint_formats.errors import FormatError
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

SIZE = 2 << 20
TABLE = "a.keyed_state"


def rows(folder: Path, table: str = TABLE) -> pa.Table:
    return Savepoint.open(str(folder), uids=("a",)).scan(table).to_arrow()


BLOCKS: dict[str, Callable[[int, Path], None]] = {
    **{codec: partial(bombs.block, codec) for codec in bombs.CODECS},
    "zlib": bombs.zlib_block,
}


@pytest.mark.parametrize("codec", BLOCKS)
def test_a_block_of_few_bytes_is_read(codec: str, tmp_path: Path) -> None:
    BLOCKS[codec](SIZE, tmp_path)
    (table,) = tmp_path.glob("*.sst")
    assert table.stat().st_size < SIZE // 16
    assert rows(tmp_path)["s"].to_pylist() == ["x" * SIZE]


@pytest.mark.parametrize(
    ("make", "table", "column"),
    [(bombs.key_group, TABLE, "s"), (bombs.operator_state, "a.l", "value")],
    ids=["key group", "operator state"],
)
def test_frames_of_snappy_are_read(
    make: Callable[[int, Path], None], table: str, column: str, tmp_path: Path
) -> None:
    make(SIZE, tmp_path)
    assert (tmp_path / "f").stat().st_size < SIZE // 16
    assert rows(tmp_path, table)[column].to_pylist() == ["x" * SIZE]


def test_types_may_not_nest_without_end(tmp_path: Path) -> None:
    bombs.deep_type(2000, tmp_path)
    with pytest.raises(FormatError, match="serializer snapshots nest deeper than 50"):
        rows(tmp_path)


def test_values_that_nest_too_deep_are_bytes(tmp_path: Path) -> None:
    bombs.deep_value(2000, tmp_path)
    assert "nested deeper" in str(rows(tmp_path)["s"][0].as_py())


def test_references_to_the_object_itself_end(tmp_path: Path) -> None:
    bombs.cycle(1000, tmp_path)
    assert str(rows(tmp_path)["s"][0].as_py()).count("reference") == 1000


@pytest.mark.parametrize(
    "make",
    [partial(bombs.inline_state, 20, 1000), partial(bombs.many_operators, 20)],
    ids=["state", "operators"],
)
def test_metadata_of_the_cases_is_right(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path)
    assert Savepoint.open(str(tmp_path)).verify().is_whole
