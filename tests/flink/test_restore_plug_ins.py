"""A real Flink writes state of serializers that a plug-in knows, and restores what was written back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support import prices_program
from support.flink_restore import RELEASES
from support.nightly import nightly
from support.plug_ins import example_in
from support.prices_jobs import KEYS, PricesJob, run_prices

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.flink

LOCAL, CLUSTER = "local[2]", "local-cluster[2,1,1024]"
SCHEMA = (
    "struct<key:struct<supplier:bigint,number:string>",
    "price:struct<amount:decimal(18,2),currency:string,$undecoded",
    "competitors:map<struct<supplier:bigint,number:string>,struct<amount:decimal(18,2)",
    "span:struct<low:struct<amount:decimal(18,2)",
)


def told(master: str, savepoint: str, target: Path, plug_in: Path) -> dict[str, Any]:
    """What the program has read and written in a process that has the plug-in."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(plug_in),
        "PYSPARK_PYTHON": sys.executable,
        "SAVEPOINT_PLUGINS": "",
    }
    done = subprocess.run(
        [sys.executable, prices_program.__file__, master, savepoint, str(target)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    assert lines, done.stderr
    answer: dict[str, Any] = json.loads(lines[0].removeprefix("TOLD "))
    return answer


def cents(text: str, *, more: int = 0) -> str:
    """The text of a key whose price is raised."""
    price, behind = text.split(" ", 1)
    return f"{int(price) + more} {behind}"


@pytest.mark.parametrize(
    ("flink", "backend", "form", "master"),
    [
        pytest.param(RELEASES[0], "hashmap", "CANONICAL", LOCAL, marks=nightly),
        (RELEASES[1], "rocksdb", "NATIVE", CLUSTER),
        (RELEASES[1], "hashmap", "NATIVE", LOCAL),
    ],
)
def test_flink_restores_what_a_codec_and_a_layout_wrote(
    flink: str, backend: str, form: str, master: str, tmp_path: Path
) -> None:
    (first,) = run_prices(flink, tmp_path, [PricesJob(backend=backend, form=form)])
    assert set(first["seen"].values()) == {"nothing"}
    savepoint = first["savepoint"].removeprefix("file:")
    answer = told(master, savepoint, tmp_path, example_in(tmp_path / "plug-in"))
    assert [part for part in SCHEMA if part not in answer["schema"]] == []
    assert answer["read"][0] == answer["changed"][0] == answer["made"][0] == str(KEYS)
    assert answer["read"][1] == answer["made"][1]
    assert set(answer["faults"]) == {"unchecked"}
    restored = run_prices(
        flink,
        tmp_path,
        [
            PricesJob(savepoint, backend),
            PricesJob(str(tmp_path / "changed"), backend),
            PricesJob(str(tmp_path / "made"), backend),
        ],
    )
    assert [job["error"].split("Caused by: ")[-1] for job in restored if "error" in job] == []
    same, changed, made = restored
    assert len(same["seen"]) == KEYS
    assert made["seen"] == same["seen"]
    assert changed["seen"] == {key: cents(text, more=100) for key, text in same["seen"].items()}
