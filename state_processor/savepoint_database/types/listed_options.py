"""Signatures that list the options of a read, one by one, for ``help`` and for notebooks.

Methods take them as ``**options``, of a type that mypy and editors know. Python's own help shows no
more of that than its name.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, TypeVar

from savepoint_formats.scan.read_options import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Method = TypeVar("Method", bound=Callable[..., Any])


def lists(
    arguments: type[Any], opening: Callable[..., Any] | None = None
) -> Callable[[Method], Method]:
    """What makes the signature of a method list its options.

    Args:
        arguments: The typed dict that is the type of the options.
        opening: What takes these options by the same names, with their defaults; by default those
            of reads.

    Example:
        >>> @lists(ScanArguments)
        ... def scan(self, table: str, **options: Unpack[ScanArguments]) -> TableScan: ...
    """

    def decorated(method: Method) -> Method:
        signature = inspect.signature(method)
        named = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        listed = signature.replace(parameters=[*named, *_options(arguments, _defaults(opening))])
        vars(method)["__signature__"] = listed
        return method

    return decorated


def _defaults(opening: Callable[..., Any] | None) -> dict[str, Any]:
    if opening is None:
        return {field.name: field.default for field in fields(ReadOptions)}
    parameters = inspect.signature(opening).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def _options(arguments: type[Any], defaults: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    """A parameter for each option, by its name in Python alone."""
    for name, annotation in arguments.__annotations__.items():
        if name != name.lower():
            continue
        default = defaults.get(name)
        yield inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if default is MISSING else default,
            annotation=getattr(annotation, "__forward_arg__", annotation),
        )
