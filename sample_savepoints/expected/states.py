"""Keyed state, timers and operator state of ``StatesJob.java``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from transactions import HOUR, watermark

from .values import decimal, instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transactions import Transaction

UIDS = [
    "buffer",
    "buffer_sink",
    "stateful",
    "stateful_sink",
    "transactions",
    "transactions_source",
    "watermarks",
]

_REMIND_AFTER = 6 * HOUR
_FAR_FUTURE = 4_102_444_800_000
_BATCH = 37
_STATES = (
    "last_id",
    "memos",
    "by_currency",
    "changes",
    "memo_by_currency",
    "cents_sum",
    "average",
    "customer",
    "balance",
    "last_seen",
    "last_day",
    "last_kind",
    "reminders",
    "recent_memo",
    "recent_memos",
    "recent_by_currency",
)


def operators(transactions: Sequence[Transaction], parallelism: int) -> dict[str, Any]:
    """``stateful`` and ``buffer``."""
    function = _StatefulFunction()
    newest = transactions[0].event_time
    for row in transactions:
        function.process(row)
        newest = max(newest, row.event_time)
        function.advance(watermark(newest))
    return {
        "stateful": {"keyed_state": function.rows(), "timers": function.timers()},
        "buffer": {"operator_states": _buffer(transactions, parallelism)},
    }


@dataclass(slots=True)
class _StatefulFunction:
    """``StatefulFunction.java``: the states of all keys, where an absent name is an empty state."""

    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    event_timers: set[tuple[str, int]] = field(default_factory=set)
    processing_timers: set[tuple[str, int]] = field(default_factory=set)

    def process(self, row: Transaction) -> None:
        """What ``processElement`` does."""
        if row.kind == "CLOSE":
            self.keys.pop(row.holder, None)
            return
        states = self.keys.setdefault(row.holder, {})
        states["last_id"] = row.id
        states["last_kind"] = row.kind
        match row.kind:
            case "PURCHASE":
                _purchase(states, row)
                _remember(states, row)
                self._register_timers(row)
            case "REFUND":
                _add_to_balance(states, -row.cents)
            case "TRANSFER":
                states.setdefault("changes", {})[row.currency] = None

    def advance(self, watermark: int) -> None:
        """Fires the timers that are due."""
        due = {timer for timer in self.event_timers if timer[1] <= watermark}
        self.event_timers -= due
        for key, _ in due:
            states = self.keys.setdefault(key, {})
            states["reminders"] = states.get("reminders", 0) + 1

    def rows(self) -> list[dict[str, Any]]:
        """A row per key that has anything in its states."""
        return [
            {"key": key} | {name: states.get(name) for name in _STATES}
            for key, states in sorted(self.keys.items())
        ]

    def timers(self) -> list[dict[str, Any]]:
        """The timers of both domains; those of a key that was closed are still there."""
        domains = (("event_time", self.event_timers), ("processing_time", self.processing_timers))
        return [
            {"key": key, "namespace": None, "timestamp": timestamp, "domain": domain}
            for domain, timers in domains
            for key, timestamp in sorted(timers)
        ]

    def _register_timers(self, row: Transaction) -> None:
        hour = row.event_time - row.event_time % HOUR
        self.event_timers.add((row.holder, hour + _REMIND_AFTER))
        self.processing_timers.add((row.holder, _FAR_FUTURE + row.id % 3))


def _purchase(states: dict[str, Any], row: Transaction) -> None:
    if row.memo:
        states.setdefault("memos", []).append(row.memo)
    by_currency = states.setdefault("by_currency", {})
    by_currency[row.currency] = by_currency.get(row.currency, 0) + row.cents
    states.setdefault("changes", {})[row.currency] = row.cents
    states.setdefault("memo_by_currency", {})[row.currency] = row.memo or None
    states["cents_sum"] = states.get("cents_sum", 0) + row.cents
    average = states.get("average", {"f0": 0, "f1": 0})
    states["average"] = {"f0": average["f0"] + row.cents, "f1": average["f1"] + 1}
    states["customer"] = _customer(states.get("customer"), row)
    _add_to_balance(states, row.cents)
    states["last_seen"] = instant(row.event_time, row.id % 1000)
    states["last_day"] = states["last_seen"][:10]


def _remember(states: dict[str, Any], row: Transaction) -> None:
    states.setdefault("recent_by_currency", {})[row.currency] = row.cents
    if row.memo:
        states["recent_memo"] = row.memo
        states.setdefault("recent_memos", []).append(row.memo)


def _customer(current: dict[str, Any] | None, row: Transaction) -> dict[str, Any]:
    age = int(row.age) if row.age else None
    address = {"city": row.city, "zip": int(row.zip) if row.zip else None}
    return {
        "name": row.holder,
        "age": age,
        "address": address if row.city else None,
        "tags": row.tags.split("|") if row.tags else [],
        "purchases": 1 if current is None else current["purchases"] + 1,
        "adult": age is not None and age >= 18,
        "lastAmount": row.amount,
    }


def _add_to_balance(states: dict[str, Any], cents: int) -> None:
    states["balance_cents"] = states.get("balance_cents", 0) + cents
    states["balance"] = decimal(states["balance_cents"])


def _buffer(transactions: Sequence[Transaction], parallelism: int) -> dict[str, Any]:
    """``BufferFunction.java``, subtask after subtask; each has the rows of its residue class."""
    elements: list[str] = []
    offsets: list[dict[str, Any]] = []
    for subtask in range(parallelism):
        rows = [row for row in transactions if row.id % parallelism == subtask]
        waiting = rows[len(rows) - len(rows) % _BATCH :]
        elements += [f"{row.id}:{row.holder}" for row in waiting]
        offsets.append({"f0": f"shard-{subtask}", "f1": rows[-1].id})
    return {
        "elements": {"mode": "list", "elements": elements},
        "offsets": {"mode": "union", "elements": offsets},
    }
