"""Settings of libraries that lie in the current directory, which may be a stranger's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.commands import result_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("slow")

CURRENCY = "currency-2.2.1-hashmap-canonical"
TABLE = "summarize.keyed_state"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, beside a home without any settings."""
    home, folder = tmp_path / "home", tmp_path / "stranger"
    home.mkdir()
    folder.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("PYICEBERG_HOME", raising=False)
    monkeypatch.chdir(folder)
    return folder


def test_plots_obey_no_settings_there(samples: Path, folder: Path) -> None:
    import matplotlib as mpl  # noqa: PLC0415  # slow

    settings = folder / "matplotlibrc"
    settings.write_text("text.usetex: True\naxes.facecolor: red\n", encoding="utf-8")
    # As the import does in a new process.
    with mpl.rc_context(fname=settings):
        result = result_of("stats", samples / CURRENCY, "--html", folder / "page.html")
    assert result.exit_code == 0, result.output
    assert "<svg" in (folder / "page.html").read_text(encoding="utf-8")


def test_a_catalog_of_iceberg_there_is_not_used(samples: Path, folder: Path) -> None:
    mark = folder / "catalog.db"
    text = f"catalog:\n  prod:\n    type: sql\n    uri: sqlite:///{mark}\n    warehouse: {folder}\n"
    (folder / ".pyiceberg.yaml").write_text(text, encoding="utf-8")
    arguments = ("export", samples / CURRENCY, TABLE, "prod.flink.totals", "--to", "iceberg")
    result = result_of(*arguments)
    assert result.exit_code == 1
    assert "if it is yours, set PYICEBERG_HOME" in result.stderr
    assert not mark.exists()
