"""Names of the files that a write makes: what each is for, and which write it is of.

``<what it is for>-<id of the write>-<id of the attempt>``, each id 16 hexadecimal digits. So no two
attempts meet in one file, and what a write has made differs from what somebody else has put there.
"""

from __future__ import annotations

import re
from uuid import uuid4

_ID_SIZE = 16
_LONGEST_NAME = 100
_WRITTEN = re.compile(rf"-([0-9a-f]{{{_ID_SIZE}}})-[0-9a-f]{{{_ID_SIZE}}}$")


def unused_id() -> str:
    """An id that nothing has yet."""
    return uuid4().hex[:_ID_SIZE]


def unused_name(purpose: str, write_id: str) -> str:
    """The name of a new file.

    Args:
        purpose: What it is for.
        write_id: The write that makes it.
    """
    plain = re.sub(r"[^A-Za-z0-9_.]+", "-", purpose)[:_LONGEST_NAME]
    return f"{plain}-{write_id}-{unused_id()}"


def write_of(name: str) -> str | None:
    """The id of the write that has made a file; None if none has."""
    match = _WRITTEN.search(name)
    return None if match is None else match[1]
