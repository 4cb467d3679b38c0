"""Functions over rows that are connected with broadcast rows: the job of FLIP-43, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.currency_job import (
    CONVERTED,
    RATES,
    Inputs,
    convert_and_summarize,
    converter,
    summarize,
)
from support.sample_rows import Sample, in_order
from transactions import currency_rates, transactions

from savepoint_formats.errors import StateNotFoundError, StateTypeError
from state_processor import (
    Backlog,
    BroadcastProcessFunction,
    GlobalWindows,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorTransformation,
    Savepoint,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from state_processor.savepoint.spark_savepoint import SparkSavepoint

SAMPLE = Sample("currency-2.2.1-hashmap-canonical")
LATEST = {rate.currency_id: rate.rate for rate in currency_rates()}


@pytest.fixture
def inputs(spark: SparkSession) -> Inputs:
    return Inputs.of(spark)


def test_the_job_of_flip_43_leaves_what_flink_left(
    spark: SparkSession, inputs: Inputs, tmp_path: Path
) -> None:
    function = converter()
    run = inputs.connected.run(function, CONVERTED)
    sales = OperatorTransformation.bootstrap_with(run.output)
    both = inputs.transactions.key_by("account_id").connect(inputs.rates)
    path = str(tmp_path / "savepoint")
    writer = Savepoint.create(spark, parallelism=2)
    writer = writer.with_operator("currency_converter", run.state)
    writer = writer.with_operator("both", both.transform(convert_and_summarize()))
    writer.with_operator("summarize", sales.key_by("account_id").transform(summarize())).write(path)
    savepoint = Savepoint.load(spark, path, uids=["currency_converter", "both", "summarize"])
    for uid in ("both", "summarize"):
        rows = savepoint.read_keyed_state(uid).collect()
        assert in_order(row.asDict() for row in rows) == in_order(SAMPLE.keyed_state("summarize"))
    for uid in ("both", "currency_converter"):
        rates = [row.asDict() for row in savepoint.read_broadcast_state(uid, "rates").collect()]
        assert in_order(rates) == in_order(SAMPLE.elements("currency_converter", "rates"))
    timers = {(one.account_id, one.currency_id) for one in transactions()}
    assert savepoint.read_timers("both").count() == len(timers)
    unknown = run.side_output(function.side_outputs[0]).collect()
    expected = [one.currency_id for one in transactions() if one.currency_id not in LATEST]
    assert sorted(row.currency_id for row in unknown) == sorted(expected)


def test_rows_of_broadcast_rows_are_there_once_and_timers_see_the_state(inputs: Inputs) -> None:
    keyed = inputs.transactions.key_by("account_id").connect(inputs.rates)
    found = [tuple(row) for row in keyed.process(convert_and_summarize(), CONVERTED).collect()]
    of_broadcast = [(-rate.currency_id, rate.rate) for rate in currency_rates()]
    of_rows = [
        (one.account_id, one.amount * LATEST.get(one.currency_id, 1.0)) for one in transactions()
    ]
    timers = {(one.account_id, one.currency_id) for one in transactions()}
    of_timers = [
        (account, -LATEST[currency] if currency in LATEST else None) for account, currency in timers
    ]
    assert sorted(map(str, found)) == sorted(map(str, [*of_broadcast, *of_rows, *of_timers]))


def test_rows_without_keys_may_have_no_schema_only_if_none_is_given(inputs: Inputs) -> None:
    output = inputs.connected.process(converter(), CONVERTED)
    assert output.count() == len(transactions())
    with pytest.raises(Exception, match="gave a row for a row, but has no columns"):
        inputs.connected.run(converter())


@pytest.fixture(scope="module")
def first(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSavepoint:
    """The first half of the job of FLIP-43, with list state beside it."""
    half, path = Inputs.half(spark, is_first=True), str(tmp_path_factory.mktemp("first") / "one")
    both = half.transactions.key_by("account_id").connect(half.rates)
    offsets = OperatorTransformation.bootstrap_with(spark.range(3)).list_state(
        ListStateDescriptor("offsets", Types.LONG()), "id"
    )
    writer = Savepoint.create(spark, parallelism=2)
    writer = writer.with_operator("converter", half.connected.transform(converter()), offsets)
    run = both.run(convert_and_summarize(), CONVERTED)
    writer.with_operator("both", run.state).write(path)
    return Savepoint.load(spark, path, uids=["converter", "both"])


def test_broadcast_and_keyed_state_of_a_savepoint_go_on(
    spark: SparkSession, first: SparkSavepoint, tmp_path: Path
) -> None:
    half, path = Inputs.half(spark, is_first=False), str(tmp_path / "two")
    both = half.transactions.key_by("account_id").connect(half.rates)
    initial = {uid: first.operator(uid) for uid in ("converter", "both")}
    run = both.run(convert_and_summarize(applies=False), CONVERTED, initial=initial["both"])
    output = half.connected.run(converter(), CONVERTED, initial=initial["converter"])
    writer = first.with_operator("both", run.state).with_operator("converter", output.state)
    writer.write(path)
    found = Savepoint.load(spark, path, uids=["converter", "both"])
    rows = found.read_keyed_state("both").collect()
    assert in_order(row.asDict() for row in rows) == in_order(SAMPLE.keyed_state("summarize"))
    for uid in ("both", "converter"):
        rates = [row.asDict() for row in found.read_broadcast_state(uid, "rates").collect()]
        assert in_order(rates) == in_order(SAMPLE.elements("currency_converter", "rates"))
    assert sorted(row.value for row in found.read_list_state("converter", "offsets").collect()) == [
        0,
        1,
        2,
    ]
    # Without broadcast rows, all rates are those of the savepoint.
    whole = Inputs.of(spark)
    nothing = replace(whole.rates, data=whole.rates.data.limit(0))
    again = whole.transactions.connect(nothing).process(
        converter(), CONVERTED, initial=found.operator("converter")
    )
    assert sorted(map(tuple, again.collect())) == sorted(
        (one.account_id, one.amount * LATEST.get(one.currency_id, 1.0)) for one in transactions()
    )
    fired = whole.transactions.key_by("account_id").connect(nothing)
    assert fired.process(
        convert_and_summarize(applies=False), CONVERTED, initial=found.operator("both")
    ).count() == len(transactions()) + len(
        {(one.account_id, one.currency_id) for one in transactions()}
    )


def test_initial_state_that_does_not_fit_is_refused(
    spark: SparkSession, first: SparkSavepoint
) -> None:
    inputs = Inputs.half(spark, is_first=False)
    keyed = inputs.transactions.key_by("account_id").connect(inputs.rates)
    with pytest.raises(Exception, match="apply_to_keyed_state would change keys that have no row"):
        keyed.process(convert_and_summarize(), CONVERTED, initial=first.operator("both")).collect()
    rows = OperatorTransformation.bootstrap_with(inputs.transactions.data)
    other = rows.broadcast(MapStateDescriptor("rates", Types.INT(), Types.FLOAT()))
    with pytest.raises(StateTypeError, match="give it the types of the job"):
        rows.connect(other).process(converter(), CONVERTED, initial=first.operator("converter"))
    listed = rows.broadcast(MapStateDescriptor("offsets", Types.INT(), Types.LONG()))
    with pytest.raises(StateTypeError, match="state 'offsets' is SPLIT_DISTRIBUTE"):
        rows.connect(listed).process(converter(), CONVERTED, initial=first.operator("converter"))


def changing(state: MapStateDescriptor) -> BroadcastProcessFunction:
    class Changing(BroadcastProcessFunction):
        def open(self, runtime_context: Any) -> None:
            with pytest.raises(StateNotFoundError, match="'total' of a function without keys"):
                runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

        def process_element(self, value: Any, context: Any) -> None:
            context.get_broadcast_state(state).put(1, 1.0)

        def process_broadcast_element(self, value: Any, context: Any) -> None:
            pass

    return Changing()


def test_what_a_function_must_not_do_is_refused(inputs: Inputs) -> None:
    with pytest.raises(
        Exception, match="broadcast state 'rates' is changed by broadcast rows alone"
    ):
        inputs.connected.process(changing(RATES), CONVERTED).collect()
    other = MapStateDescriptor("other", Types.INT(), Types.DOUBLE())
    with pytest.raises(Exception, match="give its descriptor to broadcast"):
        inputs.connected.process(changing(other), CONVERTED).collect()


def test_wrong_calls_are_refused(inputs: Inputs) -> None:
    rows = inputs.transactions
    with pytest.raises(ValueError, match="need the states that they make"):
        rows.broadcast()
    with pytest.raises(ValueError, match="'rates' is given twice"):
        rows.broadcast(RATES, RATES)
    with pytest.raises(TypeError, match="KeyedStateTransformation can't be connected with rows"):
        rows.connect(rows.key_by("account_id"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ConvertAndSummarize is no BroadcastProcessFunction"):
        inputs.connected.process(convert_and_summarize(), CONVERTED)  # type: ignore[arg-type]
    keyed = rows.key_by("account_id")
    with pytest.raises(TypeError, match="CurrencyConverter is no KeyedBroadcastProcessFunction"):
        keyed.connect(inputs.rates).transform(converter())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="two inputs at most"):
        keyed.connect(keyed).connect(inputs.rates)
    both = keyed.connect(inputs.rates)
    with pytest.raises(ValueError, match="two inputs at most"):
        both.connect(keyed)
    with pytest.raises(ValueError, match="windows take the rows of one input"):
        both.window(GlobalWindows())
    with pytest.raises(ValueError, match="take no broadcast rows"):
        Backlog.of(both, convert_and_summarize(), CONVERTED)
