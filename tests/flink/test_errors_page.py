"""Each text of the page of errors is in the named class, in three releases of Flink; Flink prints some."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import cycle, product
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from flink_home import FlinkHome
from support.flink_restore import RELEASES, Elements, KeyedState, RestoreError
from support.sample_operators import BUFFER, CURRENCY_CONVERTER, SUMMARIZE
from support.sample_rows import SAMPLES
from support.slow_cases import nightly_unless

if TYPE_CHECKING:
    from support.flink_restore import FlinkRestore, Operator

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
_ROW = re.compile(r"^\| `([^`]+)` \|.*\| `([A-Za-z0-9$]+)` \|$", re.MULTILINE)
_GAP = "…"
ROWS = _ROW.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=["1.20.5", "2.2.1", "2.3.0"])
def classes(request: pytest.FixtureRequest) -> dict[str, list[bytes]]:
    """The bytes of all classes that the page names, by their names without a package."""
    home = FlinkHome.cached(request.param)
    home.install()
    wanted = {name for _, name in ROWS}
    contents: dict[str, list[bytes]] = {name: [] for name in wanted}
    (jar,) = (path for path in home.jars if path.name.startswith("flink-dist"))
    with ZipFile(jar) as archive:
        for entry in archive.namelist():
            name = entry.rpartition("/")[2].removesuffix(".class")
            if name in wanted:
                contents[name].append(archive.read(entry))
    return contents


def test_each_text_is_in_its_class(classes: dict[str, list[bytes]]) -> None:
    missing = [
        (text, name)
        for text, name in ROWS
        if not any(
            all(part.strip().encode() in content for part in text.split(_GAP))
            for content in classes[name]
        )
    ]
    assert missing == []


def test_there_are_at_least_twenty() -> None:
    assert len({text for text, _ in ROWS}) == len(ROWS) > 25


def summarize(key: str, state: KeyedState) -> list[Operator]:
    return [replace(SUMMARIZE, key=key, states=(state,)), CURRENCY_CONVERTER]


def elements(operator: Operator, *lists: Elements) -> list[Operator]:
    return [replace(operator, elements=lists)]


CURRENCY, STATES = "currency-{}-hashmap-canonical", "states-{}-hashmap-canonical"
TOTAL = KeyedState.value("total", "DOUBLE")
STRICT = {"execution.state-recovery.ignore-unclaimed-state": "false"}

PRINTED: dict[str, tuple[str, list[Operator], dict[str, str]]] = {
    "Cannot map checkpoint/savepoint state for operator …": (CURRENCY, [SUMMARIZE], STRICT),
    "Max parallelism mismatch between checkpoint/savepoint state and new program": (
        CURRENCY,
        [SUMMARIZE, CURRENCY_CONVERTER],
        {"pipeline.max-parallelism": "77"},
    ),
    "must not be incompatible with the old state serializer (": (
        CURRENCY,
        summarize("INT", KeyedState.value("total", "STRING")),
        {},
    ),
    "The new key serializer (": (CURRENCY, summarize("STRING", TOTAL), {}),
    "Incompatible key/value state types. Was [": (
        CURRENCY,
        summarize("INT", KeyedState.list("total", "DOUBLE")),
        {},
    ),
    "The new key typeSerializer for broadcast state must not be incompatible": (
        CURRENCY,
        elements(CURRENCY_CONVERTER, Elements("rates", "broadcast", ("LONG", "DOUBLE"))),
        {},
    ),
    "The new state typeSerializer for operator state must not be incompatible": (
        STATES,
        elements(BUFFER, Elements("elements", "list", ("LONG",))),
        {},
    ),
    "Incompatible state assignment modes. Was [": (
        STATES,
        elements(BUFFER, Elements("elements", "union", ("STRING",))),
        {},
    ),
}


@pytest.mark.parametrize(
    ("text", "flink"),
    nightly_unless(
        {*zip(PRINTED, cycle(RELEASES), strict=False)}.__contains__, [*product(PRINTED, RELEASES)]
    ),
)
def test_flink_prints_it(flink_restore: FlinkRestore, text: str, flink: str) -> None:
    sample, operators, config = PRINTED[text]
    assert text in dict(ROWS)
    with pytest.raises(RestoreError) as error:
        flink_restore(
            SAMPLES / sample.format(flink), *operators, flink=flink, config=config, parallelism=1
        )
    assert all(part.strip() in str(error.value) for part in text.split(_GAP))


@pytest.mark.parametrize("flink", ["1.20.5", "2.2.1"])
def test_flink_prints_what_is_wrong_with_files(
    flink_restore: FlinkRestore, tmp_path: Path, flink: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "_metadata").write_bytes(bytes(100))
    texts = {
        "gone": "Cannot find checkpoint or savepoint file/directory",
        "empty": "Cannot find meta data file '_metadata' in directory",
        "damaged": "Unexpected magic number",
    }
    for name, text in texts.items():
        assert text in dict(ROWS)
        with pytest.raises(RestoreError, match=re.escape(text)):
            flink_restore(tmp_path / name, SUMMARIZE, flink=flink)
