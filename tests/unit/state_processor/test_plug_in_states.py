"""The example of a plug-in at work: on a savepoint of a real Flink, by the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import lines, run
from support.hand_made import (
    LONG,
    STRING,
    canonical_base,
    encoded,
    group_of,
    header,
    heap_base,
    meta_info,
    savepoint_of,
    snapshot,
    timers_of,
)
from support.plug_ins import EXAMPLE, OWNER, example_in, on_path

from savepoint_cli.command_table import plug_in_commands
from savepoint_formats.layout import Long, Text
from state_processor.plug_in_states import PlugInState, plug_in_states

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRICES = EXAMPLE / "savepoint"
TABLE = "prices.keyed_state"
SHOP = "shop."


@pytest.fixture(autouse=True)
def _on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAVEPOINT_PLUGINS", raising=False)


@pytest.fixture
def example(tmp_path: Path) -> Iterator[None]:
    with on_path(example_in(tmp_path / "plug-in")):
        yield


def answers(path: Path, query: str) -> list[dict[str, Any]]:
    """The rows of a query."""
    code, text = run("query", path, query, "--output", "json")
    assert code == 0, text
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.mark.usefixtures("example")
class TestTheExample:
    def test_keys_and_values_have_columns(self) -> None:
        types = {row["column"]: row["type"] for row in lines("schema", PRICES, TABLE)}
        assert types["key"] == "STRUCT<supplier: BIGINT, number: STRING>"
        assert types["price"].startswith("STRUCT<amount: DECIMAL(18, 2), currency: STRING, ")
        assert types["span"].startswith("STRUCT<low: STRUCT<amount: DECIMAL(18, 2)")

    def test_a_key_is_looked_up_by_its_fields(self) -> None:
        key = '{"supplier": 0, "number": "no 7"}'
        (row,) = lines("show", PRICES, TABLE, "--key", key)
        assert row["price"] == {"amount": "56.89", "currency": "EUR", "$undecoded": None}
        assert row["order"]["price"]["amount"] == "56.94"

    def test_amounts_are_added_up_by_sql(self) -> None:
        query = f"SELECT count(*) AS n, sum(price.amount) AS total FROM {TABLE}"
        assert answers(PRICES, query) == [{"n": 40, "total": "2832.25"}]

    def test_it_is_whole(self) -> None:
        code, text = run("verify", PRICES)
        assert (code, "not read" in text) == (0, False)
        assert "computes its own hash code, so key groups of its keys can't be checked" in text
        assert "give a function" not in text

    def test_the_job_decides_whether_another_release_restores_it(self) -> None:
        _, text = run("doctor", PRICES, "--target", "2.1", "--output", "json")
        assert '"rule": "unknown-serializer"' in text
        assert "shop.MoneySerializer" in text

    def test_its_command_runs(self) -> None:
        assert run("prices", PRICES) == (0, "5 columns hold amounts\n")

    def test_its_change_is_made_by_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "changes.yaml"
        file.write_text("- forget-prices: {operator: prices}")
        code, text = run("apply", PRICES, file, tmp_path / "out")
        assert (code, "has no operator" in text) == (0, False), text
        assert {row["table"].partition(".")[0] for row in lines("list", tmp_path / "out")} == {
            "numbers"
        }

    def test_a_value_that_its_codec_refuses_is_bytes_with_the_plug_in(self, tmp_path: Path) -> None:
        data = (PRICES / "_metadata").read_bytes()
        (tmp_path / "damaged").mkdir()
        (tmp_path / "damaged" / "_metadata").write_bytes(
            data.replace(b"\x02\x16\x39EUR", b"\x02\x16\x39eur")
        )
        query = f"SELECT price.`$undecoded`.reason AS why FROM {TABLE} WHERE price.currency IS NULL"
        reason = (
            f"shop.MoneySerializer$MoneySerializerSnapshot (plug-in {OWNER}): its codec failed:"
            " ValueError: 'eur' is no currency"
        )
        assert {row["why"] for row in answers(tmp_path / "damaged", query)} == {reason}
        code, text = run("verify", tmp_path / "damaged")
        assert (code, reason in text) == (3, True)


def test_without_it_values_are_bytes_with_the_class() -> None:
    rows = lines("schema", PRICES, TABLE)
    notes = {row["column"]: row["notes"] for row in rows}
    assert notes["price"] == [
        "shop.MoneySerializer$MoneySerializerSnapshot: its class is not known"
    ]


def test_each_state_names_its_package(tmp_path: Path) -> None:
    with on_path(example_in(tmp_path)):
        states = plug_in_states(plug_in_commands())
    assert PlugInState("savepoint.connectors", "shop", "shop-savepoint", "1.2", "works") in states


@pytest.mark.usefixtures("slow")
def test_a_package_that_pip_installs_is_there(tmp_path: Path) -> None:
    source = shutil.copytree(
        EXAMPLE, tmp_path / "source", ignore=shutil.ignore_patterns("savepoint")
    )
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(tmp_path / "target"), str(source)], check=True)
    program = "from savepoint_cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "plugins", "--output", "json"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "target")},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["state"] for row in rows if row["distribution"] == "shop-savepoint"] == [
        "works"
    ] * 4


def test_a_class_of_two_packages_is_bytes_with_both_names(tmp_path: Path) -> None:
    first = example_in(tmp_path / "1")
    second = example_in(tmp_path / "2")
    (described,) = second.glob("*.dist-info")
    metadata = described / "METADATA"
    metadata.write_text(metadata.read_text().replace("shop-savepoint", "other-savepoint"))
    described.rename(second / "other_savepoint-1.2.dist-info")
    with on_path(first, second):
        code, text = run("schema", PRICES, TABLE)
    assert code == 0
    assert "is registered by other-savepoint 1.2 and by shop-savepoint 1.2" in text


MONEY = b"\x02\x04\xe2EUR"
SKU = b"\0\0\0\0\0\0\0\7\0\4no 7"
NAMESPACES: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "money": (f"{SHOP}MoneySerializer$MoneySerializerSnapshot", MONEY, {"currency": "EUR"}),
    "sku": (f"{SHOP}SkuSerializer$SkuSerializerSnapshot", SKU, {"supplier": 7, "number": "no 7"}),
}


def with_namespaces(folder: Path, kind: str, data: bytes, *, is_heap: bool) -> Path:
    """A savepoint with a value and a timer of one key, in a namespace of this kind and these bytes."""
    namespace = snapshot(NAMESPACES[kind][0])
    info = meta_info("total", "VALUE", LONG, namespace)
    head = header(info, meta_info("_timer_state/event_t", "TIMERS", timers_of(STRING, namespace)))
    key, number, group = encoded(Text(), "ada"), encoded(Long(), 42), group_of("ada")
    time = (77 ^ (1 << 63)).to_bytes(8)
    if is_heap:
        stored = [(group, 0, data + key + number), (group, 1, time + key + data)]
        base = replace(heap_base(head, 2, stored), handle_id="base")
    else:
        # Neither the key nor the namespace says where it ends, so Flink adds their sizes.
        identity = b"".join(part + bytes([len(part)]) for part in (key, data))
        entries = [(group, 0, identity, number), (group, 1, time + key + data, b"")]
        base = canonical_base(head, entries)
    folder.mkdir()
    savepoint_of(base, folder)
    return folder


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize("is_heap", [False, True], ids=["canonical", "heap"])
@pytest.mark.parametrize("kind", NAMESPACES)
def test_namespaces_and_timers_have_columns(kind: str, is_heap: bool, tmp_path: Path) -> None:
    _, data, fields = NAMESPACES[kind]
    path = with_namespaces(tmp_path / "savepoint", kind, data, is_heap=is_heap)
    (row,) = lines("show", path, "a.window_state", "--uid", "a")
    (timer,) = lines("show", path, "a.timers", "--uid", "a")
    assert (row["key"], row["total"]) == ("ada", 42)
    assert (timer["key"], timer["timestamp"]) == ("ada", "1970-01-01 00:00:00.077000Z")
    for namespace in (row["namespace"], timer["namespace"]):
        assert fields.items() <= namespace.items()
    assert run("verify", path, "--uid", "a")[0] == 0
    assert run("diff", path, path, "--uid", "a")[0] == 0
    (found,) = lines("find", path, list(fields.values())[-1], "--uid", "a")
    assert {f"namespace.{list(fields)[-1]}"} <= {place["field"] for place in found["places"]}


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize("is_heap", [False, True], ids=["canonical", "heap"])
def test_a_namespace_that_its_codec_refuses_is_named(is_heap: bool, tmp_path: Path) -> None:
    path = with_namespaces(tmp_path / "savepoint", "money", b"\x02\x04\xe2eur", is_heap=is_heap)
    code, text = run("verify", path, "--uid", "a")
    assert code in (1, 3), text
    assert "'eur' is no currency" in text
    for table in ("a.window_state", "a.timers"):
        assert "'eur' is no currency" in run("show", path, table, "--uid", "a")[1]


@pytest.mark.parametrize("is_heap", [False, True], ids=["canonical", "heap"])
def test_without_it_namespaces_are_bytes_or_an_error(is_heap: bool, tmp_path: Path) -> None:
    path = with_namespaces(tmp_path / "savepoint", "sku", SKU, is_heap=is_heap)
    code, text = run("verify", path, "--uid", "a")
    assert (code, "shop.SkuSerializer$SkuSerializerSnapshot" in text) == (3, True), text
