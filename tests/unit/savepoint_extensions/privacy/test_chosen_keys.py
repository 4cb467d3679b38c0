from __future__ import annotations

import pytest
from support.sample_rows import Sample

from savepoint_extensions.privacy.chosen_keys import limits_of, listed_keys
from savepoint_formats.errors import KeyTypeError


def test_keys_are_listed_as_they_are_stored() -> None:
    operator = Sample("states-2.2.1-hashmap-canonical").open().operator("stateful")
    listed = listed_keys(operator, ["customer-005", "", "customer-005"], is_excluded=True)
    assert len(listed.keys) == 2
    tuples = Sample("windows-2.2.1-hashmap-canonical").open().operator("count_window")
    assert len(listed_keys(tuples, ['{"f0": 1, "f1": 2}', "[]"], is_excluded=False).keys) == 1


def test_keys_of_another_type_are_refused() -> None:
    operator = Sample("currency-2.2.1-hashmap-canonical").open().operator("summarize")
    with pytest.raises(KeyTypeError, match="not a key of type int32"):
        listed_keys(operator, ["customer-005"], is_excluded=True)


def test_limits_are_behind_the_lowest_hashes() -> None:
    most = (1 << 64) - 1
    found = [{1: [3, 9], 2: [most]}, {1: [3, 5]}, {3: [7]}]
    assert limits_of(found, 2) == {1: 6, 2: most, 3: 8}
