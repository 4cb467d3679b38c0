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
    from savepoint_database.types.class_library import DescribedClasses as DescribedClasses
    from savepoint_database.types.descriptors import (
        AggregateFunction,
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        StateDescriptor,
        StateTtlConfig,
        StateVisibility,
        UpdateType,
        ValueStateDescriptor,
    )
    from savepoint_database.types.flink_units import milliseconds, moment, size_in_bytes
    from savepoint_database.types.named_fields import all_places, arranged, field_places
    from savepoint_database.types.pyflink import PyFlink
    from savepoint_database.types.python_conversion import (
        BATCH_ROWS,
        OutputRows,
        Place,
        given,
        in_one_form,
        is_map,
        map_entries,
        python_values,
        shaped,
        state_values,
        taken,
    )
    from savepoint_database.types.records import Record, record_maker, record_table, record_type
    from savepoint_database.types.spark_values import (
        EXPORTED,
        PARTS,
        PRINTABLE,
        PYTHON,
        SPARK,
        bounds,
        converted,
        expect_valid,
        from_spark,
        leaves,
        printable_rows,
    )
    from savepoint_database.types.sql_names import (
        distinct,
        double_quoted,
        literal,
        quoted,
        sql_name,
        unquoted,
        unused,
    )
    from savepoint_database.types.timer_dates import LAST_MS, Times, dated_columns, for_people
    from savepoint_database.types.type_names import parse_parts, parse_type
    from savepoint_database.types.types import PLAIN_TYPES, TypeInformation, Types, expect_type
    from savepoint_database.types.user_frames import user_frames_first
    from savepoint_database.types.yaml_section import (
        NOT_YAML,
        YamlSection,
        events_with_depth,
        why_not_yaml,
        yaml_text,
    )
else:
    __getattr__ = lazy_names(__name__)[0]

__all__ = [
    "BATCH_ROWS",
    "EXPORTED",
    "LAST_MS",
    "NOT_YAML",
    "PARTS",
    "PLAIN_TYPES",
    "PRINTABLE",
    "PYTHON",
    "SPARK",
    "AggregateFunction",
    "AggregatingStateDescriptor",
    "ClassLibrary",
    "ClassToDescribe",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "OutputRows",
    "Place",
    "PyFlink",
    "Record",
    "ReducingStateDescriptor",
    "StateDescriptor",
    "StateTtlConfig",
    "StateVisibility",
    "Times",
    "TypeInformation",
    "Types",
    "UpdateType",
    "ValueStateDescriptor",
    "YamlSection",
    "all_places",
    "arranged",
    "bounds",
    "class_descriptions",
    "class_descriptions_text",
    "converted",
    "dated_columns",
    "described_classes",
    "distinct",
    "double_quoted",
    "events_with_depth",
    "expect_type",
    "expect_valid",
    "field_places",
    "for_people",
    "from_spark",
    "given",
    "in_one_form",
    "is_map",
    "leaves",
    "literal",
    "map_entries",
    "milliseconds",
    "moment",
    "parse_parts",
    "parse_type",
    "printable_rows",
    "python_values",
    "quoted",
    "record_maker",
    "record_table",
    "record_type",
    "shaped",
    "size_in_bytes",
    "sql_name",
    "state_values",
    "taken",
    "unquoted",
    "unused",
    "user_frames_first",
    "why_not_yaml",
    "yaml_text",
]
