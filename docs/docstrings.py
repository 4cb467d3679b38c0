"""How the site shows docstrings: as the Markdown that they nearly are.

Docstrings keep the forms that ``help()`` shows well: a section ``Example``, and ``::`` before a
picture in text. To the site's reader of docstrings these are other things. It is also told where a
class is imported from.
"""

from __future__ import annotations

from typing import Any

import griffe

import state_processor

# The page of errors says it once for all of them.
_SAID_BY_THE_PAGE = {"savepoint_formats.errors", "savepoint_formats.savepoint_warnings"}


class MarkdownDocstrings(griffe.Extension):
    """Gives the reader of docstrings what it knows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with each module, class, function and attribute."""
        if obj.docstring is None:
            return
        text = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
        text = text.replace("\n::\n", "\n").replace("::\n\n", ":\n\n")
        obj.docstring.value = f"{_import_of(obj)}{text}"


def _import_of(shown: griffe.Object) -> str:
    """The line that imports a class or function of a module, where a page does not say it."""
    place = shown.parent
    is_imported = (shown.is_class or shown.is_function) and place is not None and place.is_module
    if not is_imported or place is None or place.path in _SAID_BY_THE_PAGE or shown.is_private:
        return ""
    source = "state_processor" if shown.name in state_processor.__all__ else place.path
    return f"`from {source} import {shown.name}`\n\n"
