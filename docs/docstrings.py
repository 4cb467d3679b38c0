"""How the site shows docstrings: as the Markdown that they nearly are.

Docstrings keep the forms that ``help()`` shows well: a section ``Example``, and ``::`` before a
picture in text. To the site's reader of docstrings these are other things.
"""

from __future__ import annotations

from typing import Any

import griffe


class MarkdownDocstrings(griffe.Extension):
    """Gives the reader of docstrings what it knows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with each module, class, function and attribute."""
        if obj.docstring is None:
            return
        text = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
        obj.docstring.value = text.replace("\n::\n", "\n").replace("::\n\n", ":\n\n")
