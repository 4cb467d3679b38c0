"""Keeps the results of the tests on a Python and a PySpark, for the page of compatibility."""

from __future__ import annotations

import platform
from pathlib import Path
from xml.etree import ElementTree

import click
import pyspark

from round_trip.results import keep


@click.command()
@click.argument("report", type=click.Path(exists=True, path_type=Path))
@click.argument("kept", type=click.Path(path_type=Path))
@click.argument("tests_run")
def main(report: Path, kept: Path, tests_run: str) -> None:
    """Adds the run of a REPORT of pytest to those KEPT; TESTS_RUN says which tests it ran."""
    suite = next(ElementTree.parse(report).iter("testsuite"))
    tests, failed, errors, skipped = (
        int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")
    )
    run = {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "pyspark": ".".join(pyspark.__version__.split(".")[:2]),
        "tests": tests_run,
        "passed": tests - failed - errors - skipped,
        "failed": failed + errors,
        "skipped": skipped,
    }
    keep([run], kept, "python", "pyspark", "tests")


if __name__ == "__main__":
    main()
