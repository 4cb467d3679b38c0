"""Names that a package imports when they are asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

ROOMS = ("audit", "checks", "files", "rows", "snapshot", "sql", "types")
PACKAGES = (
    *("state_processor", "savepoint_spark.changing"),
    *(f"savepoint_database.{room}" for room in ROOMS),
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
