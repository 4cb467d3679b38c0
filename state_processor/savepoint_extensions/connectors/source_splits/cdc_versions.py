"""State of change data capture in the versions of another release.

Splits and enumerator change together: the table of versions says which release writes both. What an older
version has no room for is refused, and so are finished snapshots between releases before 3.1 of
``flink-cdc-base`` and later ones, because they name a class that is called otherwise.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from savepoint_extensions.connectors.source_splits.cdc_enumerator import CdcEnumerator
from savepoint_extensions.connectors.source_splits.cdc_splits import (
    CdcForm,
    StreamSplit,
    read_split,
    split_bytes,
)
from savepoint_extensions.connectors.version_table import PARTS
from savepoint_formats.errors import RefusedError

if TYPE_CHECKING:
    from savepoint_extensions.connectors.source_splits.cdc_changes import CdcSource
    from savepoint_extensions.connectors.source_splits.cdc_splits import CdcSplit

_ASSUMED = frozenset(["is_completed"])
"""What releases that have it take for false where an older one has left it out."""
_RENAMED = 6
"""The first version of enumerators whose releases call the class otherwise."""


def as_version(source: CdcSource, version: int) -> CdcSource:
    """The source with its enumerator in another version, and its splits in the one that goes with it.

    Raises ``RefusedError`` if no release writes the version, or it has no room for the state.
    """
    enumerator = source.enumerator
    if enumerator is None:
        raise RefusedError("the source has no enumerator, whose version tells that of its splits")
    form = CdcForm(enumerator.form.is_base, _splits_of(enumerator.form.is_base, version))
    is_renamed = (enumerator.version < _RENAMED) != (version < _RENAMED)
    if form.is_base and is_renamed and any(map(_names_a_class, source.splits)):
        raise RefusedError(
            "finished snapshots name a class, which releases before 3.1 call otherwise: begin the new source"
            " at the position of the stream (savepoint sources shows it)"
        )
    changed = replace(enumerator, version=version, form=form)
    again = CdcEnumerator.of(changed.to_versioned(), "enumerator", is_base=form.is_base)
    _expect_same(enumerator.snapshots, again.snapshots, f"version {version} of enumerators")
    splits = tuple(known and (form, _in_form(known[1], form)) for known in source.splits)
    return replace(source, splits=splits, enumerator=changed)


def _splits_of(is_base: bool, version: int) -> int:
    """The version of splits that goes with one of enumerators."""
    connector = "postgres-cdc" if is_base else "mysql-cdc"
    parts = {row.part: row for row in PARTS if row.connector == connector}
    known = {row.writes: row.first for row in parts["enumerator"].versions}
    if version not in known:
        versions = ", ".join(map(str, known))
        raise RefusedError(f"no release writes version {version} of enumerators, only {versions}")
    splits = parts["splits"].of_release(known[version])
    assert splits is not None  # both tables have the same releases
    return splits.writes


def _names_a_class(known: tuple[CdcForm, CdcSplit] | None) -> bool:
    return known is not None and isinstance(known[1], StreamSplit) and bool(known[1].finished)


def _in_form(split: CdcSplit, form: CdcForm) -> CdcSplit:
    again = read_split(split_bytes(split, form), form, "split")
    _expect_same(split, again, f"version {form.version} of splits")
    return split


def _expect_same(before: Any, after: Any, where: str) -> None:
    if before is None or after is None:
        return
    lost = [
        field.name
        for field in fields(before)
        # A bool that is left out is false.
        if field.name not in _ASSUMED
        and (getattr(before, field.name) or None) != (getattr(after, field.name) or None)
    ]
    if lost:
        raise RefusedError(f"{where} has no room for {', '.join(lost)}")
