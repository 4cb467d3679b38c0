"""Committables of Pulsar's sink.

| bytes | field       | meaning                     |
|-------|-------------|-----------------------------|
| i64   | most        | upper half of the id        |
| i64   | least       | lower half of the id        |
| utf   | topic       | of the transaction          |

Pulsar's connector: ``PulsarCommittableSerializer``, version 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.bytes import DataInputView
from savepoint_formats.errors import UnsupportedVersionError

if TYPE_CHECKING:
    from savepoint_extensions.connectors.connector_rows import Facts
    from savepoint_extensions.connectors.kafka.versioned import Versioned

_VERSION = 1


def committable(versioned: Versioned, path: str) -> Facts:
    """The transaction and its topic; raises ``FormatError`` for another connector's."""
    view = DataInputView(versioned.data, path)
    if versioned.version != _VERSION:
        message = f"a committable of version {versioned.version}"
        raise view.error(message, UnsupportedVersionError)
    most, least = view.read_longs(2)
    topic = view.read_utf()
    view.expect_end()
    if not topic:
        raise view.error("a transaction of no topic")
    return {"transaction": f"({most},{least})", "topic": topic}
