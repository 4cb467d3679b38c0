"""Read, query, audit, bootstrap and modify the state of Apache Flink jobs.

The public names are listed once, with the modules that define them, in the stub ``__init__.pyi``. Each is imported
when it is first used, so that a look at a savepoint waits neither for Spark nor for DuckDB.
"""

from savepoint_formats.lazy_names import lazy_names

__version__ = "0.2.0.dev0"

__getattr__, _names = lazy_names(__name__, "__init__.pyi")


def __dir__() -> list[str]:
    return sorted((*_names, "__version__"))
