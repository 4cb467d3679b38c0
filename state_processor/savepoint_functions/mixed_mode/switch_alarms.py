"""Keys of the switch that are woken up because the watermark reaches their first timer.

Spark has no timer of a key that is not in its state store. So the driver looks, at the end of each
micro-batch, how far its rows bring the watermark, and puts the keys that this makes due where the next
batch finds them, which is the first that has this watermark. A key that is woken up too early, or
twice, comes into the store and fires nothing: Spark has its timer from then on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from savepoint_formats.locations.location import Location
from savepoint_formats.new_snapshot.whole_file import whole_file
from savepoint_functions.functions.sorted_inputs import KEY

if TYPE_CHECKING:
    from savepoint_functions.mixed_mode.switch_state import SwitchState
    from savepoint_functions.mixed_mode.watermarks import InputWatermarks

_SCHEMA = pa.schema([(KEY, pa.large_binary())])


class SwitchAlarms:
    """Wakes up the keys of a switch.

    Args:
        switch: Their state.
        wake_ups: The directory in which the next batch finds them.
        watermarks: How far the rows of batches have brought each input.
        since: Up to which watermark keys were woken up already.
    """

    def __init__(
        self, switch: SwitchState, wake_ups: str, watermarks: InputWatermarks, since: int
    ) -> None:
        self._switch = switch
        self._wake_ups = wake_ups
        self._watermarks = watermarks
        self._since = since
        self._next = switch.next_alarm(since)

    def ring(self) -> None:
        """Wakes up the keys that the rows of the batch make due, which is not committed yet.

        Raises:
            SavepointError: The file system does not take them.
        """
        until = self._watermarks.greatest
        if self._next is None or until < self._next:
            return
        folder = f"{self._wake_ups}/{uuid4().hex}"
        location = Location.of(folder)
        location.filesystem.create_dir(location.path)
        with (
            whole_file(f"{folder}/keys.parquet", is_overwritten=False) as file,
            pq.ParquetWriter(file, _SCHEMA) as writer,
        ):
            for keys in self._switch.keys_due(self._since, until):
                writer.write_batch(pa.RecordBatch.from_arrays([keys], schema=_SCHEMA))
        self._since, self._next = until, self._switch.next_alarm(until)
