"""Names of files of a write: ``<purpose>-<id of the write>-<id of the attempt>``.

Ids have 16 hexadecimal digits. So two attempts never use the same file, and files of writes differ
from any other files.
"""

from __future__ import annotations

import re
from uuid import uuid4

_ID_SIZE = 16
_LONGEST_NAME = 100
_WRITTEN = re.compile(rf"-([0-9a-f]{{{_ID_SIZE}}})-[0-9a-f]{{{_ID_SIZE}}}$")


def unused_id() -> str:
    """A new id."""
    return uuid4().hex[:_ID_SIZE]


def unused_name(purpose: str, write_id: str) -> str:
    """The name of a new file."""
    plain = re.sub(r"[^A-Za-z0-9_.]+", "-", purpose)[:_LONGEST_NAME]
    return f"{plain}-{write_id}-{unused_id()}"


def write_of(name: str) -> str | None:
    """The id of the write that made a file; None for other files."""
    match = _WRITTEN.search(name)
    return None if match is None else match[1]
