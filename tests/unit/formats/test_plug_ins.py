from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.plug_ins import OWNER, example_in, on_path, package_in

from savepoint_formats.plug_ins import (
    GROUPS,
    SERIALIZERS,
    Loaded,
    installed,
    loaded,
    switch_off,
    warn_of,
)
from savepoint_formats.savepoint_warnings import PlugInWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.plug_ins import PlugIn


def rows_of(_plug_in: PlugIn, entry: Any) -> Iterator[tuple[str, Any]]:
    yield from entry.items()


def load(*own: str) -> Loaded:
    return loaded(SERIALIZERS, rows_of, own.__contains__)


def texts(plug_ins: Loaded) -> list[str]:
    return [f"{plug_in}: {problem}" for plug_in, problem in plug_ins.problems]


def plain(folder: Path, name: str, text: str) -> Path:
    module = name.replace("-", "_")
    return package_in(folder, name, {SERIALIZERS: {"rows": f"{module}:ROWS"}}, **{module: text})


@pytest.fixture(autouse=True)
def _on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAVEPOINT_PLUGINS", raising=False)


def test_each_group_of_an_installed_package_is_listed_with_its_version(tmp_path: Path) -> None:
    with on_path(example_in(tmp_path)):
        listed = {
            (str(plug_in), plug_in.group, plug_in.name) for g in GROUPS for plug_in in installed(g)
        }
    assert listed >= {
        (OWNER, "savepoint.serializers", "shop"),
        (OWNER, "savepoint.connectors", "shop"),
        (OWNER, "savepoint.commands", "prices"),
    }


def test_rows_belong_to_their_plug_in(tmp_path: Path) -> None:
    with on_path(plain(tmp_path, "acme-rows", "ROWS = {'a.B': 7}")):
        rows = load().rows
    assert {name: (row.value, str(row.plug_in)) for name, row in rows.items()} == {
        "a.B": (7, "acme-rows 1.0")
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("ROWS = 7", "AttributeError: 'int' object has no attribute 'items'"),
        ("", "AttributeError: module 'acme_rows' has no attribute 'ROWS'"),
    ],
    ids=["import", "exit", "no mapping", "no name"],
)
def test_a_plug_in_that_fails_takes_no_other_along(text: str, problem: str, tmp_path: Path) -> None:
    whole = plain(tmp_path / "whole", "shop-rows", "ROWS = {'a.B': 7}")
    broken = plain(tmp_path / "broken", "acme-rows", text)
    with on_path(broken, whole):
        known = load()
    assert list(known.rows) == ["a.B"]
    assert texts(known) == [f"acme-rows 1.0: {problem}"]


def test_a_name_of_two_plug_ins_is_refused_with_both(tmp_path: Path) -> None:
    first = plain(tmp_path / "1", "acme-rows", "ROWS = {'a.B': 1, 'a.C': 2}")
    second = plain(tmp_path / "2", "shop-rows", "ROWS = {'a.B': 3}")
    reason = "a.B is registered by acme-rows 1.0 and by shop-rows 1.0"
    with on_path(first, second):
        known = load()
    assert list(known.rows) == ["a.C"]
    assert known.refused == {"a.B": reason}
    assert texts(known) == [f"acme-rows 1.0: {reason}", f"shop-rows 1.0: {reason}"]


def test_a_name_of_this_package_is_refused_with_both(tmp_path: Path) -> None:
    with on_path(plain(tmp_path, "acme-rows", "ROWS = {'a.B': 1}")):
        known = load("a.B")
    assert known.rows == {}
    assert known.refused == {
        "a.B": "a.B is registered by savepoint-state-processor itself and by acme-rows 1.0"
    }


def test_each_problem_is_one_line_of_warning(tmp_path: Path) -> None:
    with on_path(plain(tmp_path, "acme-rows", "raise ValueError('two\\nlines')")):
        known = load()
    with pytest.warns(PlugInWarning) as warned:
        warn_of(known)
    assert [str(warning.message) for warning in warned] == [
        "plug-in acme-rows 1.0, rows of savepoint.serializers, is not used, or only in part: ValueError: two lines"
    ]


def test_plug_ins_that_are_off_are_listed_and_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAVEPOINT_PLUGINS", "")
    with on_path(plain(tmp_path, "acme-rows", "raise ValueError('it was imported')")):
        switch_off()
        known = load()
        names = {str(plug_in) for plug_in in installed(SERIALIZERS)}
    assert known == Loaded({}, {}, ())
    assert "acme-rows 1.0" in names


@pytest.mark.parametrize("place", ["", "."])
def test_a_package_in_the_current_directory_is_none(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plain(tmp_path, "acme-rows", "raise ValueError('it was imported')"))
    with on_path(Path(place)) if place else on_path(tmp_path):
        assert "acme-rows 1.0" not in map(str, installed(SERIALIZERS))
        assert load() == Loaded({}, {}, ())


def test_a_package_in_the_current_directory_is_one_if_pythonpath_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plain(tmp_path, "acme-rows", "ROWS = {'a.B': 7}"))
    monkeypatch.setenv("PYTHONPATH", ".")
    with on_path(tmp_path):
        assert list(load().rows) == ["a.B"]
