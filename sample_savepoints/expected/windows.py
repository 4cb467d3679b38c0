"""The windows of ``WindowsJob.java`` that have not ended when the snapshot is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from transactions import HOUR, MINUTE, watermark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from transactions import Transaction

UIDS = [
    "count_window",
    "count_window_sink",
    "entries",
    "session",
    "session_sink",
    "transactions",
    "transactions_source",
    "tumbling",
    "tumbling_aggregate",
    "tumbling_aggregate_sink",
    "tumbling_sink",
    "watermarks",
]

_SESSION_GAP = 30 * MINUTE
_COUNT_WINDOW_SIZE = 5


@dataclass(frozen=True, slots=True)
class Window:
    """What Flink calls a TimeWindow: ``start`` belongs to it, ``end`` does not."""

    start: int
    end: int

    @property
    def timer(self) -> int:
        return self.end - 1

    def to_json(self) -> list[int]:
        return [self.start, self.end]


@dataclass(frozen=True, slots=True)
class _Session:
    """A merged window; its rows stay under ``state_window``, the window of its first row."""

    window: Window
    state_window: Window
    rows: tuple[Transaction, ...]


def operators(transactions: Sequence[Transaction]) -> dict[str, Any]:
    """The four window operators by uid."""
    return {
        "tumbling": _tumbling(transactions, lambda row: row.account_id, _sum),
        "tumbling_aggregate": _tumbling(transactions, lambda row: row.holder, _average),
        "session": _sessions(transactions),
        "count_window": _count_windows(transactions),
    }


def tumbling_windows(
    transactions: Iterable[Transaction], key: Callable[[Transaction], Any]
) -> dict[tuple[Any, Window], list[Transaction]]:
    """The rows of the windows of an hour that the last watermark leaves open, in order."""
    pending: dict[tuple[Any, Window], list[Transaction]] = {}
    newest = 0
    for row in transactions:
        start = row.event_time - row.event_time % HOUR
        window = Window(start, start + HOUR)
        pending.setdefault((key(row), window), []).append(row)
        newest = max(newest, row.event_time)
        pending = {
            place: rows for place, rows in pending.items() if place[1].timer > watermark(newest)
        }
    return dict(sorted(pending.items(), key=lambda item: (item[0][0], item[0][1].start)))


def _tumbling(
    transactions: Sequence[Transaction],
    key: Callable[[Transaction], Any],
    contents: Callable[[Sequence[Transaction]], dict[str, Any]],
) -> dict[str, Any]:
    pending = tumbling_windows(transactions, key)
    return {
        "window_state": [
            {"key": key, "window": window.to_json(), "window-contents": contents(rows)}
            for (key, window), rows in pending.items()
        ],
        "timers": [_timer(key, window) for key, window in pending],
    }


def _sessions(transactions: Sequence[Transaction]) -> dict[str, Any]:
    pending = _pending_sessions(transactions)
    return {
        "keyed_state": [
            {
                "key": key,
                "merging-window-set": [
                    {"f0": session.window.to_json(), "f1": session.state_window.to_json()}
                    for session in sessions
                ],
            }
            for key, sessions in pending.items()
        ],
        "window_state": [
            {
                "key": key,
                "window": session.window.to_json(),
                "state_window": session.state_window.to_json(),
                "window-contents": [_entry(row) for row in session.rows],
            }
            for key, sessions in pending.items()
            for session in sessions
        ],
        "timers": [
            _timer(key, session.window) for key, sessions in pending.items() for session in sessions
        ],
    }


def _pending_sessions(transactions: Sequence[Transaction]) -> dict[str, list[_Session]]:
    """The open sessions by key, each key's by their start."""
    pending: dict[str, list[_Session]] = {}
    newest = 0
    for row in transactions:
        pending[row.holder] = _with_row(pending.get(row.holder, []), row)
        newest = max(newest, row.event_time)
        for key, sessions in pending.items():
            pending[key] = [
                session for session in sessions if session.window.timer > watermark(newest)
            ]
    return {
        key: sorted(sessions, key=lambda session: session.window.start)
        for key, sessions in sorted(pending.items())
        if sessions
    }


def _with_row(sessions: list[_Session], row: Transaction) -> list[_Session]:
    """``MergingWindowSet.addWindow``; a row that ends at the start of a session joins it too."""
    window = Window(row.event_time, row.event_time + _SESSION_GAP)
    touched = [
        session
        for session in sessions
        if session.window.start <= window.end and window.start <= session.window.end
    ]
    if not touched:
        return [*sessions, _Session(window, window, (row,))]
    if len(touched) > 1:
        # Whose state window remains is up to the order of a HashSet.
        raise ValueError(f"transaction {row.id} joins two sessions: choose another seed")
    (session,) = touched
    merged = Window(min(session.window.start, window.start), max(session.window.end, window.end))
    rest = [other for other in sessions if other is not session]
    return [*rest, replace(session, window=merged, rows=(*session.rows, row))]


def _count_windows(transactions: Sequence[Transaction]) -> dict[str, Any]:
    """Keyed by account and currency; a window that is full starts again with nothing."""
    pending: dict[tuple[int, int], list[Transaction]] = {}
    for row in transactions:
        rows = pending.setdefault((row.account_id, row.currency_id), [])
        rows.append(row)
        if len(rows) == _COUNT_WINDOW_SIZE:
            rows.clear()
    return {
        "window_state": [
            {
                "key": {"f0": key[0], "f1": key[1]},
                "window": "global",
                "window-contents": _sum(rows),
                "count": len(rows),
            }
            for key, rows in sorted(pending.items())
            if rows
        ]
    }


def _timer(key: int | str, window: Window) -> dict[str, Any]:
    return {
        "key": key,
        "namespace": window.to_json(),
        "timestamp": window.timer,
        "domain": "event_time",
    }


def _entry(row: Transaction) -> dict[str, Any]:
    return {"f0": row.holder, "f1": row.account_id, "f2": row.currency_id, "f3": row.cents}


def _sum(rows: Sequence[Transaction]) -> dict[str, Any]:
    return _entry(rows[0]) | {"f3": sum(row.cents for row in rows)}


def _average(rows: Sequence[Transaction]) -> dict[str, Any]:
    return {"f0": sum(row.cents for row in rows), "f1": len(rows)}
