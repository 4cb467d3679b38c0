"""Decoded timers of one state, and their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from savepoint_formats.errors import StateTypeError
from savepoint_formats.state_files.raw_timers import TIMER_STATE_PREFIX
from savepoint_formats.tables.tables import KEY, KEY_GROUP
from savepoint_formats.tables.visible import visible_key
from savepoint_formats.values.kryo.structs import UNDECODED_TYPE

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray


PROCESSING_TIME = "PROCESSING_TIME"
TIME_DOMAINS = {"event": "EVENT_TIME", "processing": PROCESSING_TIME}


@dataclass(frozen=True, slots=True, eq=False)
class TimerRows:
    """Timers of a state ``_timer_state/<domain>_<service>``, and the key group of each."""

    state: str
    timers: pa.Array
    key_groups: NDArray[np.int32]

    @classmethod
    def of_key_group(cls, state: str, timers: pa.Array, key_group: int) -> Self:
        """Timers of one key group."""
        return cls(state, timers, np.full(len(timers), key_group, np.int32))

    def columns(self, wanted: pa.DataType) -> dict[str, pa.Array]:
        """Columns of the timers, which elsewhere have the type ``wanted``.

        Raises ``StateTypeError`` if only one of both types has fields. Their order may differ.
        """
        if _has_fields(self.timers.type) != _has_fields(wanted):
            message = f"timers are {self.timers.type} here, {wanted} elsewhere"
            raise StateTypeError(message).within(f"state {self.state!r}")
        return {**self._fields(), KEY_GROUP: pa.array(self.key_groups)}

    def _fields(self) -> dict[str, pa.Array]:
        if not _has_fields(self.timers.type):
            return {"value": self.timers}
        domain, _, service = self.state.removeprefix(TIMER_STATE_PREFIX).partition("_")
        rows = len(self.timers)
        fields = {name: self.timers.field(name) for name in self.timers.type.names}
        if KEY in fields:
            fields[KEY] = visible_key(fields[KEY])
        fields["time_domain"] = pa.repeat(TIME_DOMAINS.get(domain, domain), rows)
        fields["service"] = pa.repeat(service, rows)
        return fields


def _has_fields(timer_type: pa.DataType) -> bool:
    return bool(pa.types.is_struct(timer_type)) and timer_type != UNDECODED_TYPE
