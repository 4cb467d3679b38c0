"""Forms of values: a view of a savepoint, and the keywords that it replaces."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from support.each import each
from support.object_samples import opened

from savepoint_database.snapshot.value_forms import DEFAULT_FORMS, FORM_NAMES, ValueForms
from savepoint_formats.scan.read_options import ReadOptions
from state_processor import SparkSavepoint
from state_processor.savepoint.spark_verbs import SparkSavepointDiff
from state_processor.savepoint.writer import SavepointWriter

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = "objects-2.2.1-hashmap-canonical"
TABLE = "payments.keyed_state"
SUBJECTS = (SparkSavepoint, SparkSavepointDiff, SavepointWriter)


def test_a_view_changes_what_it_names_and_nothing_else() -> None:
    savepoint = opened(SAMPLE)
    shown = savepoint.with_forms(undescribed_subclasses="bytes")
    assert savepoint.forms == DEFAULT_FORMS
    assert shown.forms == ValueForms("refuse", "bytes")
    assert shown.with_forms(nanoseconds="text").forms == ValueForms("text", "bytes")
    assert shown.writer().forms == shown.forms
    assert shown.writer().with_forms(undescribed_subclasses="rest").forms == ValueForms(
        "refuse", "rest"
    )
    assert shown.scan(TABLE).options.undescribed_subclasses == "bytes"
    assert shown.forms.options() == {"nanoseconds": "refuse", "undescribed_subclasses": "bytes"}


@each("form", [{"nanoseconds": "round"}, {"undescribed_subclasses": "null"}])
def test_unknown_forms_are_refused(form: dict[str, Any]) -> None:
    (name,) = form
    with pytest.raises(ValueError, match=name):
        opened(SAMPLE).with_forms(**form)


def test_old_keywords_read_as_the_view_does_and_warn() -> None:
    savepoint = opened(SAMPLE)
    scan: Callable[..., Any] = savepoint.scan
    with pytest.warns(DeprecationWarning, match=r"with_forms\(undescribed_subclasses='bytes'\)"):
        old = scan(TABLE, columns=["key"], undescribed_subclasses="bytes")
    shown = savepoint.with_forms(undescribed_subclasses="bytes").scan(TABLE, columns=["key"])
    assert old.options == shown.options
    assert old.to_arrow() == shown.to_arrow()


def test_no_method_has_a_form_of_its_own() -> None:
    """All methods that read take the forms of their subject; ``with_forms`` alone has them as keywords."""
    takes = {
        f"{subject.__name__}.{name}"
        for subject in SUBJECTS
        for name, method in inspect.getmembers(subject, inspect.isfunction)
        if not name.startswith("_") and set(FORM_NAMES) & set(inspect.signature(method).parameters)
    }
    assert takes == {f"{subject.__name__}.with_forms" for subject in SUBJECTS}


def test_each_form_is_an_option_of_a_read() -> None:
    options = ReadOptions(**ValueForms("text", "rest").options())
    assert (options.nanoseconds, options.undescribed_subclasses) == ("text", "rest")
