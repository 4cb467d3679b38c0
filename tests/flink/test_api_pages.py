"""The pages for who comes from Flink name what the jar of its State Processor API has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest
from support.maven_jars import fetched

FLINK = "2.3.0"
DOCS = Path(__file__).parents[2] / "docs"
PACKAGE = "org/apache/flink/state/api"
# What each class of Java has, and what is only called by Flink.
OF_ANY_OBJECT = {"equals", "hashCode", "toString"}
NOT_CALLED_BY_USERS = {"createOperator", "timestamp"}


@pytest.fixture(scope="module")
def processor() -> Path:
    """The jar."""
    folder = fetched(f"processor-{FLINK}", {"flink-state-processor-api": FLINK}, is_alone=True)
    return next(folder.glob("flink-state-processor-api-*.jar"))


def classes_of(processor: Path) -> list[str]:
    """The classes that programs call, without those that have no name."""
    with ZipFile(processor) as jar:
        names = [name.removesuffix(".class") for name in jar.namelist() if ".class" in name]
    folders = (PACKAGE, f"{PACKAGE}/functions")
    return [
        name.replace("/", ".")
        for name in names
        if name.rpartition("/")[0] in folders and not re.search(r"\$\d", name)
    ]


def test_the_page_has_each_method(processor: Path) -> None:
    command = ["javap", "-public", "-cp", str(processor), *classes_of(processor)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    public = "".join(part for part in listed.split("Compiled from") if "\npublic " in part)
    methods = set(re.findall(r" (\w+)\([^)]*\)(?: throws [\w., ]+)?;", public))
    assert {"readKeyedState", "changeOperatorIdentifier", "readWindow"} <= methods
    page = (DOCS / "from-state-processor-api.md").read_text(encoding="utf-8")
    assert methods - set(re.findall(r"\w+", page)) == OF_ANY_OBJECT | NOT_CALLED_BY_USERS


def test_the_page_has_each_option_of_the_connector(processor: Path) -> None:
    with ZipFile(processor) as jar:
        of_class = jar.read("org/apache/flink/state/table/SavepointConnectorOptions.class")
        metadata = jar.read("org/apache/flink/state/table/SavepointMetadataTableFunction.class")
    options = set(re.findall(rb"(?<=[\x00-\x20])[a-z]+(?:[.-][a-z]+)+(?=[\x00-\x20])", of_class))
    columns = set(re.findall(rb"(?<=[\x00-\x20])(?:operator|checkpoint)-[a-z-]+", metadata))
    assert {b"state.path", b"operator.uid.hash", b"value-type-factory"} <= options
    assert b"operator-subtask-state-count" in columns
    page = (DOCS / "from-flink-sql.md").read_text(encoding="utf-8")
    assert [name for name in sorted(options | columns) if f"{name.decode()}`" not in page] == []
