"""The session of Spark: its Java, its start, and the errors of its tasks."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_spark.session.java_process import JAVA_DIED, end_java, java_has_died
    from savepoint_spark.session.session import (
        TaskCount,
        expect_release,
        expect_session,
        is_at_least,
        is_remote,
        local_session,
        remote_error,
        task_count,
        tasks_at_once,
    )
    from savepoint_spark.session.tasks import collected, done_by_tasks, rows_of_tasks, typed_errors
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "JAVA_DIED",
    "TaskCount",
    "collected",
    "done_by_tasks",
    "end_java",
    "expect_release",
    "expect_session",
    "is_at_least",
    "is_remote",
    "java_has_died",
    "local_session",
    "remote_error",
    "rows_of_tasks",
    "task_count",
    "tasks_at_once",
    "typed_errors",
]
