"""The three queries of ``SqlJob.java``; SQL state has no names, so a row is f0, f1, ... in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transactions import watermark

from .values import decimal, instant
from .windows import tumbling_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transactions import Transaction

UIDS = [
    "10_sink",
    "11_calc",
    "13_deduplicate",
    "14_calc",
    "15_sink",
    "15_timestamp-inserter",
    "1_source",
    "2_calc",
    "4_group-aggregate",
    "5_sink",
    "6_calc",
    "8_window-aggregate",
    "9_calc",
    "rows",
    "transactions",
    "transactions_source",
    "watermarks",
]


def operators(transactions: Sequence[Transaction], parallelism: int) -> dict[str, Any]:
    """The operators that the planner makes of the queries, by its uids for them."""
    return {
        "4_group-aggregate": {"keyed_state": _group_aggregate(transactions)},
        "8_window-aggregate": _window_aggregate(transactions, parallelism),
        "13_deduplicate": {"keyed_state": _deduplicate(transactions)},
    }


def _group_aggregate(transactions: Sequence[Transaction]) -> list[dict[str, Any]]:
    """The accumulators of COUNT(*), SUM(amount), AVG(currency_id) (which has two), MIN(memo)."""
    groups: dict[str, list[Transaction]] = {}
    for row in transactions:
        groups.setdefault(row.holder, []).append(row)
    return [
        {
            "key": {"f0": holder},
            "accState": {
                "f0": len(rows),
                "f1": decimal(sum(row.cents for row in rows)),
                "f2": sum(row.currency_id for row in rows),
                "f3": len(rows),
                "f4": min((row.memo for row in rows if row.memo), default=None),
            },
        }
        for holder, rows in sorted(groups.items())
    ]


def _window_aggregate(transactions: Sequence[Transaction], parallelism: int) -> dict[str, Any]:
    """Its namespace is the end of the window; each subtask keeps the watermark as union state."""
    pending = tumbling_windows(transactions, lambda row: row.currency_id)
    newest = max(row.event_time for row in transactions)
    return {
        "operator_states": {
            "watermark": {"mode": "union", "elements": [watermark(newest)] * parallelism}
        },
        "window_state": [
            {
                "key": {"f0": currency_id},
                "window": window.to_json(),
                "namespace": window.end,
                "window-aggs": {"f0": len(rows), "f1": decimal(sum(row.cents for row in rows))},
            }
            for (currency_id, window), rows in pending.items()
        ],
        "timers": [
            {
                "key": {"f0": currency_id},
                "namespace": window.end,
                "timestamp": window.timer,
                "domain": "event_time",
            }
            for currency_id, window in pending
        ],
    }


def _deduplicate(transactions: Sequence[Transaction]) -> list[dict[str, Any]]:
    """The latest row of an account: id, account, memo, event time."""
    latest: dict[int, Transaction] = {}
    for row in transactions:
        current = latest.get(row.account_id)
        if current is None or row.event_time > current.event_time:
            latest[row.account_id] = row
    return [
        {
            "key": {"f0": account_id},
            "deduplicate-state": {
                "f0": row.id,
                "f1": row.account_id,
                "f2": row.memo or None,
                "f3": instant(row.event_time),
            },
        }
        for account_id, row in sorted(latest.items())
    ]
