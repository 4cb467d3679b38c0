"""Connectors of plug-ins among those of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.plug_ins import example_in, on_path, package_in

from savepoint_extensions.connectors.connector_rows import SinkConnector, SourceConnector
from savepoint_extensions.connectors.kafka.versioned import Versioned
from savepoint_extensions.connectors.plug_in_connectors import of_plug_ins, plug_in_connectors
from savepoint_extensions.connectors.sinks.connectors import CONNECTORS as SINKS
from savepoint_extensions.connectors.sinks.connectors import read_committable, read_writer
from savepoint_extensions.connectors.source_splits.split_connectors import CONNECTORS as SOURCES
from savepoint_extensions.connectors.source_splits.split_connectors import (
    connector_of,
    read_enumerator,
)
from savepoint_formats.errors import RefusedError
from savepoint_formats.savepoint_warnings import PlugInWarning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONNECTORS = "savepoint.connectors"
SPLIT = Versioned(71, b"\6orders" + (42).to_bytes(8, "big"))
COMMITTABLE = Versioned(71, b"\6orders" + (3).to_bytes(4, "big"))
OTHER = Versioned(72, b"?")
BROKEN = """
from state_processor.plugins import SinkConnector, SourceConnector

def fails(versioned, *_):
    raise ZeroDivisionError("no queue")

def lists(versioned, path):
    yield 7 / 0

ROWS = [SourceConnector("acme", fails, lists, fails), SinkConnector("acme", lambda *_: 7, fails)]
"""
FAILURE = "; plug-in acme-queue 1.0 failed: ZeroDivisionError: no queue"


@pytest.fixture(autouse=True)
def _on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAVEPOINT_PLUGINS", raising=False)


@pytest.fixture
def example(tmp_path: Path) -> Iterator[None]:
    with on_path(example_in(tmp_path)):
        yield


def acme(folder: Path, text: str) -> Path:
    entries = {CONNECTORS: {"queue": "acme_queue:ROWS"}}
    return package_in(folder, "acme-queue", entries, acme_queue=text)


@pytest.mark.usefixtures("example")
class TestTheExample:
    def test_a_split_has_the_facts_of_its_connector(self) -> None:
        connector, facts = connector_of(SPLIT, "state")
        assert connector is not None
        assert (connector.name, facts.split, facts.position) == (
            "shop-queue",
            "orders",
            '{"next": 42}',
        )

    def test_a_split_goes_to_another_position(self) -> None:
        connector, _ = connector_of(SPLIT, "state")
        assert connector is not None
        assert connector.move is not None
        moved = connector.move(SPLIT, {"next": 7}, "state")
        assert connector_of(moved, "state")[1].position == '{"next": 7}'
        with pytest.raises(RefusedError, match="expected the number of a message"):
            connector.move(SPLIT, {"next": -1}, "state")

    def test_a_committable_has_the_facts_of_its_connector(self) -> None:
        assert read_committable(COMMITTABLE, "state") == (
            "shop-queue",
            {"queue": "orders", "messages": 3},
            "",
        )

    def test_bytes_of_no_connector_name_those_that_were_asked(self) -> None:
        connector, facts = connector_of(OTHER, "state")
        assert connector is None
        assert str(facts.facts["reason"]).endswith("hybrid, shop-queue")
        name, _, reason = read_committable(OTHER, "state")
        assert (name, reason[-18:]) == ("unknown", "paimon, shop-queue")
        assert "shop-queue" not in read_writer(OTHER, "state")[2]


def test_a_connector_that_fails_is_named_beside_those_that_do_not_know_the_bytes(
    tmp_path: Path,
) -> None:
    with on_path(acme(tmp_path, BROKEN)):
        connector, facts = connector_of(OTHER, "state")
        assert connector is None
        assert str(facts.facts["reason"]).endswith(FAILURE)
        assert read_committable(OTHER, "state")[2].endswith("TypeError: int, expected dict")
        assert read_writer(OTHER, "state")[2].endswith(FAILURE)
        assert read_enumerator(OTHER, "state", None) == (None, [])
        (source,) = of_plug_ins(SourceConnector, SOURCES)
        assert source.move is not None
        with pytest.raises(RefusedError, match=FAILURE[2:]):
            source.move(OTHER, 1, "state")


def test_where_plug_ins_are_off_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAVEPOINT_PLUGINS", "off")
    with on_path(example_in(tmp_path)):
        assert [*of_plug_ins(SourceConnector, SOURCES), *of_plug_ins(SinkConnector, SINKS)] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ROWS = 7", "TypeError: int, expected a SourceConnector or a SinkConnector with a name"),
        (
            f"{BROKEN}\nROWS = SourceConnector('kafka', fails)",
            "source kafka is registered by savepoint-state-processor itself and by acme-queue 1.0",
        ),
    ],
    ids=["no row", "a name that is taken"],
)
def test_a_wrong_entry_is_a_warning(text: str, problem: str, tmp_path: Path) -> None:
    with on_path(acme(tmp_path, text)):
        with pytest.warns(PlugInWarning, match=problem):
            connectors = list(of_plug_ins(SourceConnector, SOURCES))
        assert connectors == []
        assert [reason for _, reason in plug_in_connectors(SOURCES).problems] == [problem]
