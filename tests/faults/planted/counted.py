"""Numbers that ``stats`` must tell, counted by their definitions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

from support.hand_made import encoded

from savepoint_formats.layout import Text

if TYPE_CHECKING:
    from collections.abc import Sequence


def shown_number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Made:
    """An entry: its key, what lies behind it in the stored key, and the stored value."""

    key: str
    value: bytes
    behind: bytes = b"\0"

    @property
    def size(self) -> int:
        return len(encoded(Text(), self.key)) + len(self.behind) + len(self.value)


def expected(entries: Sequence[Made], **more: Any) -> tuple[str, ...]:
    """Patterns of the numbers of the only state."""
    rows: dict[str, int] = {}
    for entry in entries:
        rows[entry.key] = rows.get(entry.key, 0) + entry.size
    numbers: dict[str, Any] = {
        "keys": len(rows),
        "rows": len(rows),
        "entries": len(entries),
        "size": sum(rows.values()),
        **spread("sizes", list(rows.values())),
        **more,
    }
    return patterns("state state", numbers)


def spread(name: str, sizes: Sequence[int]) -> dict[str, Any]:
    if not sizes:
        return {}
    ordered = sorted(sizes)

    def quantile(percent: int) -> int:
        return ordered[ceil(len(ordered) * percent / 100) - 1]

    return {
        f"{name}.total": sum(ordered),
        f"{name}.min": ordered[0],
        f"{name}.mean": sum(ordered) / len(ordered),
        f"{name}.p50": quantile(50),
        f"{name}.p99": quantile(99),
        f"{name}.max": ordered[-1],
    }


def patterns(front: str, numbers: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"^{re.escape(f'{front} {name}={shown_number(value)}')}$" for name, value in numbers.items()
    )


def skew(over: str, numbers: Sequence[int], what: str) -> dict[str, Any]:
    """The largest of them over their mean, and Gini's coefficient by its definition."""
    mean = sum(numbers) / len(numbers)
    apart = sum(abs(one - other) for one in numbers for other in numbers)
    gini = apart / (2 * len(numbers) ** 2 * mean)
    return {f"{what}_max_over_mean": max(numbers) / mean, f"{what}_gini": gini}
