"""Transactions of a ``FlinkKafkaProducer``, shown, and committed by a ``KafkaSink``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from support.commands import lines, run
from support.legacy_kafka import UIDS, legacy_savepoint

from savepoint_extensions.connectors.renewal.kafka_producer import (
    CURRENT,
    TO_BE_COMMITTED,
    is_of_producer,
    transactions_of,
)
from savepoint_formats.errors import RefusedError
from savepoint_formats.savepoint_warnings import ConnectorWarning
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

PREFIX = "Map -> (Sink: Unnamed, Sink: Unnamed)-b987afdbb8375b6ce5dcc61af8c01898-"


def test_transactions_have_kinds_times_and_commands(tmp_path: Path) -> None:
    savepoint = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS)
    known = transactions_of(savepoint.operator("results"))
    assert [(it.subtask, it.kind, it.committable.transactional_id) for it in known] == [
        (0, CURRENT, f"{PREFIX}1"),
        (0, TO_BE_COMMITTED, f"{PREFIX}0"),
        (1, CURRENT, f"{PREFIX}3"),
        (1, TO_BE_COMMITTED, f"{PREFIX}2"),
    ]
    assert {it.started[:17] for it in known} == {"2026-11-29T13:53:"}
    assert abs(known[0].age_s - (time.time() - known[0].started_ms / 1000)) < 5
    command = "kafka-transactions.sh --bootstrap-server BROKER forceTerminateTransaction"
    assert known[0].abort == f"{command} --transactionalId '{PREFIX}1'"
    assert known[1].abort == ""


def test_other_operators_have_none(tmp_path: Path) -> None:
    savepoint = Savepoint.open(legacy_savepoint(tmp_path / "legacy"), uids=UIDS)
    others = [savepoint.operator(uid) for uid in UIDS if uid != "results"]
    assert not any(map(is_of_producer, others))
    assert not any(map(transactions_of, others))


def test_kafka_and_sinks_list_each(tmp_path: Path) -> None:
    path = legacy_savepoint(tmp_path / "legacy")
    entries = [row for row in Savepoint.open(path).sinks().entries if row.connector == "kafka"]
    assert [row.state for row in entries] == [CURRENT, TO_BE_COMMITTED] * 2
    assert f"transactional_id={PREFIX}1, producer_id=4, epoch=2, started=2026" in entries[0].content
    assert "forceTerminateTransaction" in entries[0].content
    (answer,) = lines("kafka", path)
    assert [row["kind"] for row in answer["transactions"]] == [CURRENT, TO_BE_COMMITTED] * 2
    assert answer["transactions"][1]["producer_id"] == 8


def test_a_transaction_is_dropped_alone(tmp_path: Path) -> None:
    path = legacy_savepoint(tmp_path / "legacy")
    condition = f"transaction = '{PREFIX}2'"
    code, printed = run("sinks", path, tmp_path / "new", "--drop", condition, "--uid", "results")
    assert code == 0
    assert "drop 1 of " in printed
    moved = Savepoint.open(str(tmp_path / "new"), uids=UIDS)
    known = transactions_of(moved.operator("results"))
    assert [(it.subtask, it.kind) for it in known] == [
        (0, CURRENT),
        (0, TO_BE_COMMITTED),
        (1, CURRENT),
    ]
    with pytest.warns(ConnectorWarning) as given:
        moved.migrate()
    assert any("commits 1 transactions" in str(warning.message) for warning in given)


def test_a_current_transaction_is_not_dropped_alone(tmp_path: Path) -> None:
    savepoint = Savepoint.open(legacy_savepoint(tmp_path / "legacy"))
    for condition in ("state = 'current'", f"transaction = '{PREFIX}3'"):
        with pytest.raises(RefusedError, match=r"is the current one, .*never committed: abort it"):
            savepoint.change_sinks(drop=condition)


def test_an_element_is_dropped_as_a_whole(tmp_path: Path) -> None:
    path = legacy_savepoint(tmp_path / "legacy")
    condition = "subtask = 0 AND connector = 'kafka'"
    assert run("sinks", path, tmp_path / "new", "--drop", condition)[0] == 0
    entries = Savepoint.open(str(tmp_path / "new")).sinks().entries
    assert {row.subtask for row in entries if row.connector == "kafka"} == {1}
