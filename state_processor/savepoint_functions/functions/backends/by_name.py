"""The state backends that there are, by the names that options give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_functions.functions.backends.cached import CachedBackend
from savepoint_functions.functions.backends.heap import HeapBackend
from savepoint_functions.functions.backends.rocksdb import RocksDbBackend
from savepoint_functions.functions.backends.single_key import SingleKeyBackend

if TYPE_CHECKING:
    from savepoint_formats.layout import Layout
    from savepoint_functions.functions.backends.backend import Clock, KeyedStateBackend

STATE_BACKENDS: dict[str, type[KeyedStateBackend]] = {
    backend.name: backend for backend in (SingleKeyBackend, HeapBackend, RocksDbBackend)
}


def state_backend(
    name: str, key: Layout, clock: Clock | None = None, *, cache_size: int = 0
) -> KeyedStateBackend:
    r"""A new backend without state.

    Args:
        name: ``single_key``, ``heap`` or ``rocksdb``.
        key: The layout of the keys.
        clock: Gives the processing time, in ms; that of the machine by default.
        cache_size: The number of keys whose state is kept in front of it; 0 for no cache, which
            ``single_key`` never has, being one itself.

    Raises:
        ValueError: There is no such backend.

    Example:
        >>> with state_backend("heap", Types.STRING().layout) as backend:
        ...     total = backend.state(ValueStateDescriptor("total", Types.LONG()))
        ...     backend.set_current_key("a", b"\x02a")
        ...     total.update(1)
    """
    if name not in STATE_BACKENDS:
        raise ValueError(f"state backend {name!r}, expected one of {', '.join(STATE_BACKENDS)}")
    backend = STATE_BACKENDS[name](key, clock)
    is_cached = cache_size > 0 and backend.keeps_all_keys
    return CachedBackend(backend, cache_size) if is_cached else backend
