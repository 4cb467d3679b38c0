"""The job of FLIP-43: ``CurrencyJob.java``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transactions import CurrencyRate, Transaction

UIDS = [
    "currency_converter",
    "gate",
    "rates",
    "rates_source",
    "sink",
    "summarize",
    "transactions",
    "transactions_source",
    "watermarks",
]


def operators(
    transactions: Sequence[Transaction], currency_rates: Sequence[CurrencyRate]
) -> dict[str, Any]:
    """Both operators; the rates are the same in every subtask and listed once."""
    rates = {rate.currency_id: rate.rate for rate in currency_rates}
    elements = [{"key": key, "value": value} for key, value in sorted(rates.items())]
    return {
        "currency_converter": {
            "operator_states": {"rates": {"mode": "broadcast", "elements": elements}}
        },
        "summarize": {"keyed_state": _summaries(transactions, rates)},
    }


def _summaries(
    transactions: Sequence[Transaction], rates: dict[int, float]
) -> list[dict[str, Any]]:
    totals: dict[int, float] = {}
    counts: dict[int, int] = {}
    for row in transactions:
        amount = row.amount * rates.get(row.currency_id, 1.0)
        totals[row.account_id] = totals.get(row.account_id, 0.0) + amount
        counts[row.account_id] = counts.get(row.account_id, 0) + 1
    return [{"key": key, "total": totals[key], "count": counts[key]} for key in sorted(totals)]
