"""Finds the files of a snapshot, and decides which paths may be followed."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.locations.file_io import METADATA_FILE, SnapshotDirectory
    from savepoint_formats.locations.location import (
        LIVE_SCHEMES,
        Location,
        PathText,
        absolute,
        is_live,
        is_local,
        path_text,
        uri_below,
    )
    from savepoint_formats.locations.path_rules import PathRules, is_below, real_path
    from savepoint_formats.locations.state_file import StateFile
    from savepoint_formats.locations.stores import (
        path_in_store,
        path_of,
        reading_errors,
        scheme_of,
        started,
        store_of,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "LIVE_SCHEMES",
    "METADATA_FILE",
    "Location",
    "PathRules",
    "PathText",
    "SnapshotDirectory",
    "StateFile",
    "absolute",
    "is_below",
    "is_live",
    "is_local",
    "path_in_store",
    "path_of",
    "path_text",
    "reading_errors",
    "real_path",
    "scheme_of",
    "started",
    "store_of",
    "uri_below",
]
