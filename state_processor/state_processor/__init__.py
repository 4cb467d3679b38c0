"""Read, query, audit, bootstrap and modify the state of Apache Flink jobs."""

from state_processor.savepoint import Operator, Savepoint

__all__ = ["Operator", "Savepoint"]
