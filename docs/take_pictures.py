"""Takes the pictures of the pages: PYTHONPATH=tests python docs/take_pictures.py [NAME ...].

Those of commands are what the commands print now, as SVG. ``savepoint browse`` is driven by its
keys. The report is opened in Chromium, which must be installed. ``diff`` starts Spark because it
compares a sample with one that was changed as in the tutorial.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text
from support.browser import launched
from textual.widgets import Tree

from savepoint_cli.main import main
from savepoint_extensions.browse.app import SavepointBrowser
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.pilot import Pilot

ROOT = Path(__file__).parents[1]
PICTURES = Path(__file__).with_name("pictures")

_SAMPLES = "sample_savepoints"
_CURRENCY = f"{_SAMPLES}/currency-2.2.1-rocksdb-native"
_CORRECTED = "/tmp/corrected"
_WIDTH = 96


@dataclass(frozen=True, slots=True)
class Screen:
    """A command, and the terminal that it is shown on.

    Attributes:
        arguments: Those of ``savepoint``.
        height: The lines of the terminal, which ``describe`` keeps to.
        first_lines: How many lines are shown; what follows is an ellipsis.
    """

    arguments: tuple[str, ...]
    height: int = 24
    first_lines: int = 60

    @property
    def command(self) -> str:
        """The command as a person types it."""
        words = (f'"{word}"' if " " in word else word for word in self.arguments)
        return " ".join(("savepoint", *words))


SCREENS = {
    "describe": Screen(("describe", _CURRENCY)),
    "show": Screen(
        (
            *("show", f"{_SAMPLES}/states-2.2.1-hashmap-native", "stateful.keyed_state"),
            *("--where", "key LIKE 'customer%'", "-n", "6"),
            *("--column", "key", "--column", "by_currency", "--column", "average"),
        )
    ),
    "query": Screen(
        (
            *("query", _CURRENCY),
            "SELECT key, total, count FROM summarize.keyed_state ORDER BY total DESC LIMIT 5",
        )
    ),
    "doctor": Screen(
        (
            *("doctor", f"{_SAMPLES}/objects-1.20.5-rocksdb-native", "--target", "2.2"),
            *("--uid", "shapes", "--uid", "payments", "--uid", "baskets", "--uid", "crates"),
        ),
        first_lines=42,
    ),
}
DIFF = Screen(("diff", _CURRENCY, _CORRECTED, "--rows", "8"), height=50)


class _Terminal(io.StringIO):
    """A terminal that commands print to."""

    def isatty(self) -> bool:
        return True


@contextmanager
def _terminal(height: int) -> Iterator[None]:
    """Runs commands below the root of the project, for a terminal of a size."""
    kept, folder = dict(os.environ), Path.cwd()
    os.environ.update(COLUMNS=str(_WIDTH), LINES=str(height))
    os.environ.pop("NO_COLOR", None)
    os.chdir(ROOT)
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(kept)


def printed(screen: Screen) -> str:
    """Output of a command on a terminal, with its codes for bold and dim text."""
    terminal = _Terminal()
    with _terminal(screen.height), redirect_stdout(terminal), redirect_stderr(io.StringIO()):
        main.main(list(screen.arguments), prog_name="savepoint", standalone_mode=False)
    lines = terminal.getvalue().rstrip("\n").split("\n")
    more = ["…"] if len(lines) > screen.first_lines else []
    return "\n".join([*lines[: screen.first_lines], *more])


def screen_picture(screen: Screen) -> str:
    """The SVG of a terminal, with the command and what it prints."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {screen.command}", style="bold green"))
    console.print(Text.from_ansi(printed(screen)))
    console.print()  # or the picture would end within the last line
    return _plain(console.export_svg(title=f"savepoint {screen.arguments[0]}"))


def _plain(svg: str) -> str:
    """The picture without fonts from the network: any font of the reader's with letters of one width."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", "monospace").replace("Fira Code", "monospace")
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE) + "\n"


def diff_picture() -> None:
    """``savepoint diff`` of a sample and of the one that the tutorial makes of it."""
    change = ("update-state", _CURRENCY, "summarize", "total", _CORRECTED, "--overwrite")
    expression = ("--set", "total / 10", "--where", "total > 1000000")
    subprocess.run([_program(), *change, *expression], cwd=ROOT, check=True)
    (PICTURES / "diff.svg").write_text(screen_picture(DIFF), encoding="utf-8")


def browse_picture() -> None:
    """``savepoint browse``: rows of a table, with the tree of places beside them."""

    async def driven() -> str:
        app = SavepointBrowser(Savepoint.open(f"{_SAMPLES}/objects-2.2.1-hashmap-canonical"))
        async with app.run_test(size=(118, 30)) as pilot:
            await _open_rows(app, pilot)
            return app.export_screenshot(title="savepoint browse")

    with _terminal(30):
        (PICTURES / "browse.svg").write_text(_plain(asyncio.run(driven())), encoding="utf-8")


async def _open_rows(app: SavepointBrowser, pilot: Pilot[None]) -> None:
    """Goes down to the rows of ``baskets``, which have lists, maps and bytes of Kryo's."""
    await app.workers.wait_for_complete()
    await pilot.pause()
    tree = app.query_one(Tree)
    baskets = next(node for node in tree.root.children if str(node.label).startswith("baskets"))
    await pilot.press(*["down"] * baskets.children[0].line, "enter")
    await app.workers.wait_for_complete()
    await pilot.pause()


def report_picture() -> None:
    """The first screen of the page of ``savepoint stats --html``."""
    chromium = which("chromium") or which("google-chrome")
    if chromium is None:
        raise SystemExit("the picture of the report needs Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        sample = f"{_SAMPLES}/states-2.2.1-rocksdb-native"
        options = ("--at", "2026-01-01", "--html", str(page))
        subprocess.run([_program(), "stats", sample, *options], cwd=ROOT, check=True)
        options = ("--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1160,1065")
        target = f"--screenshot={PICTURES / 'report.png'}"
        command = [chromium, *options, target, page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)


_SERVED = {
    "serve-weight": ("light", "weight"),
    "serve-table": ("dark", "table?table=stateful.keyed_state&sort=last_id&order=desc"),
}
"""Picture -> theme, and the view of a page of ``savepoint serve``."""


def served_picture(name: str) -> None:
    """A page of ``savepoint serve``."""
    chromium = which("chromium") or which("google-chrome")
    if chromium is None:
        raise SystemExit("pictures of pages need Chromium: apt-get install chromium")
    theme, view = _SERVED[name]
    sample = "states-2.2.1-rocksdb-native"
    command = [_program(), "serve", f"{_SAMPLES}/{sample}"]
    with (
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server,
        launched(chromium) as browser,
    ):
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        shown = browser.new_page(color_scheme=theme, viewport={"width": 1160, "height": 620})  # type: ignore[arg-type]  # a literal
        shown.goto(address)
        shown.goto(f"{address}{sample}/{view}")
        shown.screenshot(path=PICTURES / f"{name}.png")
        server.terminate()


def _program() -> str:
    """The command line beside this Python."""
    return str(Path(sys.executable).with_name("savepoint"))


_OTHERS: dict[str, Callable[[], None]] = {
    "diff": diff_picture,
    "browse": browse_picture,
    "report": report_picture,
    **{name: partial(served_picture, name) for name in _SERVED},
}


def take(name: str) -> None:
    """Takes one picture."""
    if name in SCREENS:
        picture = screen_picture(SCREENS[name])
        (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")
    else:
        _OTHERS[name]()


if __name__ == "__main__":
    for wanted in sys.argv[1:] or (*SCREENS, *_OTHERS):
        take(wanted)
