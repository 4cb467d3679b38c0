"""Whether another release of Flink, or another job, restores a savepoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_database.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from savepoint_extensions.upgrade.compatibility.expected_job import JobSchema
    from savepoint_extensions.upgrade.compatibility_answer import Compatibility
    from savepoint_extensions.upgrade.expected_state import ExpectedJob


class UpgradeVerbs(Snapshot):
    """Judges a savepoint for a release or a job, and tells what its own job declares."""

    def compatibility(
        self,
        target: str = "",
        *,
        written_by: str = "",
        backend: str = "",
        job: ExpectedJob | None = None,
        all_values: bool = False,
        connectors: Mapping[str, str] | None = None,
    ) -> Compatibility:
        """Tells per operator and state whether a release of Flink, or a new job, restores the savepoint.

        The answer follows from rules, each of which names its source. ``_metadata`` and the headers of
        files are read, and up to 256 MiB of values are searched: those of Kryo for objects that it can't
        read back and, from Flink 1 to 2, POJOs for subclasses that no header describes. The code of the
        job is unknown. With ``job``, operators, states and types of the new job are compared as well.

        Args:
            target: The release that restores the savepoint: ``1.18`` to ``2.3``; with ``job`` by default
                the newest that may have written both.
            written_by: The release that wrote the savepoint, where several releases are possible;
                by default all of them.
            backend: The state backend of the restoring job: ``hashmap``, ``rocksdb`` or ``forst``.
                Without it, files of one backend are a condition and no obstacle. The default is the
                backend of ``job``, if its files tell it.
            job: The new job: a savepoint or checkpoint of it, which may be empty, or its path; or its
                schema, as ``job_schema`` gives it, or the path of a file with the schema as JSON.
            all_values: Search all values, not only the first 256 MiB.
            connectors: Connector -> its release in the new job, such as ``{"kafka": "5.0.0"}``. The
                versions of its state are compared with those that the release reads.

        Returns:
            A verdict for the whole, for each operator and for each state, the worst first:
            ``silent corruption``, ``not restorable``, ``restorable after migration``, ``unknown``
            or ``restorable``; and the findings, with reason, advice and source.

        Raises:
            ValueError: There is no such release, backend or connector, or the savepoint is of another release; or
                neither ``target`` nor ``job`` is given.
            DescriptionError: The file of ``job`` is not a schema, or states are missing in it.
            SavepointError: The savepoint of ``job`` can't be opened or read.

        Example:
            >>> found = Savepoint.open("s3://jobs/orders/savepoint-1a2b").compatibility("2.2")
            >>> [(state.state, state.verdict) for state in found.states()]
        """
        from savepoint_extensions.upgrade.compatibility_answer import Compatibility  # noqa: PLC0415  # loads no extension before it is used

        compatibility = Compatibility.of(
            self, target, written_by=written_by, backend=backend, job=job, all_values=all_values
        )
        if not connectors:
            return compatibility
        from savepoint_extensions.connectors.connector_versions import judged_states  # noqa: PLC0415  # as above
        from savepoint_extensions.upgrade.compatibility.rules import connector_finding  # noqa: PLC0415  # as above

        # The worst answer about a state comes last, and counts.
        findings = {
            (judged.operator, judged.state): connector_finding(
                judged.verdict, judged.where, judged.reason, judged.advice
            )
            for judged in judged_states(self, connectors)
        }
        return compatibility.with_connectors(findings)

    def job_schema(self) -> JobSchema:
        """The state that the job of the savepoint declares: operators, states, kinds, serializers.

        It has no values. ``as_json`` makes JSON of it, which you can keep in the job's repository:
        ``savepoint schema PATH --output json`` prints it. ``problems`` say which files can't be read.

        Example:
            >>> json.dumps(Savepoint.open("savepoint-of-a-test").job_schema().as_json())
        """
        from savepoint_extensions.upgrade.expected_state import job_schema  # noqa: PLC0415  # loads no extension before it is used

        return job_schema(self)
