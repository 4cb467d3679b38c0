"""Makes the savepoints that the benchmarks read, with a real Flink.

    python benchmarks/make_savepoint.py [--keys 5000000] [--form canonical]

An operator ``bench``, keyed by a long, with two value states: ``count``, a long, and ``name``, a
text of 20 characters; max parallelism 128, two subtasks. What is there is not made again.

| form      | from                                                                            |
|-----------|---------------------------------------------------------------------------------|
| canonical | Flink's own SavepointWriter                                                     |
| native    | a job on RocksDB                                                                |
| grown     | a small canonical one, its sections replaced by those of so many keys: for      |
|           | sizes that take Flink hours, or more memory than there is                       |
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from customers import MAX_PARALLELISM, NAME_SIZE
from measure import installed_flink, megabytes, options_parser
from peer.flink import HASHMAP, ROCKSDB, Backend, Flink

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.key_groups.ranges import key_groups_of
from savepoint_formats.metadata import CheckpointMetadata, KeyGroupsHandle, RelativeFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMS = ["canonical", "native", "grown"]
METADATA = "_metadata"

SEED_KEYS = 1000
BLOCK = 1 << 20
"""Keys whose key groups are found at once."""

ENTRY_KEY = (("key_size", ">i4"), ("key_group", "u1"), ("key", ">i8"), ("namespace", "u1"))
LAST_OF_STATE = 0x80
END_OF_SECTION = b"\xff\xff"


def size_of(savepoint: Path) -> int:
    """Bytes of all its files."""
    return sum(file.stat().st_size for file in savepoint.rglob("*") if file.is_file())


@dataclass(frozen=True, slots=True)
class BenchmarkSavepoint:
    """A savepoint of so many keys.

    Attributes:
        folder: Where it and its like are.
        form: Canonical, native or grown.
        keys: How many.
    """

    folder: Path
    form: str
    keys: int

    @property
    def path(self) -> Path:
        """Its own folder."""
        return self.folder / f"{self.form}-{self.keys}"

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return size_of(self.path)

    @property
    def backend(self) -> Backend:
        """The one with which Flink reads it fastest."""
        return ROCKSDB if self.form == "native" else HASHMAP

    def make(self, flink: Flink) -> None:
        """Does nothing if it is there."""
        if self.path.exists():
            return
        draft = self.folder / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        arguments = [draft.as_uri(), str(self.keys)]
        if self.form == "grown":
            seed = replace(self, form="canonical", keys=SEED_KEYS)
            seed.make(flink)
            draft.mkdir()
            grow(seed.path, draft, self.keys)
        elif self.form == "canonical":
            flink.run("WriteCanonical", arguments, self.backend)
        else:
            checkpoints = f"execution.checkpointing.dir={(draft / 'checkpoints').as_uri()}"
            run = flink.run("WriteNative", [*arguments, checkpoints], self.backend)
            draft = Path(run.lines[-1].removeprefix("file:"))
        draft.rename(self.path)


def grow(seed: Path, folder: Path, keys: int) -> None:
    """Writes the savepoint that the one in ``seed`` would be if it had so many keys."""
    metadata = CheckpointMetadata.read(DataInputView((seed / METADATA).read_bytes()))
    (operator,) = metadata.operators
    groups = _key_groups(keys)
    subtasks = []
    for subtask in operator.subtasks:
        handle = subtask.managed_keyed_state
        assert isinstance(handle, KeyGroupsHandle)
        subtasks.append(replace(subtask, managed_keyed_state=_grown(handle, seed, folder, groups)))
    view = DataOutputView()
    replace(metadata, operators=(replace(operator, subtasks=tuple(subtasks)),)).write(view)
    (folder / METADATA).write_bytes(view.to_bytes())


def _key_groups(keys: int) -> NDArray[np.uint8]:
    """The key group of each key. A key below 2^31 is its own hash."""
    groups = np.empty(keys, np.uint8)
    for start in range(0, keys, BLOCK):
        block = np.arange(start, min(start + BLOCK, keys), dtype=np.int32)
        groups[start : start + BLOCK] = key_groups_of(block, MAX_PARALLELISM)
    return groups


def _grown(
    handle: KeyGroupsHandle, seed: Path, folder: Path, groups: NDArray[np.uint8]
) -> KeyGroupsHandle:
    """The file of a handle with other sections behind the same header."""
    stream = handle.stream
    assert isinstance(stream, RelativeFile)
    offsets = []
    with (folder / stream.path).open("wb") as file:
        file.write((seed / stream.path).read_bytes()[: min(handle.groups.offsets)])
        for group in handle.key_groups:
            offsets.append(file.tell())
            for piece in section(group, np.flatnonzero(groups == group)):
                file.write(piece)
        grown = replace(stream, size=file.tell())
    return replace(handle, groups=replace(handle.groups, offsets=tuple(offsets)), stream=grown)


def section(key_group: int, keys: NDArray[np.int64]) -> tuple[bytes, ...]:
    """A key group of a canonical file.

    | bytes  | field | meaning                                                            |
    |--------|-------|--------------------------------------------------------------------|
    | u16    | state | before the first entry of each state; FFFF ends the section        |
    | i32, … | key   | key group, key, void namespace; 80 in the first byte: state's last |
    | i32, … | value | a long; the size of a text + 1, then the text                      |
    """
    if not len(keys):
        return (END_OF_SECTION,)
    counts = np.zeros(len(keys), [*ENTRY_KEY, ("size", ">i4"), ("value", ">i8")])
    counts["value"] = keys + 1
    names = np.zeros(len(keys), [*ENTRY_KEY, ("size", ">i4"), ("value", "u1", (1 + NAME_SIZE,))])
    names["value"][:, 0] = NAME_SIZE + 1
    names["value"][:, 1:10] = np.frombuffer(b"customer-", np.uint8)
    for digit in range(11):
        names["value"][:, NAME_SIZE - digit] = ord("0") + keys // 10**digit % 10
    for entries in (counts, names):
        entries["key_size"], entries["key_group"], entries["key"] = 10, key_group, keys
        entries["size"] = entries.dtype["value"].itemsize
        entries["key_group"][-1] |= LAST_OF_STATE
    return b"\0\0", counts.tobytes(), b"\0\1", names.tobytes(), END_OF_SECTION


def main() -> None:
    """Prints path, size and seconds of each."""
    parser = options_parser(__doc__)
    parser.add_argument("--form", choices=FORMS, default="canonical")
    options = parser.parse_args()
    flink = installed_flink(options)
    for keys in options.keys:
        savepoint = BenchmarkSavepoint(options.folder, options.form, keys)
        start = time.monotonic()
        savepoint.make(flink)
        seconds = time.monotonic() - start
        print(f"{savepoint.path}: {megabytes(savepoint.size)} MB, {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
