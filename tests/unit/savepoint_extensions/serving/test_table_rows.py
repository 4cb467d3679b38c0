"""Rows of a page: within their memory, whatever the query is."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("slow")

SAMPLE = "currency-2.2.1-hashmap-canonical"
WIDE = "SELECT range AS n, repeat('x', 300) AS text FROM range(10000000000)"

# Megabytes that a page takes on top of the first one.
MEASURED = """\
import resource, sys
from savepoint_extensions.serving.table_rows import TableRows
from state_processor import Savepoint
rows = TableRows(Savepoint.open(sys.argv[1]), "50%")
used = []
for page in (0, 30000):
    assert rows.page(sys.argv[2], page).cells[0][0] == str(page * 50)
    used.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
print(used[1] - used[0])
"""


def test_rows_before_a_page_do_not_stay_in_memory(samples: Path) -> None:
    command = [sys.executable, "-c", MEASURED, str(samples / SAMPLE), WIDE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # DuckDB takes python -c for a person, and shows one who waits for seconds how far it is.
    assert int(done.stdout.split()[-1]) < 150
