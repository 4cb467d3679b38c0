"""Splits and enumerators of change data capture, in all versions; ``tests/flink`` asks the connectors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.cdc_sources import begun, enumerator, snapshot, stream

from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.source_splits.cdc_enumerator import CdcEnumerator
from savepoint_extensions.connectors.source_splits.cdc_splits import (
    CdcForm,
    plain_table,
    read_cdc_split,
    read_split,
    split_bytes,
)
from savepoint_formats.errors import FormatError, RefusedError, UnsupportedVersionError

FORMS = [CdcForm(False, version) for version in range(2, 5)] + [
    CdcForm(True, version) for version in range(2, 7)
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_splits_there_and_back(form: CdcForm) -> None:
    for split in (
        snapshot("orders", 3, form, None),
        snapshot("orders", 3, form, 17),
        stream(form, 30, {"orders": [10, 20], "payments": [15]}, "factory"),
        stream(form, 30, {}, ""),
    ):
        data = split_bytes(split, form)
        assert read_split(data, form, "split") == split
        if not (form.is_base and form.version < 4 and split == snapshot("orders", 3, form, None)):
            # Without a position, such a split is the same in both forms.
            assert read_cdc_split(Versioned(form.version, data), "split") == (form, split)
        for size in range(0, len(data), 3):
            cut = data[:size]
            try:
                shorter = read_split(cut, form, "split")
            except FormatError:
                continue
            # Some releases of MySQL's version 4 leave the last byte out.
            assert form == CdcForm(False, 4)
            assert split_bytes(shorter, form) == cut


def test_positions_of_version_1() -> None:
    form = CdcForm(False, 1)
    split = replace(stream(form, 0, {}, ""), start='{"file": "bin.000007", "pos": "4"}', end=None)
    data = split_bytes(split, form)
    assert b"\0\nbin.000007\0\0\0\0\0\0\0\4" in data
    assert read_split(data, form, "split") == split
    with pytest.raises(RefusedError, match="nothing but file and pos"):
        split_bytes(replace(split, start='{"file": "a", "pos": "4", "gtids": "b"}'), form)


def test_a_suspended_stream_may_be_left_out_by_mysql() -> None:
    form = CdcForm(False, 4)
    data = split_bytes(stream(form, 30, {}, ""), form)
    split = read_split(data[:-1], form, "split")
    assert split == replace(stream(form, 30, {}, ""), is_suspended=None)
    assert split_bytes(split, form) == data[:-1]


def test_what_is_no_split() -> None:
    form = CdcForm(True, 6)
    with pytest.raises(UnsupportedVersionError, match="a split of version 7"):
        read_split(b"", CdcForm(True, 7), "split")
    with pytest.raises(FormatError, match="a split of kind 3"):
        read_split(b"\0\0\0\3", form, "split")
    data = split_bytes(stream(form, 30, {}, ""), form).replace(b'{"lsn":"30"', b'{"lsn":["a"')
    with pytest.raises(FormatError, match="no JSON of texts"):
        read_split(data, form, "split")
    with pytest.raises(FormatError, match="no split of change data capture"):
        read_cdc_split(Versioned(6, b"abc"), "split")


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_enumerators_there_and_back(form: CdcForm) -> None:
    for version in range(1, 9 if form.is_base else 6):
        for state in (
            enumerator(version, form, {"orders": [10, 20], "payments": [15]}),
            begun(version, form),
            replace(begun(version, form), is_streamed=None),
            CdcEnumerator(version, form, None, True),
        ):
            versioned = state.to_versioned()
            assert CdcEnumerator.of(versioned, "enumerator", is_base=form.is_base) == state
            if state.snapshots is not None:
                assert CdcEnumerator.of_either(versioned, "enumerator") == state
            for size in range(0, len(versioned.data), 41):
                cut = Versioned(version, versioned.data[:size])
                with pytest.raises(FormatError):
                    CdcEnumerator.of(cut, "enumerator", is_base=form.is_base)


def test_what_is_no_enumerator() -> None:
    state = begun(5, CdcForm(False, 4)).to_versioned()
    with pytest.raises(UnsupportedVersionError, match="an enumerator of version 6"):
        CdcEnumerator.of(replace(state, version=6), "enumerator", is_base=False)
    with pytest.raises(FormatError, match="an enumerator of kind 9"):
        CdcEnumerator.of(Versioned(5, b"\0\0\0\4\0\0\0\x09"), "enumerator", is_base=False)


def test_names_of_tables() -> None:
    for text in ("shop.orders", "`shop`.`orders`", '"shop"."orders"', '"shop".orders'):
        assert plain_table(text) == "shop.orders"
    assert plain_table("`a.b`.`c``d`") == "a.b.c``d"
