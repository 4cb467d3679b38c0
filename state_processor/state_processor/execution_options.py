"""How functions over keyed rows are run, under the names that Flink's configuration has for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from state_processor.state_backends import STATE_BACKENDS

if TYPE_CHECKING:
    from collections.abc import Mapping

SORTED_INPUTS = "execution.sorted-inputs.enabled"
STATE_BACKEND = "state.backend.type"
# As the proposal called it that sorted inputs come from.
_SORTED_SHUFFLES = "execution.sorted-shuffles.enabled"
_KNOWN = (SORTED_INPUTS, _SORTED_SHUFFLES, STATE_BACKEND)

_BOOLEANS = {True: True, False: False, "true": True, "false": False}

SINGLE_KEY, HEAP = "single_key", "heap"


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """How a function is run.

    Attributes:
        is_sorted: Whether rows come sorted by key, so that a key is done once it is left.
        state_backend: What holds the state of keys meanwhile.
    """

    is_sorted: bool = True
    state_backend: str = SINGLE_KEY

    @classmethod
    def of(cls, settings: Mapping[str, bool | str]) -> Self:
        """The options that these settings make.

        Raises:
            ValueError: There is no such setting, it has no such value, or two contradict.
        """
        unknown = [name for name in settings if name not in _KNOWN]
        if unknown:
            raise ValueError(f"option {unknown[0]!r}, expected one of {', '.join(_KNOWN)}")
        is_sorted = True
        for name in (_SORTED_SHUFFLES, SORTED_INPUTS):
            if name in settings:
                is_sorted = _boolean(name, settings[name])
        backend = settings.get(STATE_BACKEND, SINGLE_KEY if is_sorted else HEAP)
        if backend not in STATE_BACKENDS:
            known = ", ".join(STATE_BACKENDS)
            raise ValueError(f"{STATE_BACKEND}={backend!r}, expected one of {known}")
        if backend == SINGLE_KEY and not is_sorted:
            raise ValueError(
                f"{STATE_BACKEND}={SINGLE_KEY} keeps the state of one key, but the rows of a key"
                f" lie anywhere with {SORTED_INPUTS}=false: take heap or rocksdb, or sort"
            )
        return cls(is_sorted, str(backend))


def _boolean(name: str, value: bool | str) -> bool:
    try:
        return _BOOLEANS[value]
    except KeyError:
        raise ValueError(f"{name}={value!r}, expected true or false") from None
