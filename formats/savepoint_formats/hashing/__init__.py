"""Java's hash codes of keys, value by value and column by column."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.hashing.hash_shapes import HashShape, shape_hashes, structure
    from savepoint_formats.hashing.inferred_hash_codes import SAMPLE_SIZE, inferred_hash_code
    from savepoint_formats.hashing.key_hash import HashKeys as HashKeys
    from savepoint_formats.hashing.key_hash import hashed_key_groups, java_hash, key_hashes
    from savepoint_formats.hashing.stable_keys import expect_stable
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "SAMPLE_SIZE",
    "HashShape",
    "expect_stable",
    "hashed_key_groups",
    "inferred_hash_code",
    "java_hash",
    "key_hashes",
    "shape_hashes",
    "structure",
]
