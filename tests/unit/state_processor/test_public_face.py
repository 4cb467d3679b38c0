"""The package as a user's tools see it: signatures in ``help``, and types in ``mypy --strict``."""

from __future__ import annotations

import ast
import inspect
import json
import pydoc
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import state_processor
from savepoint_database.snapshot.value_forms import FORM_NAMES
from savepoint_formats.key_groups.ranges import CHUNK_SIZE
from savepoint_formats.scan.read_options import ReadOptions
from state_processor import Savepoint, plugins
from state_processor.savepoint.spark_savepoint import SparkSavepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

READING = {
    Savepoint: ("open", "load", "describe", "tables", "schema", "files", "scan", "operators"),
    SparkSavepoint: (
        *("scan", "read_table", "read_keyed_state", "read_local_state", "read_window_state"),
        *("read_list_state", "read_union_state", "read_broadcast_state", "read_timers"),
    ),
}
CHANGES = (
    *("with_operator", "remove_operator", "rename_operator", "with_state", "remove_state"),
    *(
        "rescale",
        "convert",
        "rename_class",
        "rename_constant",
        "rename_state",
        "rename_field",
        "add_field",
        "drop_constant",
        "drop_field",
    ),
    *("widen_field", "update_state", "delete_keys", "merge_local"),
)

# A line that ends with "# refused" is one that mypy has to refuse.
PROGRAM = """
from typing import assert_type

from pyspark.sql import DataFrame, SparkSession

from state_processor import Savepoint, SavepointWriter, Types, ValueStateDescriptor

savepoint = Savepoint.open("savepoint", uids=["orders"])
names: list[str] = [table.table for table in savepoint.tables()]
scan = savepoint.scan("orders.keyed_state", columns=["key"], keys=[1], with_key_group=True)
assert_type(scan.count(), int)
writer = savepoint.rename_operator("orders", "sales").rename_state("sales", "total", "sum")
assert_type(writer, SavepointWriter)
assert_type(writer.write("new", mode="overwrite").files, int)
total = ValueStateDescriptor("total", Types.LONG())


def read(spark: SparkSession) -> DataFrame:
    opened = Savepoint.load(spark, "savepoint")
    assert_type(opened.read_keyed_state("orders", with_times=True), DataFrame)
    opened.read_table("orders.keyed_state", with_times="yes")  # refused
    return opened.with_forms(nanoseconds="text").read_keyed_state("orders")


savepoint.scan("orders.keyed_state", colums=["key"])  # refused
savepoint.scan("orders.keyed_state", with_key_group=3)  # refused
savepoint.rescale(max_parallelism="128")  # refused
ValueStateDescriptor("total", "LONG")  # refused
names.append(scan.count())  # refused
"""

ROOT = Path(__file__).parents[3]
PACKAGES = (
    *("savepoint_formats", "savepoint_database", "savepoint_spark", "savepoint_functions"),
    *("savepoint_extensions", "state_processor"),
)
PUBLIC = {"state_processor": state_processor.__all__, "state_processor.plugins": plugins.__all__}
FOR_THE_CURIOUS = {
    "docs/how-to/choose-types.md": {"constructed"},
    "docs/how-to/read-kryo-classes.md": {
        *("DataInputView", "Kryo", "KryoDialect", "KryoVersion", "read_value"),
    },
}
"""Names of bytes that a page shows, which nobody needs to work with a savepoint."""
BELOW = {
    *("BoundAggregate", "ChangedOperator", "FunctionPlan", "Layout", "OperatorPlan"),
    *("BroadcastElements", "HeldBroadcast", "OperatorState", "State", "StoredTypes"),
}
"""Types of the layers below, which methods return that those layers call."""
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Names of the package that a user can call."""
    kinds: list[type] = [SparkSavepoint]
    for name in state_processor.__all__:
        exported = getattr(state_processor, name)
        if isinstance(exported, type) and not issubclass(exported, BaseException):
            kinds.append(exported)
        elif inspect.isfunction(exported):
            yield name, exported
    for kind in kinds:
        for name, method in inspect.getmembers(kind):
            is_own = inspect.isfunction(method) or inspect.ismethod(method)
            if is_own and not name.startswith("_"):
                yield f"{kind.__name__}.{name}", method


@pytest.mark.parametrize("kind", READING, ids=lambda kind: kind.__name__)
def test_help_shows_what_there_is_to_read_and_to_change(kind: type) -> None:
    text = pydoc.plain(pydoc.render_doc(kind))
    assert [name for name in (*READING[kind], *CHANGES) if f"|  {name}(" not in text] == []


def reads() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions that open a savepoint, or read a table of one."""
    yield "history", state_processor.history
    for kind, names in READING.items():
        for name in (*names, "count_rows"):
            is_read = name in ("open", "load", "scan", "count_rows") or name.startswith("read_")
            if is_read and hasattr(kind, name):
                yield f"{kind.__name__}.{name}", getattr(kind, name)


@pytest.mark.parametrize(("name", "read"), [*reads()])
def test_help_explains_each_option_where_it_is_given(name: str, read: Callable[..., Any]) -> None:
    parameters = inspect.signature(read).parameters
    assert not [one for one in parameters.values() if one.kind is one.VAR_KEYWORD]
    text = inspect.getdoc(read) or ""
    if name == "SparkSavepoint.read_union_state":
        text = inspect.getdoc(SparkSavepoint.read_list_state) or ""
    _, _, explained = text.partition("Args:\n")
    options = [one for one in parameters if one not in ("self", "directory", "table", "key")]
    assert [one for one in options if not re.search(rf"^ +{one}: .", explained, re.MULTILINE)] == []
    assert "As for ``open``" not in text


def test_options_of_reads_are_keywords_of_the_same_types_and_defaults() -> None:
    expected = {
        "with_times": ("bool", False),
        "chunk_size": ("int | None", CHUNK_SIZE),
    }
    kinds: dict[str, set[tuple[Any, ...]]] = {}
    for _, read in reads():
        for parameter in inspect.signature(read).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY and parameter.name != "merge":
                seen = (parameter.annotation, parameter.default)
                kinds.setdefault(parameter.name, set()).add(seen)
    assert {name for name, seen in kinds.items() if len(seen) > 1} == set()
    assert {name: kinds[name] for name in expected} == {
        name: {seen} for name, seen in expected.items()
    }
    scan = inspect.signature(Savepoint.scan).parameters
    # Conditions decide whether a scan is narrow.
    known = {*scan, *FORM_NAMES, "is_narrow"}
    assert [one.name for one in fields(ReadOptions) if one.name not in known] == []
    table = inspect.signature(SparkSavepoint.read_table).parameters
    assert [one for one in scan if one not in table] == []


def test_every_argument_of_every_public_function_has_a_type() -> None:
    found = [
        f"{name}({parameter})"
        for name, function in public_functions()
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name not in ("self", "cls")
        and (
            parameter.annotation is parameter.empty
            or (parameter.kind is parameter.VAR_KEYWORD and "Any" in str(parameter.annotation))
        )
    ]
    assert found == []


@pytest.mark.usefixtures("slow")
def test_mypy_sees_the_types_in_a_program_of_a_user(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    refused = {int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error:" in line}
    lines = PROGRAM.splitlines()
    assert refused == {
        number for number, line in enumerate(lines, 1) if line.endswith("# refused")
    }, run.stdout + run.stderr


def programs() -> Iterator[tuple[str, str]]:
    """Each Python block of a page or notebook, and which page it is on."""
    pages = [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/how-to").glob("*.md"),
    ]
    for page in pages:
        for block in PYTHON.findall(page.read_text("utf-8")):
            yield page.relative_to(ROOT).as_posix(), block
    for notebook in (ROOT / "docs/notebooks").glob("*.ipynb"):
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
            if cell["cell_type"] == "code" and not cell["source"][0].startswith(("%", "!")):
                yield notebook.relative_to(ROOT).as_posix(), "".join(cell["source"])


def test_pages_import_public_names_alone() -> None:
    imported = {
        (page, alias.name)
        for page, program in programs()
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in PACKAGES
        for alias in node.names
        if alias.name not in PUBLIC.get(str(node.module), ())
    }
    assert imported == {(page, name) for page, names in FOR_THE_CURIOUS.items() for name in names}


def own_classes() -> set[str]:
    """The names of all public classes of the packages."""
    folders = (
        ROOT / "formats" / PACKAGES[0],
        *(ROOT / "state_processor" / p for p in PACKAGES[1:]),
    )
    trees = (
        ast.parse(file.read_text("utf-8")) for folder in folders for file in folder.rglob("*.py")
    )
    names = (node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    return {name for name in names if not name.startswith("_")}


@pytest.mark.usefixtures("slow")
def test_each_type_that_a_public_method_returns_is_public() -> None:
    spark = {"Column", "DataFrame", "Row"}
    known = {*state_processor.__all__, *BELOW, *spark}
    returned = {
        (name, kind)
        for name, function in public_functions()
        for kind in re.findall(r"\w+", str(inspect.signature(function).return_annotation))
    }
    own = own_classes()
    assert {(name, kind) for name, kind in returned if kind in own and kind not in known} == set()


def test_the_packages_below_load_when_a_name_is_used() -> None:
    program = (
        "import state_processor, sys; print(sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    modules = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert "savepoint_formats" in modules
    assert not [name for name in ("savepoint_spark", "pyspark", "duckdb") if name in modules]


def test_savepoint_loads_no_extension() -> None:
    program = (
        "import sys; from state_processor import Savepoint;"
        " print([m for m in sys.modules if m.startswith('savepoint_extensions')])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "[]\n"
