"""A stored savepoint or checkpoint: operators, tables, descriptions."""

from typing import TYPE_CHECKING

from savepoint_formats.lazy_names import lazy_names

if TYPE_CHECKING:
    from savepoint_database.snapshot.description import (
        ColumnDescription,
        FileDescription,
        OperatorDescription,
        SavepointDescription,
        StateDescription,
        TableDescription,
    )
    from savepoint_database.snapshot.key_types import GivenType as GivenType
    from savepoint_database.snapshot.key_types import (
        StateTypes,
        described_job_types,
        key_types_json,
        key_types_of,
        types_of_option,
        types_of_text,
    )
    from savepoint_database.snapshot.opening import OpeningOptions, QueryNode, opening_of
    from savepoint_database.snapshot.operator import Operator, id_called
    from savepoint_database.snapshot.retained import RetainedSnapshot, RetainedSnapshots, snapshots
    from savepoint_database.snapshot.snapshot import Snapshot
    from savepoint_database.snapshot.sql_tables import SqlTable, SqlTables
    from savepoint_database.snapshot.value_forms import (
        DEFAULT_FORMS,
        FORM_NAMES,
        ValueForms,
        with_old_keywords,
    )
    from savepoint_formats.scan import ReadOptions
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "DEFAULT_FORMS",
    "FORM_NAMES",
    "ColumnDescription",
    "FileDescription",
    "OpeningOptions",
    "Operator",
    "OperatorDescription",
    "QueryNode",
    "ReadOptions",
    "RetainedSnapshot",
    "RetainedSnapshots",
    "SavepointDescription",
    "Snapshot",
    "SqlTable",
    "SqlTables",
    "StateDescription",
    "StateTypes",
    "TableDescription",
    "ValueForms",
    "described_job_types",
    "id_called",
    "key_types_json",
    "key_types_of",
    "opening_of",
    "snapshots",
    "types_of_option",
    "types_of_text",
    "with_old_keywords",
]
