"""Runs the notebooks, and keeps what their cells show: python docs/run_notebooks.py [NAME...]."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

SHOWN_FOR = "shown_for"
FOLDER = Path(__file__).with_name("notebooks")


def notebook(path: Path) -> Any:
    """The notebook in a file."""
    return nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]  # it has no types


def sources_hash(shown: Any) -> str:
    """A hash of all cells, by which outputs that belong to other cells can be told."""
    return sha256("\0".join(cell.source for cell in shown.cells).encode()).hexdigest()[:16]


def executed(path: Path) -> Any:
    """The notebook in a file, with what its cells show when they are run from top to bottom."""
    shown = notebook(path)
    metadata = dict(shown.metadata)
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(
        shown, timeout=300, kernel_name="python3", resources=resources, record_timing=False
    )
    client.execute()
    # Which Python it was is of no interest to who reads.
    shown.metadata = {**metadata, SHOWN_FOR: sources_hash(shown)}
    return shown


def main() -> None:
    """Runs those that are named, or all."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not sys.argv[1:] or path.stem in sys.argv[1:]:
            text = nbformat.writes(executed(path))  # type: ignore[no-untyped-call]  # it has no types
            path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
