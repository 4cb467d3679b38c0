"""Names that a package imports when they are asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

ROOMS = {
    "savepoint_formats": (
        *("bytes", "entries", "hashing", "locations", "metadata", "new_snapshot"),
        *("pass_through", "scan", "snapshots", "state_files", "tables", "values"),
    ),
    "savepoint_database": ("audit", "checks", "files", "rows", "snapshot", "sql", "types"),
    "savepoint_spark": ("bootstrapping", "changing", "reading", "session", "writing"),
    "savepoint_functions": ("functions",),
    "savepoint_cli": ("terminal",),
}
PACKAGES = (
    "state_processor",
    *(f"{package}.{room}" for package, rooms in ROOMS.items() for room in rooms),
)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_that_a_package_lists_is_there(package: str) -> None:
    module = import_module(package)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert missing == []


@pytest.mark.parametrize("package", PACKAGES)
def test_what_it_does_not_list_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Verificaton'"):
        _ = import_module(package).Verificaton


@pytest.mark.usefixtures("slow")
def test_without_rocksdb_all_names_are_there_and_its_backend_names_the_extra() -> None:
    """As on a cluster that has PySpark, and this package without extras."""
    program = (
        "import sys; sys.modules['rocksdict'] = None\n"
        "from state_processor import *\n"
        "from savepoint_functions.functions.backends import state_backend\n"
        "OperatorTransformation, MixedModeJob\n"
        "state_backend('rocksdb', Types.STRING().layout)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    last = run.stderr.splitlines()[-1]
    assert "MissingPackageError: rocksdict is not installed; install the extra" in last


@pytest.mark.parametrize("module", ["state_processor", "savepoint_cli.main"])
def test_nothing_that_is_slow_is_imported_before_it_is_needed(module: str) -> None:
    program = (
        f"import sys, {module};"
        "slow = {'pyspark', 'llvmlite', 'duckdb', 'pandas', 'matplotlib'};"
        "assert not slow & set(sys.modules), slow & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
