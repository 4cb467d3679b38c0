"""The example of a plug-in at work: on a savepoint of a real Flink, by the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import lines, run
from support.plug_ins import EXAMPLE, OWNER, example_in, on_path

from savepoint_cli.command_table import plug_in_commands
from state_processor.plug_in_states import PlugInState, plug_in_states

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRICES = EXAMPLE / "savepoint"
TABLE = "prices.keyed_state"


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
