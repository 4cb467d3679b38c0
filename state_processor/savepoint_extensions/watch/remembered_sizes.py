"""Sizes of states in a file, so that each run from cron goes on where the last one ended.

It is JSON: ``{"version": 1, "series": [{"operator", "state", "count", "begin", "times", "sizes"}]}``.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from savepoint_database import files
from savepoint_extensions.watch.growth import MOST_POINTS, Series
from savepoint_formats.errors import DescriptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_formats.locations import PathText

    Sizes = dict[tuple[str, str], Series]

_VERSION = 1
_MOST_BYTES = 1 << 28


def write_sizes(file: PathText, sizes: Mapping[tuple[str, str], Series]) -> None:
    """Replaces a file in one step."""
    rows = [
        {
            "operator": operator,
            "state": state,
            "count": series.count,
            "begin": series.begin,
            "times": series.times,
            "sizes": series.sizes,
        }
        for (operator, state), series in sizes.items()
    ]
    data = json.dumps({"version": _VERSION, "series": rows}).encode()
    with files.whole_file(str(file), is_overwritten=True) as target:
        target.write(data)


def read_sizes(file: PathText) -> Sizes:
    """The sizes of a file; none if there is no file.

    Raises:
        DescriptionError: The file is something else.
    """
    try:
        with Path(file).open("rb") as source:
            data = source.read(_MOST_BYTES + 1)
        content = json.loads(data if len(data) <= _MOST_BYTES else b"")
        return dict(_series(row) for row in _rows(content))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError, RecursionError) as error:
        message = f"{file} does not have the sizes of a watch: remove it, and a new one is made"
        raise DescriptionError(message) from error


def _rows(content: Any) -> list[dict[str, Any]]:
    if content["version"] != _VERSION:
        raise ValueError(f"version {content['version']}")
    return list(content["series"])


def _series(row: dict[str, Any]) -> tuple[tuple[str, str], Series]:
    times, sizes = list(map(float, row["times"])), list(map(float, row["sizes"]))
    numbers = (*times, *sizes, float(row["begin"]))
    is_right = len(times) == len(sizes) <= min(MOST_POINTS, int(row["count"]))
    if not is_right or times != sorted(set(times)) or not all(map(math.isfinite, numbers)):
        raise ValueError("times and sizes that are no series")
    series = Series(times, sizes, int(row["count"]), float(row["begin"]))
    return (str(row["operator"]), str(row["state"])), series
