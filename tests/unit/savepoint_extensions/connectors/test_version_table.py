"""The table of versions in words is the table; a release that was not tried has no versions."""

from __future__ import annotations

import re

import pytest

from savepoint_extensions.connectors import version_table
from savepoint_extensions.connectors.version_table import PARTS, Versions, release_of

ROW = re.compile(
    r"^\| (\S+) +\| (\w+) +\| ([\d.]+) +\| +(\d+) \| (\d+) to (\d+) +\| (.*?) +\|", re.MULTILINE
)


def test_releases_are_numbers() -> None:
    assert release_of("3.4.0-1.20") == (3, 4, 0)
    with pytest.raises(ValueError, match="expected one such as"):
        release_of("newest")


def test_the_table_in_words_is_the_table() -> None:
    assert version_table.__doc__ is not None
    rows = [
        (
            *(part.connector, part.part, ".".join(map(str, known.first)), str(known.writes)),
            *(str(known.lowest), str(known.writes), known.jars or "no release: its source"),
        )
        for part in PARTS
        for known in part.versions
    ]
    assert ROW.findall(version_table.__doc__) == rows


def test_a_row_holds_up_to_the_newest_release_that_was_tried() -> None:
    tried = Versions((3, 1), 2, 0, "3.1.0-1.18 4.0.1-2.0")
    held = [
        release
        for release in ("3.0.9", "3.1.0", "3.9", "4.0.1", "4.0.2")
        if tried.holds_for(release_of(release))
    ]
    assert held == ["3.1.0", "3.9", "4.0.1"]
    assert Versions((5, 0), 1, 0, "").holds_for((9, 9))
