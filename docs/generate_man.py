"""Writes the manual pages and shell completions of the commands: ``python docs/generate_man.py build/share``.

A wheel that is built afterwards installs what lies in ``build/share``, where ``man`` and shells look for it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from click.shell_completion import get_completion_class
from click_man.core import write_man_pages

from savepoint_cli.main import main
from state_processor import __version__

COMPLETIONS = {
    "bash": "bash-completion/completions/savepoint",
    "zsh": "zsh/site-functions/_savepoint",
    "fish": "fish/vendor_completions.d/savepoint.fish",
}
"""Shell -> the file below ``share`` that it reads."""

EXAMPLES = re.compile(r"\x08\n((?:[^.\n].*\n)+)")
"""Lines of examples, which click marks by a backspace; they are not folded."""


def write_all(share: Path) -> None:
    """Writes a page per command, and a file per shell."""
    pages = share / "man" / "man1"
    pages.mkdir(parents=True, exist_ok=True)
    write_man_pages("savepoint", main, version=__version__, target_dir=str(pages))
    for page in pages.iterdir():
        text = page.read_text(encoding="utf-8")
        page.write_text(EXAMPLES.sub(r".nf\n\1.fi\n", text), encoding="utf-8")
    for shell, name in COMPLETIONS.items():
        kind = get_completion_class(shell)
        assert kind is not None, shell
        file = share / name
        file.parent.mkdir(parents=True, exist_ok=True)
        source = kind(main, {}, "savepoint", "_SAVEPOINT_COMPLETE").source()
        file.write_text(source, encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
