"""Directories whose names have characters that Spark misreads.

Spark's file readers take some characters as patterns, and a colon as the end of a scheme. The
source ``statestore`` escapes a path as a URI, and finds nothing there. So readers, and queries for
their checkpoints, get a view of the directory with a plain name. Writers of files take a path as it
is.

The view is Hadoop's view of file systems, under a scheme of our own. Under ``viewfs`` Hadoop also
looks for a file system of the newer interface, which finds no directory with a space in its name.

Spark and pyarrow disagree on escapes in a URI, so a URI must not have such characters.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from savepoint_formats.locations import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = "savepoint"
_VIEW = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
_PLAIN = re.compile(r"[\w./~!$&'()+,;=@-]*", re.ASCII)
_ESCAPED_IN_URIS = re.compile(r"[\s\"#%<>?\\^`{|}\[\]*]")


def expect_path(directory: str) -> None:
    """Raises ``ValueError`` for a URI with characters that Spark and pyarrow read differently."""
    if not is_local(directory) and (escaped := _ESCAPED_IN_URIS.search(directory)):
        raise ValueError(
            f"directory {directory!r} has {escaped[0]!r} in its name, which Spark and pyarrow read"
            " differently in a URI: name another one"
        )


def readable(spark: SparkSession, path: str) -> str:
    """A path that readers of Spark understand, in this session; a URI stays as it is."""
    if not is_local(path) or _PLAIN.fullmatch(path):
        return path
    view = f"view-{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    spark.conf.set(f"fs.{_SCHEME}.impl", _VIEW)
    spark.conf.set(f"fs.viewfs.mounttable.{view}.link./directory", f"file://{quote(path)}")
    return f"{_SCHEME}://{view}/directory"
