"""Questions about a running job's state: its size, the state of a key, retained snapshots."""

from typing import TYPE_CHECKING

from savepoint_database.types.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_database.audit.key_state import KeyState
    from savepoint_database.audit.weighing import statistics_of

__all__ = ["KeyState", "statistics_of"]

__getattr__ = lazy_names(__name__)[0]
