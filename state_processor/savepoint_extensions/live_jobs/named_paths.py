"""Paths that a cluster names, which may be in a stranger's hands.

A path that a user gives may have options and credentials, and lead to any store. A path of a
cluster is one to read, and must not send this machine's credentials elsewhere or start programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import ClusterError
from savepoint_formats.locations import is_live, scheme_of, store_of

if TYPE_CHECKING:
    from savepoint_formats.locations import PathRules

# The machine's own settings say where these stores are. HDFS is asked at the host in the path, and
# Azure's library starts "az" from the PATH and sends its token to the host in the path.
_OWN_STORES = ("file", "s3", "gs")


def plain_path(path: str) -> str:
    """A path that a cluster names. Raises ``ClusterError`` if it has more than a store and a path."""
    if is_live(path):
        raise _refused(path, "leads to another cluster, which would get the token")
    scheme = scheme_of(path)
    if scheme != "file" and "?" in path:
        raise _refused(path, "has options, which can send credentials to another host")
    host = path.partition("://")[2].partition("/")[0]
    if scheme not in ("file", "abfs") and "@" in host:
        raise _refused(path, "has credentials")
    return path


def allowed_path(path: str, rules: PathRules) -> str:
    """A plain path on a store that may be asked, with the options that the user gives to the store.

    Raises ``ClusterError`` for a store that the user must allow first.
    """
    allowed = rules.prefix_of(plain_path(path))
    if allowed is not None:
        prefix, question, options = allowed[0].partition("?")
        rest = "" if allowed[1] == "." else f"/{allowed[1]}"
        return f"{prefix.rstrip('/')}{rest}?{options}" if question else path
    scheme, host = store_of(path)
    if host and scheme not in _OWN_STORES:
        raise _refused(
            path,
            f"is on a store that you must allow first (--allow-path {scheme}://{host}, allow_paths)",
        )
    return path


def _refused(path: str, reason: str) -> ClusterError:
    return ClusterError(
        f"the cluster names the path {path!r:.300}, which {reason}: if you trust it, give the path"
        " itself instead of the job"
    )
