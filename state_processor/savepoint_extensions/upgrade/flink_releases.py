"""The releases of Flink for which savepoints are migrated."""

from __future__ import annotations

from typing import Literal, get_args

FlinkRelease = Literal["2.0", "2.1", "2.2", "2.3"]
"""The releases for which ``migrate`` writes."""

RELEASES: tuple[str, ...] = get_args(FlinkRelease)
