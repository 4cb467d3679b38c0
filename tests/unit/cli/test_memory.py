"""Commands that get too little memory: the last line says so, and there is no traceback."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from support.hand_made import LONG, STRING, header, i32, meta_info

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import KeyGroupRange
from savepoint_formats.metadata import (
    CheckpointMetadata,
    KeyedHandleType,
    KeyGroupRangeOffsets,
    KeyGroupsHandle,
    OperatorState,
    RelativeFile,
    SubtaskState,
)

SIZE = 200 << 20
# Machine code and libraries that read values.
_CODE = 120 << 20


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A savepoint with a text of 200 MiB."""
    folder = tmp_path_factory.mktemp("large")
    head = header(meta_info("s", "VALUE", STRING), key=LONG)
    # A count of characters, seven bits a byte; then each of them in a byte.
    count = bytes((SIZE + 1) >> shift & 0x7F | 0x80 for shift in (0, 7, 14)) + bytes(
        [(SIZE + 1) >> 21]
    )
    key = bytes([0x80]) + bytes(8) + b"\0"
    entry = i32(len(key)) + key + i32(len(count) + SIZE) + count
    with (folder / "file").open("wb") as file:
        file.write(head + b"\0\0" + entry)
        for _ in range(SIZE >> 20):
            file.write(b"x" * (1 << 20))
        file.write(b"\xff\xff")
        size = file.tell()
    offsets = KeyGroupRangeOffsets(KeyGroupRange(0, 0), (len(head),))
    stored = RelativeFile("file", size)
    handle = KeyGroupsHandle(KeyedHandleType.CANONICAL_SAVEPOINT, offsets, stored)
    subtask = SubtaskState(0, managed_keyed_state=handle)
    operator = OperatorState(OperatorId.from_uid("a"), 1, 1, (subtask,), uid="a")
    view = DataOutputView()
    CheckpointMetadata.new((operator,)).write(view)
    (folder / "_metadata").write_bytes(view.to_bytes())
    return folder


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("name", "arguments", "limit"),
    [
        ("verify", [], 768 << 20),
        ("query", ["SELECT length(s) FROM a.keyed_state"], 1 << 30),
    ],
    ids=["verify", "query"],
)
def test_one_line_says_that_there_is_not_enough_memory(
    name: str, arguments: list[str], limit: int, large: Path
) -> None:
    program = Path(sys.executable).with_name("savepoint")
    done = subprocess.run(
        [str(program), name, str(large), *arguments, "--uid", "a"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Error: there is not enough memory")


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("arguments", "times"),
    [
        (["verify", "{}"], 2.5),
        (["show", "{}", "a.keyed_state", "--uid", "a", "--output", "json"], 3),
        (["export", "{}", "a.keyed_state", "{}.csv", "--uid", "a"], 3),
        (["export", "{}", "a.keyed_state", "{}.parquet", "--uid", "a"], 3),
    ],
    ids=["verify", "show", "csv", "parquet"],
)
def test_a_large_value_takes_a_few_times_its_size(
    arguments: list[str], times: float, large: Path, samples: Path
) -> None:
    base = peak(["list", str(samples / "currency-2.2.1-hashmap-canonical")])
    assert peak([argument.format(large) for argument in arguments]) - base < times * SIZE + _CODE


def peak(arguments: list[str]) -> int:
    """The most memory of a command, in bytes."""
    program = Path(sys.executable).with_name("savepoint")
    with subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss << 10
