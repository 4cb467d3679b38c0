"""A checkpoint that was moved: its operators name their schemas by absolute paths of before.

``state/P/_metadata/v2/N`` has ``stateSchemaFilePaths``. Spark follows these and fails if the checkpoint is
a copy, or worse, reads the original. So a local checkpoint is read through a folder of links in which
only these files are written anew.

Spark: ``OperatorStateMetadataV2``.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from savepoint_extensions.spark_streams.checkpoint_files import STATE, numbered, read_text
from savepoint_formats.errors import RefusedError
from savepoint_formats.locations import Location, path_in_store

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATHS = "stateSchemaFilePaths"
_SCHEMAS = "_stateSchema"
_METADATA = Path("_metadata", "v2")


def readable_path(path: str) -> str:
    """The path under which Spark can read a checkpoint: its own, or that of a folder of links.

    Raises:
        RefusedError: It was moved, and is not on this machine.
    """
    if not any(_is_elsewhere(text, path) for _, text in _metadata_texts(path)):
        return path
    place = Location.of(path)
    if not place.is_local:
        raise RefusedError(
            f"{path} was moved: its operators name schemas at another path, which Spark would read. Copy"
            " the checkpoint to a local directory and read it there, or move it back"
        )
    # Data frames are lazy, so the links stay until the process ends.
    folder = Path(tempfile.mkdtemp(prefix="savepoint-checkpoint-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _link(Path(os.path.realpath(place.path)), folder)
    return str(folder)


def _metadata_texts(path: str) -> Iterator[tuple[str, str]]:
    """Each file of operators that names schemas, and its text."""
    for operator in numbered(f"{path}/{STATE}"):
        directory = f"{path}/{STATE}/{operator}/{_METADATA.as_posix()}"
        for number in numbered(directory):
            yield f"{directory}/{number}", read_text(f"{directory}/{number}")


def _is_elsewhere(text: str, path: str) -> bool:
    own = _real(path)
    return any(_real(_checkpoint_of(schema)) != own for schema in _schemas(text))


def _checkpoint_of(schema: str) -> str:
    """The checkpoint below which a schema's path is."""
    return schema.rpartition(f"/{_SCHEMAS}/")[0].rpartition(f"/{STATE}/")[0]


def _real(path: str) -> str:
    return os.path.realpath(path_in_store(path))


def _schemas(text: str) -> Iterator[str]:
    for line in text.splitlines()[1:]:
        for store in json.loads(line).get("stateStoreInfo", ()):
            yield from store.get(_PATHS, ())


def _link(original: Path, folder: Path) -> None:
    _link_all(original, folder, {STATE})
    for operator in (original / STATE).iterdir():
        inner = folder / STATE / operator.name
        inner.mkdir(parents=True)
        _link_all(operator, inner, {"_metadata"})
        metadata = operator / "_metadata"
        if not (operator / _METADATA).is_dir():
            if metadata.exists():
                (inner / "_metadata").symlink_to(metadata)
            continue
        (inner / _METADATA).mkdir(parents=True)
        for file in (operator / _METADATA).iterdir():
            if file.name.isdecimal():
                text = _with_paths(file.read_text("utf-8"), folder)
                (inner / _METADATA / file.name).write_text(text, "utf-8")


def _with_paths(text: str, folder: Path) -> str:
    for schema in set(_schemas(text)):
        head, _, tail = schema.rpartition(f"/{_SCHEMAS}/")
        operator = head.rpartition("/")[2]
        moved = (folder / STATE / operator / _SCHEMAS / tail).as_uri()
        text = text.replace(schema, moved)
    return text


def _link_all(original: Path, folder: Path, without: set[str]) -> None:
    folder.mkdir(exist_ok=True)
    for entry in original.iterdir():
        if entry.name not in without:
            (folder / entry.name).symlink_to(entry)
