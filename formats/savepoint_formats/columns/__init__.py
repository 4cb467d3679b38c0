"""Values and columns: what the bytes of a layout mean in Python and in Arrow.

``arrow_type`` says which type a layout has, ``read_value`` and ``write_value`` are the general
path: one value at a time, and the meaning of every layout in one place.
"""

from savepoint_formats.columns.arrow_types import arrow_type, spark_type_name
from savepoint_formats.columns.kryo_descriptions import kryo_class
from savepoint_formats.columns.kryo_dialect import KryoClass, KryoDialect, KryoField, KryoVersion
from savepoint_formats.columns.kryo_graph import read_kryo
from savepoint_formats.columns.kryo_objects import KryoObject, KryoReference
from savepoint_formats.columns.values import ValueReader, read_value, write_value

__all__ = [
    "KryoClass",
    "KryoDialect",
    "KryoField",
    "KryoObject",
    "KryoReference",
    "KryoVersion",
    "ValueReader",
    "arrow_type",
    "kryo_class",
    "read_kryo",
    "read_value",
    "spark_type_name",
    "write_value",
]
