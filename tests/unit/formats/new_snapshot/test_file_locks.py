from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from savepoint_formats.new_snapshot.signs_of_life import expect_unlocked, lock

if TYPE_CHECKING:
    from pathlib import Path

COPIED = """
import sys
sys.modules["fcntl"] = None  # as on Windows, an import fails
from savepoint_cli.start import main
main()
"""


def test_a_lock_ends_when_its_file_is_closed(tmp_path: Path) -> None:
    mine, theirs = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    expect_unlocked(theirs)
    os.close(theirs)
    lock(mine)
    theirs = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(OSError, match=r"."):
        expect_unlocked(theirs)
    os.close(mine)
    expect_unlocked(theirs)
    os.close(theirs)


@pytest.mark.usefixtures("slow")
def test_commands_that_read_and_copy_need_no_locks(samples: Path, tmp_path: Path) -> None:
    sample, out = samples / "currency-2.2.1-hashmap-canonical", tmp_path / "out"
    for words in (["--help"], ["describe", sample], ["copy", sample, out], ["verify", out]):
        call = [sys.executable, "-c", COPIED, *map(str, words)]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
