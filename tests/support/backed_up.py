"""Checkpoints of a job that follow each other, and what must hold of all its backups."""

from __future__ import annotations

import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from savepoint_extensions.backup.backup_store import SHARED, BackupStore, digest_of
from savepoint_formats.bytes import DataInputView, DataOutputView
from savepoint_formats.metadata import (
    CheckpointMetadata,
    FileKind,
    FileStream,
    RelativeFile,
    SegmentStream,
    stream_references,
    streams_of,
    with_streams,
)
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from savepoint_formats.metadata import PlainStream
    from support.s3_server import S3Server

INCREMENTAL = "states-2.2.1-rocksdb-incremental"


def job_at(folder: Path, sample: str = INCREMENTAL) -> Path:
    """The directory of a job with one checkpoint, to which its paths lead; returns the checkpoint."""
    shutil.copytree(SAMPLES / sample, folder)
    (place,) = folder.rglob("_metadata")
    metadata = metadata_of(place.parent)

    def moved(stream: PlainStream) -> PlainStream:
        if not isinstance(stream, FileStream | SegmentStream):
            return stream
        below = stream.path.partition(f"/{sample}/")[2]
        return replace(stream, path=f"file:{folder / below}")

    operators = tuple(with_streams(operator, moved) for operator in metadata.operators)
    return put_metadata(place.parent, replace(metadata, operators=operators))


def metadata_of(snapshot: Path) -> CheckpointMetadata:
    return CheckpointMetadata.read(DataInputView((snapshot / "_metadata").read_bytes()))


def put_metadata(snapshot: Path, metadata: CheckpointMetadata) -> Path:
    view = DataOutputView()
    metadata.write(view)
    snapshot.mkdir(exist_ok=True)
    (snapshot / "_metadata").write_bytes(view.to_bytes())
    return snapshot


def tables_of(snapshot: Path) -> list[FileStream]:
    """The handles of tables of RocksDB that several checkpoints may share."""
    handles = [
        reference.stream
        for operator in metadata_of(snapshot).operators
        for reference in stream_references(operator)
        if reference.kind is FileKind.ROCKSDB and reference.role.endswith(".sst")
    ]
    return list(dict.fromkeys(it for it in handles if isinstance(it, FileStream)))


def handles_of(snapshot: Path) -> list[RelativeFile]:
    """The handles of files beside the snapshot, which all those of a backup are."""
    return [it for it in streams_of(metadata_of(snapshot)) if isinstance(it, RelativeFile)]


def damaged_objects(server: S3Server, bucket: str) -> list[str]:
    """Damages objects of backups in a bucket: one is rotten, one cut, one empty, one gone."""
    sizes = {key: server.size(bucket, key) for key in server.keys(bucket) if f"/{SHARED}/" in key}
    rotten, cut, empty, gone = sorted(sizes, key=lambda key: (-sizes[key], key))[:4]
    data = server.get(bucket, rotten)
    server.put(bucket, rotten, data[:-1] + bytes([data[-1] ^ 1]))
    server.put(bucket, cut, server.get(bucket, cut)[:-1])
    server.put(bucket, empty, b"")
    server.client.delete_object(Bucket=bucket, Key=gone)
    return [rotten, cut, empty, gone]


def next_checkpoint(snapshot: Path, changed: int, number: int = 0) -> tuple[Path, int]:
    """The checkpoint after a checkpoint: some of its tables are new files; returns their bytes, too."""
    shared, metadata = snapshot.parent / "shared", metadata_of(snapshot)
    number = number or metadata.checkpoint_id + 1
    names: dict[PlainStream, FileStream] = {}
    size = 0
    for index, handle in enumerate(tables_of(snapshot)[:changed]):
        data = bytearray((shared / Path(handle.path).name).read_bytes())
        # A byte within the first key or value, so that the file has other bytes and the same size.
        data[9] = (data[9] + number) % 256
        name = str(UUID(int=number * 1000 + index))
        (shared / name).write_bytes(data)
        names[handle] = replace(handle, path=f"file:{shared / name}")
        size += len(data)
    operators = tuple(
        with_streams(operator, lambda stream: names.get(stream, stream))
        for operator in metadata.operators
    )
    following = replace(metadata, checkpoint_id=number, operators=operators)
    directory = put_metadata(snapshot.parent / f"chk-{number}", following)
    for file in snapshot.iterdir():
        if file.name != "_metadata":
            shutil.copy2(file, directory / file.name)
    return directory, size


def broken(onto: str | Path) -> list[str]:
    """What is wrong with backups of a directory: files that are missing, or have other bytes."""
    store = BackupStore.of(onto)
    faults = []
    for name in store.names():
        backup = store.backup(name)
        for file in sorted(backup.files) if backup else ():
            place = store.below(SHARED, file)
            if place.file_size() is None:
                faults.append(f"{name} lacks {file}")
                continue
            with place.filesystem.open_input_file(place.path) as data:
                if sha256(data.read()).hexdigest() != digest_of(file):
                    faults.append(f"{name} has a torn {file}")
    return faults


def complete(onto: str | Path) -> list[str]:
    """The names of complete backups."""
    store = BackupStore.of(onto)
    return [name for name in store.names() if store.backup(name) is not None]


def spare(onto: str | Path) -> list[str]:
    """Files that no backup needs, those of writes among them."""
    store = BackupStore.of(onto)
    needed = frozenset[str]().union(
        *(backup.files for name in store.names() if (backup := store.backup(name)))
    )
    writes = [info.base_name for info in store.below("writes").infos()]
    return sorted(store.files().keys() - needed) + writes


def aged(onto: Path, name: str, stamp: str) -> str:
    """Lets a backup be of another time, which its name has."""
    older = f"backup-{stamp}{name[len('backup-00000000T000000Z') :]}"
    (onto / name).rename(onto / older)
    return older
