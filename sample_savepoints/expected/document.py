"""The text of ``expected.json``: facts about the snapshot, then its state by uid."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from transactions import currency_rates, transactions

from . import currency, sql, states, windows

if TYPE_CHECKING:
    from samples import Sample

_UIDS = {
    "currency": currency.UIDS,
    "states": states.UIDS,
    "windows": windows.UIDS,
    "sql": sql.UIDS,
}


def expected_json(sample: Sample) -> str:
    """A JSON document with one line per row of a table."""
    document = {
        "case": sample.case,
        "flink": sample.flink,
        "backend": sample.backend,
        "format": sample.variant.kind,
        "parallelism": sample.parallelism,
        "max_parallelism": sample.max_parallelism,
        "snapshot": sample.snapshot,
        "uids": _UIDS[sample.case],
        "operators": _operators(sample),
    }
    return _pretty(document) + "\n"


def _operators(sample: Sample) -> dict[str, Any]:
    rows = transactions()
    match sample.case:
        case "currency":
            return currency.operators(rows, currency_rates())
        case "states":
            return states.operators(rows, sample.parallelism)
        case "windows":
            return windows.operators(rows)
        case "sql":
            return sql.operators(rows, sample.parallelism)
        case other:
            raise ValueError(f"no case {other}")


def _pretty(value: object, indent: str = "") -> str:
    """Objects are spread over lines, and lists of objects; a row of a list stays on its line."""
    inner = indent + " "
    match value:
        case dict() if value:
            lines = [f"{_line(key)}: {_pretty(member, inner)}" for key, member in value.items()]
            return "{\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}}}"
        case [dict(), *_]:
            return "[\n" + ",\n".join(inner + _line(row) for row in value) + f"\n{indent}]"
        case _:
            return _line(value)


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
