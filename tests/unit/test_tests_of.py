"""Each module has tests, and its name finds them."""

from __future__ import annotations

import pytest
from support.tests_of import ROOT, files_of, product_modules

# The tests of the command line begin it as a program, in a text.
ENTRY = "savepoint_cli.start"


@pytest.mark.usefixtures("slow")
def test_each_module_has_tests() -> None:
    modules = [name for name, path in product_modules().items() if path.stem != "__init__"]
    modules.remove(ENTRY)
    assert [name for name in modules if not files_of(name)] == []


@pytest.mark.usefixtures("slow")
def test_the_end_of_a_name_finds_the_files_that_import_the_module() -> None:
    tests = files_of("key_groups.ranges")
    assert ROOT / "tests/unit/formats/key_groups/test_ranges.py" in tests
    assert tests == files_of("savepoint_formats.key_groups.ranges")


def test_a_name_of_no_module_or_of_several_is_an_error() -> None:
    with pytest.raises(ValueError, match="names 0 modules: none"):
        files_of("nowhere")
    with pytest.raises(ValueError, match=r"names 2 modules: .*\.hash_codes, .*\.hash_codes"):
        files_of("hash_codes")
