"""Read, query, audit, bootstrap and modify the state of Apache Flink jobs."""

from state_processor.savepoint import Operator, Savepoint
from state_processor.session import local_session

__all__ = ["Operator", "Savepoint", "local_session"]
