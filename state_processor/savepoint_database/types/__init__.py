"""Types of state, descriptors, and their names in Spark and Python."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_database.types.class_library import (
        ClassLibrary,
        ClassToDescribe,
        class_descriptions,
        class_descriptions_text,
        described_classes,
    )
    from savepoint_database.types.spark_values import printable_rows

__all__ = [
    "ClassLibrary",
    "ClassToDescribe",
    "class_descriptions",
    "class_descriptions_text",
    "described_classes",
    "printable_rows",
]

__getattr__ = lazy_names(__name__)[0]
