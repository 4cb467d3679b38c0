"""Types of keyed state handles in all versions of Flink.

| type     | class             | since                                                            |
|----------|-------------------|------------------------------------------------------------------|
| 0        | (``None``)        |                                                                  |
| 3, 7, 12 | KeyGroupsHandle   | 3 up to 1.14; 7 canonical savepoint, 1.13; 12 native, 1.15       |
| 5, 11    | IncrementalHandle | 5 up to 1.14; 11 from 1.15                                       |
| 8, 14    | ChangelogHandle   | 8 in 1.14 and early 1.15; 14 after that                          |
| 9        | InMemoryChanges   | inside a ChangelogHandle                                         |
| 10, 13   | FileChanges       | inside a ChangelogHandle; 13 names its storage                   |

A file of type 3 or 12 has either the heap's or the canonical format.

Flink: ``MetadataV2V3SerializerBase.serializeKeyedStateHandle``.
"""

from __future__ import annotations

from enum import IntEnum


class KeyedHandleType(IntEnum):
    """The byte in front of a keyed handle."""

    KEY_GROUPS_V1 = 3
    INCREMENTAL_V1 = 5
    CANONICAL_SAVEPOINT = 7
    CHANGELOG_V1 = 8
    IN_MEMORY_CHANGES = 9
    FILE_CHANGES_V1 = 10
    INCREMENTAL = 11
    KEY_GROUPS = 12
    FILE_CHANGES = 13
    CHANGELOG = 14
