"""Backups of snapshots that share their files, their pruning, and checks of copies."""
