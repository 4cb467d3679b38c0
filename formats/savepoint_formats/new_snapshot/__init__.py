"""Directories of snapshots that are being written, commits, copies, and single files."""
