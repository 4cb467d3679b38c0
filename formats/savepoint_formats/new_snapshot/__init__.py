"""Directories of snapshots that are being written, commits, copies, and single files."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.new_snapshot.copying import CopyPlan, Progress, copied, no_progress
    from savepoint_formats.new_snapshot.directory import NewSnapshot, WriteMode
    from savepoint_formats.new_snapshot.new_file import (
        LARGEST_COPY_SIZE,
        NewFile,
        name_unused,
        renames_files,
        sync,
        sync_directories,
        writing_errors,
    )
    from savepoint_formats.new_snapshot.signs_of_life import (
        claims,
        sign_of,
        sign_of_life,
        unused_id,
        unused_name,
        write_of,
    )
    from savepoint_formats.new_snapshot.whole_files import expect_free, whole_file
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "LARGEST_COPY_SIZE",
    "CopyPlan",
    "NewFile",
    "NewSnapshot",
    "Progress",
    "WriteMode",
    "claims",
    "copied",
    "expect_free",
    "name_unused",
    "no_progress",
    "renames_files",
    "sign_of",
    "sign_of_life",
    "sync",
    "sync_directories",
    "unused_id",
    "unused_name",
    "whole_file",
    "write_of",
    "writing_errors",
]
