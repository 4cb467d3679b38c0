"""A checkpoint that Spark can't read at its path: it was moved, or the path has escapes as a URI.

``state/P/_metadata/v2/N`` has ``stateSchemaFilePaths``, absolute paths. Spark follows these and fails if the
checkpoint is a copy, or worse, reads the original. And it makes a URI of the path of a checkpoint, then takes that
for a path: ``/my queries`` becomes ``/my%20queries``. So a local checkpoint is read through a folder of links in
which only files with paths are written anew.

Spark: ``OperatorStateMetadataV2``, ``StateSourceOptions``.
"""

from __future__ import annotations

import atexit
import os
import posixpath
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from savepoint_extensions.spark_streams.checkpoint_files import (
    STATE,
    fact_of,
    json_object,
    numbered,
    read_text,
)
from savepoint_formats.errors import RefusedError
from savepoint_formats.locations import Location, path_in_store, scheme_of, store_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATHS = "stateSchemaFilePaths"
_SCHEMAS = "_stateSchema"
_STORE = "an entry of stateStoreInfo"
_ESCAPED = re.compile(r"[^\w!$&'()*+,./:;=@~-]")
"""What Java's URIs escape in a path, and a little more: they leave letters of any script."""
_METADATA = "_metadata/v2"
_OPENED = (STATE, "*", *_METADATA.split("/"))
"""The folders above the files with paths."""
_HDFS_PORT = ":8020"  # which a URI may leave out
_CHECKSUM = ".crc"  # of such a file, whose text is another one then


def readable_path(path: str) -> str:
    """The path under which Spark can read a checkpoint: its own, or that of a folder of links.

    Raises:
        RefusedError: It was moved, and is not on this machine; or directories for temporary files
            have such a path, too.
    """
    if scheme_of(path) != "file" and _is_escaped(path_in_store(path)):
        raise RefusedError(
            f"{path} has blanks or special characters, and Spark would look for the state under their"
            " escapes: copy the checkpoint to a local directory, or to a path without them"
        )
    place = Location.of(path)
    is_escaped = place.is_local and _is_escaped(place.path)
    elsewhere = next((it for it in _named_checkpoints(path) if not is_same_place(it, path)), None)
    if not is_escaped and elsewhere is None:
        return path
    if not place.is_local:
        raise RefusedError(
            f"{path} was moved: its operators name schemas below {elsewhere}, which Spark would read. Copy"
            " the checkpoint to a local directory and read it there, move it back, or read it by that name"
            " if it is the same place"
        )
    if _is_escaped(tempfile.gettempdir()):
        raise RefusedError(
            f"{path} is read through links in {tempfile.gettempdir()}, but Spark doesn't find a path with"
            " blanks or special characters: set TMPDIR to a path without"
        )
    # Data frames are lazy, so the links stay until the process ends.
    folder = Path(tempfile.mkdtemp(prefix="savepoint-checkpoint-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _link(Path(os.path.realpath(place.path)), folder)
    return str(folder)


def _is_escaped(path: str) -> bool:
    return _ESCAPED.search(path) is not None


def _named_checkpoints(path: str) -> Iterator[str]:
    """The checkpoints below which the operators name schemas."""
    for operator in numbered(f"{path}/{STATE}"):
        directory = f"{path}/{STATE}/{operator}/{_METADATA}"
        for number in numbered(directory):
            for schema in _schemas(f"{directory}/{number}"):
                yield schema.rpartition(f"/{_SCHEMAS}/")[0].rpartition(f"/{STATE}/")[0]


def is_same_place(place: str, path: str) -> bool:
    """Whether two URIs name one directory. Without a host, HDFS is that of the session."""
    scheme, host = store_of(place)
    other_scheme, other_host = store_of(path)
    hosts = {it.removesuffix(_HDFS_PORT) for it in (host, other_host) if it}
    return scheme == other_scheme and len(hosts) < 2 and _real(place) == _real(path)


def _real(path: str) -> str:
    inner = path_in_store(path)
    return os.path.realpath(inner) if scheme_of(path) == "file" else posixpath.normpath(inner)


def _schemas(file: str) -> Iterator[str]:
    for line in filter(None, read_text(file).split("\n")[1:]):
        for store in fact_of(json_object(line, file), "stateStoreInfo", list, [], file):
            facts = fact_of({_STORE: store}, _STORE, dict, None, file)
            yield from fact_of(facts, _PATHS, list, [], file)


def _link(original: Path, folder: Path, below: tuple[str, ...] = ()) -> None:
    """Links to what a checkpoint has; files with paths, and the folders above them, are made anew."""
    folder.joinpath(*below).mkdir(exist_ok=True)
    for entry in original.joinpath(*below).iterdir():
        parts = (*below, entry.name)
        copy = folder.joinpath(*parts)
        if len(parts) > len(_OPENED) and entry.name.isdecimal():
            copy.write_text(_with_paths(str(entry), folder), "utf-8")
        elif entry.is_dir() and all(
            it in ("*", part) for part, it in zip(parts, _OPENED, strict=False)
        ):
            _link(original, folder, parts)
        elif len(parts) <= len(_OPENED) or entry.suffix != _CHECKSUM:
            copy.symlink_to(entry)


def _with_paths(file: str, folder: Path) -> str:
    text = read_text(file)
    for schema in set(_schemas(file)):
        head, _, tail = schema.rpartition(f"/{_SCHEMAS}/")
        operator = head.rpartition("/")[2]
        text = text.replace(schema, f"file:{folder / STATE / operator / _SCHEMAS / tail}")
    return text
