"""Public objects as users see them: one short line each, and a table in a notebook."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from support.sample_rows import SAMPLES, Sample, copy_of, file_of

import state_processor
from savepoint_database.types.descriptors import StateTtlConfig
from savepoint_formats.printable import call_text, html_table
from savepoint_formats.scan.read_options import ReadOptions
from state_processor import (
    AggregatingStateDescriptor,
    Garbage,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    Types,
    ValueStateDescriptor,
    history,
    kryo_class,
    snapshots,
)

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = Sample("states-2.2.1-rocksdb-native")
DAY = StateTtlConfig(86_400_000)

LONGEST = 200
# A dataclass within a dataclass: Operator(record=OperatorState(operator_id=…
NESTED = re.compile(r"\w+=[A-Z]\w*\(\w+=")

WITHOUT_INSTANCES = {"OperatorTransformation", "Types"}


@cache
def objects() -> tuple[Any, ...]:
    """An object of every class that needs no Spark, and of all that their methods return."""
    savepoint = SAMPLE.open()
    operator, scan = savepoint.operator("stateful"), savepoint.scan("stateful.keyed_state")
    writer = savepoint.remove_operator("buffer").rename_operator("stateful", "renamed")
    plan, description = writer.plan("/tmp/nothing lies here"), savepoint.describe()
    kryo = kryo_class("com.acme.Order", {"id": "long", "tags": "java.util.List<java.lang.String>"})
    descriptors = (
        ValueStateDescriptor("total", Types.DOUBLE()),
        ListStateDescriptor("memos", Types.STRING()),
        MapStateDescriptor("by_currency", Types.STRING(), Types.LONG()),
        ReducingStateDescriptor("most", Types.LONG(), max),
        AggregatingStateDescriptor("average", Types.POJO("a.B", {"sum": Types.LONG()})),
    )
    return (
        *(savepoint, *savepoint.tables(), *savepoint.schema(), *savepoint.files()),
        *(description, *description.operators, *description.states()),
        *(operator, operator.catalog, *operator.tables),
        *(scan, scan.options, *scan.splits(), *savepoint.scan("buffer.elements").splits()),
        *(writer, *writer.operators, plan, *plan.operators),
        *(kryo, *kryo.fields, DAY, Types.MAP(Types.STRING(), Types.LONG())),
        *(operator.catalog.states[0].stored, *descriptors),
        *(one.with_ttl(DAY) for one in descriptors),
        *(Garbage.below(SAMPLE.path), *snapshots(SAMPLE.path)),
    )


def test_are_objects_of_every_exported_class() -> None:
    exported = {name: vars(state_processor).get(name) for name in state_processor.__all__}
    classes = {
        name: kind
        for name, kind in exported.items()
        if isinstance(kind, type) and not issubclass(kind, BaseException | Warning)
    }
    missing = {
        name
        for name, kind in classes.items()
        if not inspect.isabstract(kind) and not any(isinstance(one, kind) for one in objects())
    }
    assert missing <= WITHOUT_INSTANCES


def test_are_one_short_line_each() -> None:
    lines = {repr(one) for one in objects()}
    assert [line for line in lines if len(line) > LONGEST or "\n" in line] == []
    assert [line for line in lines if NESTED.search(line) or " object at 0x" in line] == []


def test_say_what_they_are() -> None:
    savepoint = SAMPLE.open()
    assert repr(savepoint.operator("stateful")) == (
        "Operator('stateful', parallelism 2, max parallelism 300)"
    )
    assert repr(savepoint.remove_operator("buffer").rename_operator("stateful", "other")) == (
        f"SavepointWriter(of {SAMPLE.path!r}, operators: 5 copied, 1 renamed)"
    )
    assert repr(savepoint.scan("stateful.keyed_state").splits()[0]) == (
        "KeyedSplit(subtask 0, key groups 0 to 149)"
    )


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (ValueStateDescriptor("total"), "ValueStateDescriptor('total')"),
        (
            ListStateDescriptor("memos", Types.STRING()).with_ttl(),
            "ListStateDescriptor('memos', has_ttl=True, element_type=Types.STRING())",
        ),
        (DAY, "StateTtlConfig(86400000)"),
        (ReadOptions(), "ReadOptions()"),
        (ReadOptions(keys=("a",), flat="m"), "ReadOptions(keys=('a',), flat='m')"),
    ],
    ids=str,
)
def test_of_values_are_calls_without_what_is_as_by_default(made: Any, text: str) -> None:
    assert repr(made) == call_text(made) == text


@pytest.mark.parametrize(
    "kind", ["Savepoint", "Operator", "TableScan", "SavepointWriter", "PlannedSavepoint"]
)
def test_are_a_table_in_a_notebook(kind: str) -> None:
    (shown,) = (one for one in objects() if type(one).__name__ == kind)
    html = shown._repr_html_()
    assert html.startswith("<p>")
    assert html.count("<tr>") > 5
    assert html.count("<td>") % html.count("<th>") == 0


def test_of_a_description_are_the_states_in_a_notebook() -> None:
    html = SAMPLE.open().describe()._repr_html_()
    assert "<td>stateful</td><td>last_id</td><td>value</td><td>STRING</td><td></td>" in html


def test_of_answers_are_tables_in_a_notebook(tmp_path: Path) -> None:
    currency = Sample("currency-2.2.1-hashmap-canonical").open()
    other = currency.diff(str(SAMPLES / "currency-1.20.5-hashmap-native"))._repr_html_()
    assert ": equal</p>" in other
    assert row("summarize.keyed_state", 0, 0, 0, 24, "") in other
    assert row("setting", "", "keyed formats", "canonical", "key groups") in other

    assert currency.verify()._repr_html_().startswith(f"<p>{currency.path}: whole (deep: 9 ")
    damaged = copy_of(Sample("currency-2.2.1-hashmap-canonical"), tmp_path / "damaged")
    file_of(damaged, "summarize 1: keyed state").unlink()
    assert "<td>damage</td><td>files</td><td>summarize</td>" in damaged.verify()._repr_html_()

    savepoint = SAMPLE.open()
    key = savepoint.key("customer-005")._repr_html_()
    assert row("last_id", "239") in key
    assert (
        row("customer-005", "2100-01-01 00:00:00.000000Z", "PROCESSING_TIME", "user-timers") in key
    )
    assert "which no operator has" in savepoint.key("nobody")._repr_html_()

    folder = str(SAMPLES / "states-2.2.1-rocksdb-incremental")
    assert f"<td>{folder}/chk-2</td>" in snapshots(folder)._repr_html_()
    assert "<td>EVENT_TIME</td>" in history(folder, "stateful.timers", "customer-001")._repr_html_()
    assert "<td>Flink has no such file there</td>" in Garbage.below(folder)._repr_html_()


def test_tables_in_a_notebook_end_after_some_rows() -> None:
    html = html_table("many", ("n", "is odd"), ((n, n % 2 == 1) for n in range(1501)))
    assert row(499, "yes") in html
    assert row(500, "no") not in html
    assert "<p>… 1,001 more</p>" in html


def row(*values: object) -> str:
    """A row of a table: numbers are to the right."""
    cells = (
        f'<td class="number">{value:,}</td>' if isinstance(value, int) else f"<td>{value}</td>"
        for value in values
    )
    return f"<tr>{''.join(cells)}</tr>"
