"""The job of FLIP-43 as it runs here, over the input of the samples; and a variant in one operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from transactions import currency_rates, transactions

from state_processor import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedStateBootstrapFunction,
    MapStateDescriptor,
    OperatorTransformation,
    OutputTag,
    Types,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession
    from transactions import CurrencyRate, Transaction

    from savepoint_functions.transformations.broadcast_transformation import (
        BroadcastRows,
        BroadcastTransformation,
    )
    from savepoint_functions.transformations.transformation import OneInputStateTransformation

CONVERTED = "account_id INT, amount DOUBLE"
RATES = MapStateDescriptor("rates", Types.INT(), Types.DOUBLE())


class Inputs(NamedTuple):
    """Input of the job."""

    transactions: OneInputStateTransformation
    rates: BroadcastRows

    @classmethod
    def of(cls, spark: SparkSession) -> Inputs:
        return cls._of(spark, transactions(), currency_rates())

    @classmethod
    def half(cls, spark: SparkSession, *, is_first: bool) -> Inputs:
        """One of two inputs that together are those of the job.

        The first has no transaction of a currency whose rate is in the second.
        """
        rates = currency_rates()
        first_rates, second_rates = rates[: len(rates) // 2], rates[len(rates) // 2 :]
        later = {rate.currency_id for rate in second_rates}
        in_first = [one.id % 2 == 0 and one.currency_id not in later for one in transactions()]
        assert {True, False} == set(in_first)
        rows = [
            one
            for one, of_first in zip(transactions(), in_first, strict=True)
            if of_first == is_first
        ]
        return cls._of(spark, rows, first_rates if is_first else second_rates)

    @classmethod
    def _of(
        cls, spark: SparkSession, bought: Sequence[Transaction], told: Sequence[CurrencyRate]
    ) -> Inputs:
        rows = [(one.account_id, one.currency_id, one.amount, one.id) for one in bought]
        schema = "account_id INT, currency_id INT, amount DOUBLE, id INT"
        later = [(one.currency_id, one.rate, number) for number, one in enumerate(told)]
        rates = spark.createDataFrame(later, "currency_id INT, rate DOUBLE, at BIGINT")
        bootstrap = OperatorTransformation.bootstrap_with
        return cls(
            bootstrap(spark.createDataFrame(rows, schema)),
            bootstrap(rates.repartition(3)).assign_timestamps("at").broadcast(RATES),
        )

    @property
    def connected(self) -> BroadcastTransformation:
        return self.transactions.connect(self.rates)


def converter() -> BroadcastProcessFunction:
    """A function sent to workers as a whole because they can't import this module."""

    class CurrencyConverter(BroadcastProcessFunction):
        side_outputs: ClassVar[tuple[OutputTag, ...]] = (OutputTag("unknown", "currency_id INT"),)

        def process_element(self, value: Any, context: Any) -> Any:
            rate = context.get_broadcast_state(RATES).get(value.currency_id)
            if rate is None:
                context.output(self.side_outputs[0], (value.currency_id,))
            yield value.account_id, value.amount * (1.0 if rate is None else rate)

        def process_broadcast_element(self, value: Any, context: Any) -> None:
            context.get_broadcast_state(RATES).put(value.currency_id, value.rate)

    return CurrencyConverter()


def summarize() -> KeyedStateBootstrapFunction:
    """Likewise."""

    class Summarize(KeyedStateBootstrapFunction):
        def open(self, runtime_context: Any) -> None:
            self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.DOUBLE()))
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

        def process_element(self, value: Any, context: Any) -> None:
            self.total.update((self.total.value() or 0.0) + value.amount)
            self.count.update((self.count.value() or 0) + 1)

    return Summarize()


def convert_and_summarize(*, applies: bool = True) -> KeyedBroadcastProcessFunction:
    """Likewise: both in one operator, whose keyed state lies beside its broadcast state.

    With ``applies``, broadcast rows also call ``apply_to_keyed_state``.
    """

    class ConvertAndSummarize(KeyedBroadcastProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.DOUBLE()))
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

        def process_element(self, value: Any, context: Any) -> Any:
            rate = context.get_broadcast_state(RATES).get(value.currency_id)
            amount = value.amount * (1.0 if rate is None else rate)
            self.total.update((self.total.value() or 0.0) + amount)
            self.count.update((self.count.value() or 0) + 1)
            context.timer_service.register_event_time_timer(value.currency_id)
            yield context.current_key, amount

        def process_broadcast_element(self, value: Any, context: Any) -> Any:
            context.get_broadcast_state(RATES).put(value.currency_id, value.rate)
            if applies:
                context.apply_to_keyed_state(None, None)
            yield -value.currency_id, value.rate

        def on_timer(self, timestamp: int, context: Any) -> Any:
            rate = context.get_broadcast_state(RATES).get(timestamp)
            yield context.current_key, None if rate is None else -rate

    return ConvertAndSummarize()
