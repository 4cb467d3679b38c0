"""An operator that is overwritten after its states were changed."""

from __future__ import annotations

import pytest
from support.sample_rows import Sample

from savepoint_formats.errors import OperatorExistsError

SAMPLE = Sample("currency-1.20.5-hashmap-canonical")


def test_the_change_is_not_lost() -> None:
    writer = SAMPLE.open().writer().remove_state("summarize", "count")
    with pytest.raises(OperatorExistsError, match="summarize was changed before, which would be"):
        writer.with_operator("summarize")


@pytest.mark.parametrize("change", ["none", "rescaled", "renamed", "of another operator"])
def test_one_that_was_not_changed_may_be(change: str) -> None:
    writer, uid = SAMPLE.open().writer(), "summarize"
    if change == "rescaled":
        writer = writer.rescale(parallelism=1, max_parallelism=64)
    elif change == "renamed":
        writer, uid = writer.rename_operator("summarize", "totals"), "totals"
    elif change == "of another operator":
        writer = writer.remove_state("currency_converter", "rates")
    with pytest.raises(ValueError, match="transformation"):
        writer.with_operator(uid)
