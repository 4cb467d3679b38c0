"""A slow module is imported with the first of its names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from savepoint_formats.lazy_modules import LazyModule


def test_a_module_is_imported_when_a_name_of_it_is_used() -> None:
    program = (
        "import sys; from savepoint_formats.lazy_modules import LazyModule;"
        "colors = LazyModule('colorsys'); assert 'colorsys' not in sys.modules;"
        "print(colors.rgb_to_hsv(0, 0, 1)[2], 'colorsys' in sys.modules, end='')"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert run.stdout == "1 True"


def test_a_name_that_the_module_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = LazyModule("colorsys").nothing
