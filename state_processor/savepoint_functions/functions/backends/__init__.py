"""State of keys while a function runs, behind one interface: one key, a hash table, RocksDB.

``backend`` says what each does; ``single_key``, ``heap`` and ``rocksdb`` do it. Timers are state,
too. Operator state has no keys and is a store of its own.
"""

from savepoint_functions.functions.backends.backend import KeyedStateBackend, processing_time
from savepoint_functions.functions.backends.by_name import STATE_BACKENDS, state_backend
from savepoint_functions.functions.backends.internal_timers import InternalTimerService
from savepoint_functions.functions.backends.operator_state_store import OperatorStateStore
from savepoint_functions.functions.backends.timers import TimerService

__all__ = [
    "STATE_BACKENDS",
    "InternalTimerService",
    "KeyedStateBackend",
    "OperatorStateStore",
    "TimerService",
    "processing_time",
    "state_backend",
]
