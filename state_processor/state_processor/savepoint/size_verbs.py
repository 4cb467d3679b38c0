"""The sizes of a savepoint's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_database.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from savepoint_extensions.sizes.metadata_sizes import MetadataPart
    from savepoint_extensions.sizes.statistics import SavepointStatistics


class SizeVerbs(Snapshot):
    """Measures a savepoint."""

    def stats(
        self,
        table: str | None = None,
        *,
        at: datetime | None = None,
        ttl: Mapping[str, timedelta] | None = None,
        ttl_of: timedelta | None = None,
        top: int = 10,
    ) -> SavepointStatistics:
        """Measures the state: keys, entries, bytes, timers, skew and the largest keys.

        Key groups are read a few at a time. Values are decoded only where needed: variable lists,
        and values of rare types.

        Args:
            table: ``<operator>.<table>`` or ``<operator>.<state>``; all by default.
            at: Time with zone at which timers are overdue and values have expired; now by default.
            ttl: Name of a state -> how long its values live after their last access. Savepoints
                    don't store it.
            ttl_of: A time to live: ``ttl`` of the report says what it would save, state by state.
            top: Number of largest keys per operator.

        Returns:
            Records of states, timers, skew, subtasks, key groups and keys, which ``to_arrow`` turns
            into tables. ``problems`` lists state that could not be read.

        Raises:
            OperatorNotFoundError: There is no such operator; the message lists all operators.
            StateNotFoundError: The operator has no such table; the message lists its tables.
            ValueError: ``at`` has no zone, or ``top`` is negative.

        Example:
            >>> report = Savepoint.open("s3://jobs/orders/savepoint-1a2b").stats()
            >>> report.to_arrow("states").to_pandas()
        """
        from savepoint_extensions.sizes.weighing import statistics_of  # noqa: PLC0415  # loads no extension before it is used

        return statistics_of(self, table, at=at, ttl=ttl, ttl_of=ttl_of, top=top)

    def metadata_parts(self) -> tuple[MetadataPart, ...]:
        """What fills ``_metadata``, the largest part first; the sizes add up to the file's.

        Example:
            >>> savepoint.metadata_parts()[0].part
        """
        from savepoint_extensions.sizes.metadata_sizes import metadata_parts  # noqa: PLC0415  # loads no extension before it is used

        return metadata_parts(self)
