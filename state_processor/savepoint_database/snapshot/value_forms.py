"""Forms of values that have no exact column: times with nanoseconds, and POJOs of unknown subclasses."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Concatenate, Protocol, Self, TypeVar

from savepoint_formats.scan import checked_subclasses
from savepoint_formats.values import checked_nanoseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import ParamSpec

    from savepoint_formats.scan import UndescribedSubclasses
    from savepoint_formats.values import Nanoseconds

    Arguments = ParamSpec("Arguments")
    Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ValueForms:
    """The forms in which reads and expressions see such values; each is an error by default.

    Attributes:
        nanoseconds: The form of times with digits below microseconds; see ``Snapshot.with_forms``.
        undescribed_subclasses: The form of POJOs whose subclass no snapshot describes.
    """

    nanoseconds: Nanoseconds = "refuse"
    undescribed_subclasses: UndescribedSubclasses = "refuse"

    def __post_init__(self) -> None:
        checked_nanoseconds(self.nanoseconds)
        checked_subclasses(self.undescribed_subclasses)

    def changed(self, **forms: str | None) -> Self:
        """Other forms where they are not None; raises ``ValueError`` for an unknown one."""
        wanted: dict[str, Any] = {name: form for name, form in forms.items() if form is not None}
        return replace(self, **wanted)

    def options(self) -> dict[str, Any]:
        """The forms as keywords of ``ReadOptions``."""
        return {name: getattr(self, name) for name in FORM_NAMES}

    def beside(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a read, its ``locals()``, with the forms."""
        return {**arguments, **self.options()}


DEFAULT_FORMS = ValueForms()

FORM_NAMES = tuple(field.name for field in fields(ValueForms))


class HasForms(Protocol):
    """A savepoint, or a writer of one, as ``with_old_keywords`` needs it."""

    def with_forms(self, *, nanoseconds: Any = None, undescribed_subclasses: Any = None) -> Self:
        """See ``Snapshot.with_forms``."""


Subject = TypeVar("Subject", bound=HasForms)


def with_old_keywords(
    method: Callable[Concatenate[Subject, Arguments], Result],
) -> Callable[Concatenate[Subject, Arguments], Result]:
    """A method that still takes forms as keywords, with a ``DeprecationWarning``."""

    @functools.wraps(method)
    def called(
        subject: Subject, /, *arguments: Arguments.args, **options: Arguments.kwargs
    ) -> Result:
        given: dict[str, Any] = {name: options.pop(name) for name in FORM_NAMES if name in options}
        if given:
            forms = ", ".join(f"{name}={form!r}" for name, form in given.items())
            warnings.warn(
                f"{method.__name__}(…, {forms}) is deprecated: call with_forms({forms}).{method.__name__}(…)",
                DeprecationWarning,
                stacklevel=2,
            )
            subject = subject.with_forms(**given)
        return method(subject, *arguments, **options)

    return called
