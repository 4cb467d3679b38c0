"""Key groups and subtasks, and ids of operators."""

from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.key_groups.ranges import (
    CHUNK_SIZE,
    EMPTY,
    MAX_PARALLELISM,
    WHOLE,
    GroupSplit,
    KeyGroupRange,
    expect_parallelism,
    finish_words,
    key_group,
    key_groups_of,
    mix_words,
    prefix_size,
    subtasks_of,
)
