"""Directories whose names have characters that Spark takes for something else.

Readers of files take some for patterns, a colon for the end of a scheme, and the source ``statestore``
escapes a path as that of a URI, under which nothing lies. So readers are given a view of the directory,
whose name is plain, and so is a query for its checkpoint. Writers of files take a path as it is.

The view is Hadoop's view of file systems, under a scheme of our own: under ``viewfs`` Hadoop also looks
for a file system of the newer interface, which knows no directory with a space in its name.

Of a URI, Spark and pyarrow have other opinions of what is escaped: it has no such characters.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from savepoint_formats.locations.location import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = "savepoint"
_VIEW = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
_PLAIN = re.compile(r"[\w./~!$&'()+,;=@-]*", re.ASCII)
_ESCAPED_IN_URIS = re.compile(r"[\s\"#%<>?\\^`{|}\[\]*]")


def expect_path(directory: str) -> None:
    """Raises ``ValueError`` for a URI with characters that not everybody reads alike."""
    if not is_local(directory) and (escaped := _ESCAPED_IN_URIS.search(directory)):
        raise ValueError(
            f"directory {directory!r} has {escaped[0]!r} in its name, which Spark and pyarrow read"
            " differently in a URI: name another one"
        )


def readable(spark: SparkSession, path: str) -> str:
    """What readers of Spark take for this local path alone; a URI as it is.

    It holds for the jobs of this session, whose settings say what it leads to.
    """
    if not is_local(path) or _PLAIN.fullmatch(path):
        return path
    view = f"view-{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    spark.conf.set(f"fs.{_SCHEME}.impl", _VIEW)
    spark.conf.set(f"fs.viewfs.mounttable.{view}.link./directory", f"file://{quote(path)}")
    return f"{_SCHEME}://{view}/directory"
