"""All planted faults, by the command that must tell them."""

from __future__ import annotations

from faults.planted import of_diff, of_doctor, of_gc, of_stats, of_verify

TABLES = {
    "verify": of_verify.VERIFY,
    "diff": of_diff.DIFF,
    "doctor": of_doctor.DOCTOR,
    "gc": of_gc.GC,
    "stats": of_stats.STATS,
}
"""Command -> its rows."""

TOLD = {
    "verify": of_verify.told,
    "diff": of_diff.told,
    "doctor": of_doctor.told,
    "gc": of_gc.told,
    "stats": of_stats.told,
}
"""Command -> what it tells of a row."""
