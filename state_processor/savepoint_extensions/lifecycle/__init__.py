"""The snapshots that a job keeps: what a key had in each of them, and files that none of them needs."""
