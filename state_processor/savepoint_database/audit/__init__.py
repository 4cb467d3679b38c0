"""Questions about a running job's state: the state of a key, its size."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_database.audit.key_state import KeyState

__all__ = ["KeyState"]

__getattr__ = lazy_names(__name__)[0]
