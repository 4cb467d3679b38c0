"""How the site shows docstrings: as the Markdown that they nearly are.

Docstrings keep the forms that ``help()`` shows well: a section ``Example``, and ``::`` before a
picture in text. To the site's reader of docstrings these are other things. Two things are added that
``help()`` has: where a class is imported from, and the options behind ``**options``.
"""

from __future__ import annotations

import inspect
import re
from functools import reduce
from importlib import import_module
from typing import Any

import griffe

import state_processor

# The page of errors says it once for all of them.
_SAID_BY_THE_PAGE = {"savepoint_formats.errors"}


class MarkdownDocstrings(griffe.Extension):
    """Gives the reader of docstrings what it knows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with each module, class, function and attribute."""
        if obj.docstring is None:
            return
        text = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
        text = text.replace("\n::\n", "\n").replace("::\n\n", ":\n\n")
        obj.docstring.value = f"{_import_of(obj)}{text}"

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Called with each function and method, before its signature is shown."""
        if any("Unpack[" in str(parameter.annotation) for parameter in func.parameters):
            func.parameters = griffe.Parameters(*_listed(func))
            if func.docstring is not None:
                func.docstring.value = _with_options_as_text(func.docstring.value)


_OPTIONS = re.compile(r"\n    options: (.*(?:\n {8}.*)*)")


def _with_options_as_text(docstring: str) -> str:
    """The docstring with a paragraph on the options, as they are no argument of that name now."""
    found = _OPTIONS.search(docstring)
    if found is None:
        return docstring
    words = " ".join(found[1].split())
    without = docstring.replace(found[0], "", 1)
    return without.replace("\nArgs:\n", f"\nOptions: {words}\n\nArgs:\n", 1)


def _import_of(shown: griffe.Object) -> str:
    """The line that imports a class or function of a module, where a page does not say it."""
    place = shown.parent
    is_imported = (shown.is_class or shown.is_function) and place is not None and place.is_module
    if not is_imported or place is None or place.path in _SAID_BY_THE_PAGE or shown.is_private:
        return ""
    source = "state_processor" if shown.name in state_processor.__all__ else place.path
    return f"`from {source} import {shown.name}`\n\n"


def _listed(function: griffe.Function) -> list[griffe.Parameter]:
    """The parameters as ``help()`` lists them, those of ``**options`` one by one."""
    path = function.path.removeprefix(function.module.path)[1:].split(".")
    called: Any = reduce(getattr, path, import_module(function.module.path))
    return [
        griffe.Parameter(
            parameter.name,
            annotation=None
            if parameter.annotation is parameter.empty
            else str(parameter.annotation),
            kind=griffe.ParameterKind[parameter.kind.name.lower()],
            default=None if parameter.default is parameter.empty else repr(parameter.default),
        )
        for parameter in inspect.signature(called).parameters.values()
    ]
