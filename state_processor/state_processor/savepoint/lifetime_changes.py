"""Changes of how long state lives: times to live of existing states, and values past them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from state_processor.savepoint.constant_changes import ConstantChanges

if TYPE_CHECKING:
    from state_processor.savepoint.writer import SavepointWriter


class LifetimeChanges(ConstantChanges):
    """Changes of the life of state; see ``StateChanges``."""

    __slots__ = ()

    def set_ttl(
        self, uid: str, state: str, *, on: bool, at: datetime | None = None
    ) -> SavepointWriter:
        """Gives an existing keyed state a time to live, or takes it away.

        How long values live is in the job alone; the savepoint has the time at which each value, element
        or entry was last accessed. Flink 1.x refuses a state that has no such times where the job has a
        time to live, and the other way round.

        Args:
            uid: The operator's uid, or the hash of one.
            state: The state: value, list, map, reducing or aggregating.
            on: Whether the new job gives the state a time to live.
            at: With ``on``, the time of last access that all values get, with a zone; by default the
                time of this call.

        Raises:
            OperatorNotFoundError, StateNotFoundError: As ``rename_state``.
            SchemaChangeError: The state is no keyed state with values, or already as asked. ``write``
                raises it for entries that are null: Flink sees none where a null has no time.
            ValueError: ``at`` has no zone, or the time to live is taken away.

        Example:
            >>> savepoint.set_ttl("sessions", "last_seen", on=True).write("s3://jobs/with-ttl")
        """
        from savepoint_extensions.lifecycle.times_to_live import with_time_to_live  # noqa: PLC0415  # Spark is slow
        from savepoint_spark.changing import StageRule  # noqa: PLC0415  # Spark is slow

        if at is not None and not on:
            raise ValueError("at is the time of access that values get, so it needs on=True")
        now_ms = _milliseconds(at) if on else None
        writer = self.writer().ready_for(StageRule.SEALED, uid)
        return writer.changed(uid, lambda operator: with_time_to_live(operator, state, now_ms))

    def expire(
        self,
        uid: str,
        state: str | None = None,
        *,
        older_than: timedelta,
        at: datetime | None = None,
    ) -> SavepointWriter:
        """Leaves out values, list elements and map entries that are past a time to live.

        The result is that of a job whose time to live has worked: keys that have nothing left are gone,
        and timers stay, because Flink's time to live removes none.

        Args:
            uid: The operator's uid, or the hash of one.
            state: A state with a time to live; by default all of the operator.
            older_than: The time to live. A value goes if its last access is this long ago, or longer.
            at: The time, with a zone, that counts as now; by default the time of this call.

        Raises:
            OperatorNotFoundError, StateNotFoundError: As ``rename_state``.
            SchemaChangeError: The state has no time to live; without a name, no state has.
            ValueError: ``at`` has no zone, or ``older_than`` is negative.

        Example:
            >>> savepoint.expire("sessions", older_than=timedelta(days=7)).write("s3://jobs/small")
        """
        from savepoint_extensions.lifecycle.times_to_live import without_expired  # noqa: PLC0415  # Spark is slow
        from savepoint_spark.changing import StageRule  # noqa: PLC0415  # Spark is slow

        if older_than < timedelta():
            raise ValueError(f"older_than is {older_than}, expected a time to live")
        limit_ms = _milliseconds(at) - older_than // timedelta(milliseconds=1)
        writer = self.writer().ready_for(StageRule.SEALED, uid)
        return writer.changed(uid, lambda operator: without_expired(operator, state, limit_ms))

    def dedupe_list(self, uid: str, state: str) -> SavepointWriter:
        """Leaves each element of a list or union list of an operator once, by its bytes.

        Union lists double if a function adds to them with every snapshot, and never clears them
        after a restore. ``stats`` says how many elements differ.

        Args:
            uid: The operator's uid, or the hash of one.
            state: A list or union list of the operator, not of its keys.

        Raises:
            OperatorNotFoundError, StateNotFoundError: As ``rename_state``.
            SchemaChangeError: The state is no list of the operator.

        Example:
            >>> savepoint.dedupe_list("sink", "commits").write("s3://jobs/mended")
        """
        from savepoint_extensions.lifecycle.distinct_elements import RULE, without_repeated  # noqa: PLC0415  # Spark is slow

        writer = self.writer().ready_for(RULE, uid)
        return writer.changed(uid, lambda operator: without_repeated(operator, state))


def _milliseconds(at: datetime | None) -> int:
    moment = datetime.now(UTC) if at is None else at
    if moment.tzinfo is None:
        raise ValueError(f"at is {moment}, which has no zone: use datetime(…, tzinfo=UTC)")
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
