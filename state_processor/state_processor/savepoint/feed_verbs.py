"""Changes of state from a savepoint to a later one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor.savepoint.audit_verbs import AuditVerbs

if TYPE_CHECKING:
    from savepoint_database.snapshot import Snapshot
    from savepoint_extensions.change_feed.change_feed import ChangeFeed
    from savepoint_extensions.change_feed.feed_tables import NewTypes
    from savepoint_formats.locations import PathText


class FeedVerbs(AuditVerbs):
    """What changed since a savepoint."""

    def changes(
        self,
        other: Snapshot | PathText,
        *,
        operator: str | None = None,
        state: str | None = None,
        with_times: bool = False,
        new_types: NewTypes = "refuse",
    ) -> ChangeFeed:
        """The changes of state from this savepoint to a later one; rows are read when they are asked for.

        Values are compared as by ``diff``: backends, formats, parallelism and the order of maps make no
        difference, and each change that ``diff`` sees is in the table. An operator or a state that only one
        of the two has is added, or removed, as a whole.

        Args:
            other: The later savepoint or checkpoint, or its path.
            operator: Only this operator: its uid or hash.
            state: Only states of this name; the timers of an operator are called ``timers``.
            with_times: Whether the times of last access of state with TTL are values, too. By default a
                value that was only read again has not changed.
            new_types: A state whose type differs is an error (``refuse``); with ``replace`` all its old
                values are removed and all its new ones added.

        Returns:
            ``batches()`` and ``to_arrow()`` have ``operator``, ``state``, ``subtask``, ``key``,
            ``namespace``, ``map_key``, ``before``, ``after`` and ``kind`` (``added``, ``removed``,
            ``changed``); keys and values are texts. With ``<operator>.<state>``, they are typed. ``counts()`` counts
            the changes of each state.

        Raises:
            OperatorNotFoundError: Neither savepoint has the operator.
            SavepointError: The other savepoint can't be opened.
            ValueError: ``new_types`` has another value.

        Example:
            >>> changes = savepoint.changes("s3://jobs/orders/savepoint-5e6f")
            >>> changes.to_arrow("summarize.total").to_pandas()
        """
        from savepoint_extensions.change_feed.change_feed import ChangeFeed  # noqa: PLC0415  # loads no extension before it is used
        from savepoint_extensions.change_feed.feed_tables import Wanted  # noqa: PLC0415

        wanted = Wanted(operator, state, with_times, new_types)
        return ChangeFeed(self.diff(other, with_times=with_times), wanted)
