"""State of keys while a function runs: of one key in memory, or of all in RocksDB.

``backend`` is the interface of both. Timers are state, too. Operator state has no keys and is a
store of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.extras import imported
from savepoint_functions.functions.backends.backend import KeyedStateBackend, processing_time
from savepoint_functions.functions.backends.in_memory import SingleKeyBackend
from savepoint_functions.functions.backends.operator_state_store import OperatorStateStore
from savepoint_functions.functions.backends.timers import InternalTimerService, TimerService

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import Clock

__all__ = [
    "STATE_BACKENDS",
    "InternalTimerService",
    "KeyedStateBackend",
    "OperatorStateStore",
    "TimerService",
    "processing_time",
    "state_backend",
]

STATE_BACKENDS = {
    SingleKeyBackend.name: "in_memory.SingleKeyBackend",
    "rocksdb": "rocksdb.RocksDbBackend",
}
"""Name -> module and class. RocksDB's is imported on first use, because it needs an extra."""


def state_backend(name: str, key: Layout, clock: Clock | None = None) -> KeyedStateBackend:
    r"""A new backend without state.

    Raises ``ValueError`` for an unknown name, and ``MissingPackageError`` without RocksDB's binding.

    Example:
        >>> with state_backend("rocksdb", Types.STRING().layout) as backend:
        ...     total = backend.state(ValueStateDescriptor("total", Types.LONG()))
        ...     backend.set_current_key("a", b"\x02a")
        ...     total.update(1)
    """
    if name not in STATE_BACKENDS:
        raise ValueError(f"state backend {name!r}, expected one of {', '.join(STATE_BACKENDS)}")
    module, _, backend = STATE_BACKENDS[name].partition(".")
    made: KeyedStateBackend = getattr(imported(f"{__name__}.{module}"), backend)(key, clock)
    return made
