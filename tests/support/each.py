"""A test over hundreds of small values as one test: pytest spends more on a test than such a value does."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def each(
    names: str | Sequence[str],
    values: Iterable[Any],
    ids: Callable[[Any], Any] | Sequence[str] = str,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like ``pytest.mark.parametrize``, but one test runs all values and shows every failure.

    Fixtures of a function, such as ``tmp_path``, would be shared by all values.
    """
    rows = list(values)
    arguments = (names,) if isinstance(names, str) else tuple(names)
    called = [ids(row) for row in rows] if callable(ids) else ids

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def all_of_them(**fixtures: Any) -> None:
            failures, skips = [], []
            for name, row in zip(called, rows, strict=True):
                parts = (row,) if isinstance(names, str) else row
                try:
                    test(**fixtures, **dict(zip(arguments, parts, strict=True)))
                except pytest.skip.Exception as skip:
                    skips.append(skip)
                except (Exception, pytest.fail.Exception) as failure:
                    failure.add_note(f"with {name}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} values fail", failures)
            if len(skips) == len(rows):
                pytest.skip(str(skips[0]) if skips else "there are no values")

        signature = inspect.signature(test)
        fixtures = [one for name, one in signature.parameters.items() if name not in arguments]
        vars(all_of_them)["__signature__"] = signature.replace(parameters=fixtures)
        return all_of_them

    return decorated
