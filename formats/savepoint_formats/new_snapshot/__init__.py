"""Directories of snapshots that are being written, commits, copies, and single files."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_formats.new_snapshot.copying import CopyPlan, Progress, copied, no_progress
    from savepoint_formats.new_snapshot.directory import NewSnapshot, WriteMode
    from savepoint_formats.new_snapshot.new_file import NewFile, name_unused, sync, writing_errors
    from savepoint_formats.new_snapshot.whole_files import expect_free, whole_file
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "CopyPlan",
    "NewFile",
    "NewSnapshot",
    "Progress",
    "WriteMode",
    "copied",
    "expect_free",
    "name_unused",
    "no_progress",
    "sync",
    "whole_file",
    "writing_errors",
]
