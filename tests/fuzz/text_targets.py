"""Readers of what users give: plans, classes, descriptions, rules, types, conditions, keys and SQL."""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import yaml

from fuzz.documents import changed_json, changed_words
from fuzz.seed_texts import (
    CLASSES,
    CONDITIONS,
    DESCRIPTIONS,
    JOB,
    JSONS,
    KEYS,
    PLAN,
    QUERIES,
    RULES,
    TYPES,
)
from fuzz.target import MEMORY_OF_ROCKSDB, Seed, Target
from savepoint_database.rows.row_condition import RowCondition, evaluated
from savepoint_database.snapshot.key_types import described_job_types, key_types_of, types_of_text
from savepoint_database.sql.sql_database import SqlDatabase
from savepoint_database.sql.sql_text import Dialect, expect_spark_query, named_tables, rewritten
from savepoint_database.types.class_library import ClassLibrary, described_classes
from savepoint_database.types.type_names import parse_type
from savepoint_extensions.live_jobs.kubernetes_snapshots import kubernetes_snapshot
from savepoint_extensions.privacy.found_values import FoundValues
from savepoint_extensions.privacy.mask_rules import SECRET_VARIABLE, MaskRules
from savepoint_extensions.sql_jobs.lineage import Lineage
from savepoint_extensions.sql_jobs.plan_diff import plan_changes
from savepoint_extensions.sql_jobs.planned_operators import query_nodes
from savepoint_extensions.sql_jobs.plans.compiled_plan import CompiledPlan
from savepoint_extensions.sql_jobs.sql_changes import given_matches
from savepoint_extensions.upgrade.compatibility.expected_job import JobSchema
from savepoint_extensions.upgrade.expected_state import job_schema
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import RefusedError
from savepoint_formats.java.class_file import ClassFile
from savepoint_formats.java.pojo_rules import is_pojo
from savepoint_formats.python_state.type_texts import state_layout
from savepoint_formats.savepoint_warnings import UnreadStateWarning
from savepoint_formats.scan.wanted_keys import keys_of
from savepoint_formats.values.kryo.class_files import UndescribableError, described_class
from savepoint_formats.values.kryo.descriptions import kryo_classes_of
from state_processor.importing.import_description import ImportDescription

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fuzz.samples import Inputs

    Reader = Callable[[str], object]

JAR = Path(__file__).parents[1] / "support" / "class_files" / "classes.jar"
SOURCES = (JAR.parent, Path(__file__).parents[2] / "sample_savepoints" / "job")
_LARGEST_PLAN = 60_000


@contextmanager
def _refused() -> Iterator[None]:
    """Takes the ``ValueError`` that a reader of texts promises as one of our tree."""
    try:
        yield
    except UnicodeError:
        raise
    except ValueError as error:
        raise RefusedError(str(error)) from error


def _texts(name: str, readers: Mapping[Reader, Iterable[str]], memory: int | None = None) -> Target:
    """A target of texts, some of which are changed by words, some as JSON."""

    def read(data: bytes, reader: Reader) -> object:
        return reader(data.decode("utf-8", "replace"))

    seeds = [
        Seed(text.encode(), reader, change=_change(text))
        for reader, texts in readers.items()
        for text in texts
    ]
    return Target(name, seeds, read, **({} if memory is None else {"memory": memory}))


def _change(text: str) -> Callable[..., bytes]:
    return changed_json if text.lstrip().startswith(("{", "[")) else changed_words


def plans(inputs: Inputs) -> Target:
    """Compiled plans: their operators, the names of their states, and how they differ from the right one."""

    def read(text: str, right: CompiledPlan) -> object:
        plan = CompiledPlan.parse(text, "plan.json")
        plan.nodes_by_operator()
        list(query_nodes(plan, ()))
        lineage = Lineage(plan)
        for node in plan.nodes.values():
            rows = lineage.node_rows(node)
            rows.key()
            for state in node.states:
                list(rows.remarks(state.name))
                rows.row_of(state.name, 2)
            node.uid(plan.flink_version, node.kind)
        return plan_changes(right, plan), plan_changes(plan, right)

    corpus = [
        path.read_text(encoding="utf-8")
        for folder in inputs.folders
        for path in sorted(folder.parent.rglob("sql-plans/**/*.json"))
        if path.stat().st_size < _LARGEST_PLAN
    ]
    readers: dict[Reader, Iterable[str]] = {
        partial(read, right=CompiledPlan.parse(text, "right.json")): (text,)
        for text in (PLAN, *corpus)
    }
    return _texts("plans", readers)


def class_files(_: Inputs) -> Target:
    """Class files: what Kryo writes of a class, and whether Flink takes it as a POJO."""

    def read(data: bytes, name: str) -> object:
        changed = ClassFile.read(DataInputView(data, "a class"))
        described = described_class(
            name.replace("/", "."), lambda other: changed if other == name else _class_file(other)
        )
        return described, is_pojo(name, lambda other: changed if other == name else None)

    def told(data: bytes, name: str) -> object:
        try:
            return read(data, name)
        except UndescribableError as error:
            raise RefusedError(str(error)) from error

    with zipfile.ZipFile(JAR) as archive:
        seeds = [
            Seed(archive.read(name), name.removesuffix(".class"), name=name)
            for name in archive.namelist()
            if name.endswith(".class")
        ]
    return Target("class-files", seeds, told)


@cache
def _class_file(name: str) -> ClassFile | None:
    return ClassLibrary.of([JAR]).class_file(name)


def archives(_: Inputs) -> Target:
    """Archives with class files."""
    path = Path(mkdtemp()) / "classes.jar"
    with zipfile.ZipFile(JAR) as archive:
        names = [name.removesuffix(".class").replace("/", ".") for name in archive.namelist()[-4:]]

    def read(data: bytes, _: Any) -> object:
        path.write_bytes(data)
        return ClassLibrary.of([path]).described(names)

    return Target("archives", [Seed(JAR.read_bytes())], read)


def sources(_: Inputs) -> Target:
    """Sources of Java."""
    folder = Path(mkdtemp())

    def read(data: bytes, context: tuple[str, str]) -> object:
        file, name = context
        (folder / file).write_bytes(data)
        try:
            library = ClassLibrary.of([], [folder])
            return library.described([name]), library.reason(name)
        finally:
            (folder / file).unlink()

    seeds = []
    for path in sorted(path for one in SOURCES for path in one.rglob("*.java")):
        text = path.read_text(encoding="utf-8")
        package = text.partition("package ")[2].partition(";")[0]
        context = path.name, f"{package}.{path.stem}"
        seeds.append(Seed(text.encode(), context, change=changed_words, name=path.name))
    return Target("sources", seeds, read)


def descriptions(_: Inputs) -> Target:
    """Descriptions of imports, classes and masks, in YAML."""
    os.environ.setdefault(SECRET_VARIABLE, "a secret of some bytes")
    return _texts(
        "descriptions",
        {
            (lambda text: ImportDescription.parse(text, "import.yaml")): (
                *DESCRIPTIONS,
                *map(_as_json, DESCRIPTIONS[:4]),
            ),
            (lambda text: described_classes(text, "classes.yaml")): (CLASSES, _as_json(CLASSES)),
            (lambda text: MaskRules.of_text(text, "rules.yaml")): (RULES, _as_json(RULES)),
            (lambda text: types_of_text(text, "types.yaml")): ("op:\n  total: Types.LONG()\n",),
            _matches: ("4: 7\n5: null\n", "{4: 7}"),
        },
    )


def _as_json(text: str) -> str:
    return json.dumps(yaml.safe_load(text))


@cache
def _matches_file() -> Path:
    return Path(mkdtemp()) / "matches.yaml"


def _matches(text: str) -> object:
    _matches_file().write_text(text, encoding="utf-8")
    return given_matches(_matches_file())


def jsons(inputs: Inputs) -> Target:
    """Schemas of jobs, answers of ``savepoint find`` and of kubectl, and options of Spark's data source."""

    def options(read: Callable[[str], object]) -> Reader:
        def refused(text: str) -> object:
            with _refused():
                return read(text)

        return refused

    schemas = [json.dumps(job_schema(one).as_json()) for one in inputs.snapshots[:4]]
    return _texts(
        "jsons",
        {
            (lambda text: repr(JobSchema.from_json(text, "job.json").as_json())): schemas,
            (lambda text: FoundValues.of_json(text).keys("")): (JSONS["found"],),
            kubernetes_snapshot: (JSONS["kubernetes"],),
            options(key_types_of): (JSONS["key types"],),
            options(kryo_classes_of): (JSONS["classes"],),
        },
    )


def types(_: Inputs) -> Target:
    """Types as texts, also of PyFlink, and jobs of PyFlink."""

    def plain(text: str) -> object:
        with _refused():
            return repr(parse_type(text))

    def python(text: str) -> object:
        with _refused():
            return state_layout(text)

    def job(text: str) -> object:
        # Descriptors whose name or type only a run tells are left out with a warning.
        with warnings.catch_warnings(action="ignore", category=UnreadStateWarning):
            return described_job_types(text, "job.py")

    return _texts(
        "types",
        {
            plain: TYPES["plain"],
            python: TYPES["python"],
            job: (JOB,),
        },
    )


_ROWS = pa.record_batch(
    {
        "key": pa.array([1, 2, 3]),
        "name": pa.array(["a", None, "c"]),
        "total": pa.array([1.5, 2.5, None]),
        "customer": pa.array([{"id": 1, "city": "x"}, None, {"id": 3, "city": None}]),
    }
)


def conditions(_: Inputs) -> Target:
    """Conditions on rows, expressions on values, and texts of keys."""

    def condition(text: str) -> object:
        return RowCondition.of(text, _ROWS.schema).filtered(_ROWS)

    def expression(text: str) -> object:
        return evaluated(_ROWS.column("key"), text)

    readers: dict[Reader, Iterable[str]] = {condition: CONDITIONS, expression: ("value + 1",)}
    for key_type, texts in KEYS.items():
        readers[partial(_key, key_type=key_type)] = texts
    return _texts("conditions", readers, MEMORY_OF_ROCKSDB)


def _key(text: str, key_type: pa.DataType) -> object:
    return keys_of([text], key_type)


def queries(inputs: Inputs) -> Target:
    """Queries in SQL."""
    database = SqlDatabase(inputs.snapshots[0], memory_limit="500MB")

    def read(text: str) -> object:
        rewritten(text, database.tables, Dialect.SPARK)
        named_tables(text, database.tables, Dialect.SPARK)
        result = database.query(text)
        return [next(result.batches, None)]

    def spark(text: str) -> object:
        expect_spark_query(text)
        return rewritten(text, database.tables, Dialect.SPARK)

    return _texts("queries", {read: QUERIES, spark: QUERIES}, MEMORY_OF_ROCKSDB)
