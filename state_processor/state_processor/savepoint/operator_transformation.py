"""Where the state of a new operator begins: with rows, or with the plan of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_functions.transformations.transformation import OneInputStateTransformation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from savepoint_extensions.sql_jobs.history.sql_operator import SqlOperator
    from savepoint_formats.locations import PathText


class OperatorTransformation:
    """The beginning of an operator's state."""

    @staticmethod
    def bootstrap_with(data: DataFrame) -> OneInputStateTransformation:
        """Begins the state of an operator with the rows of a DataFrame.

        Args:
            data: The rows. For keyed state a row per key, or per key and window.

        Raises:
            TypeError: It is not a DataFrame of Spark.

        Example:
            >>> OperatorTransformation.bootstrap_with(accounts).key_by("account")
        """
        return OneInputStateTransformation(data)

    @staticmethod
    def for_plan(plan: PathText, operator: int | str) -> SqlOperator:
        """Begins the state of an operator of a SQL job with its compiled plan.

        Args:
            plan: The plan that ``COMPILE PLAN`` wrote.
            operator: The operator's number in the plan, its uid, or the first word of its
                description, such as ``GroupAggregate``, if it is the only one.

        Raises:
            PlanError: The file is not a compiled plan, doesn't have exactly one such operator, or
                the operator's state can't be made from history.

        Example:
            >>> totals = OperatorTransformation.for_plan("orders.json", "GroupAggregate")
            >>> totals.inputs
        """
        from savepoint_extensions.sql_jobs.history.sql_operator import SqlOperator  # noqa: PLC0415  # loads no extension before it is used

        return SqlOperator.of(plan, operator)
