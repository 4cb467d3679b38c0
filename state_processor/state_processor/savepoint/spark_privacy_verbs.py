"""Values of people in a savepoint, found and named by tasks of Spark."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from savepoint_database.checks.contents import PART_SIZE
from savepoint_spark.session import done_by_tasks
from state_processor.savepoint.privacy_verbs import PrivacyVerbs
from state_processor.savepoint.spark_verbs import in_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from savepoint_extensions.privacy.found_values import FoundValues
    from savepoint_extensions.privacy.search_parts import Findings, Part
    from savepoint_extensions.privacy.suggestions import MaskSuggestions


class SparkPrivacyVerbs(PrivacyVerbs):
    """The verbs of ``PrivacyVerbs``, which a session divides among tasks."""

    spark: SparkSession

    def find(self, values: Sequence[str], *, contains: bool = False) -> FoundValues:
        """Like ``Savepoint.find``; a task searches some key groups, or some files.

        Example:
            >>> savepoint.find(["ada@example.com"]).keys()
            {'summarize': ['42']}
        """
        from savepoint_extensions.privacy.found_values import find_in  # noqa: PLC0415  # loads no extension before it is used

        return find_in(self, values, contains=contains, run=partial(searched_by_tasks, self.spark))

    def mask_suggestions(self, limit: int = 100_000) -> MaskSuggestions:
        """Like ``Savepoint.mask_suggestions``; a task looks at a state.

        Example:
            >>> Path("rules.yaml").write_text(savepoint.mask_suggestions().to_yaml())
        """
        from savepoint_extensions.privacy.suggestions import MaskSuggestions  # noqa: PLC0415  # loads no extension before it is used

        return MaskSuggestions.of(self, limit, partial(done_by_tasks, self.spark))


def searched_by_tasks(
    spark: SparkSession,
    search: Callable[[Part], Findings],
    parts: Sequence[Part],
    task_size: int = PART_SIZE,
) -> Iterable[Findings]:
    """The findings of the parts, in order; a task searches about ``task_size`` bytes."""
    work = partial(_searched, search)
    return chain.from_iterable(done_by_tasks(spark, work, in_tasks(parts, task_size)))


def _searched(search: Callable[[Part], Findings], parts: Sequence[Part]) -> list[Findings]:
    return list(map(search, parts))
