package shop;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFlatMapFunction;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.BroadcastStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.BroadcastProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/** The job of FLIP-43: one operator with broadcast state, one with two keyed value states. */
final class CurrencyJob {
    static final MapStateDescriptor<Integer, Double> CURRENCY_RATES =
            new MapStateDescriptor<>("rates", Types.INT, Types.DOUBLE);

    private CurrencyJob() {}

    static void define(StreamExecutionEnvironment env, String inbox) {
        BroadcastStream<CurrencyRate> rates =
                Inputs.rates(env, inbox).broadcast(CURRENCY_RATES);
        DataStream<Transaction> transactions =
                Inputs.transactions(env, inbox)
                        .filter(CurrencyJob::whenRatesAreKnown)
                        .setParallelism(1)
                        .uid("gate");
        transactions
                .connect(rates)
                .process(new CurrencyConverter())
                .uid("currency_converter")
                .keyBy(transaction -> transaction.accountId)
                .flatMap(new Summarize())
                .uid("summarize")
                .sinkTo(new DiscardingSink<>())
                .uid("sink");
    }

    /** Lets everything pass, but not before all rates are in: otherwise totals depend on luck. */
    private static boolean whenRatesAreKnown(Transaction transaction) throws InterruptedException {
        Progress.missingRates.await();
        return true;
    }

    /** Multiplies amounts by the rate of their currency, where there is one. */
    static final class CurrencyConverter
            extends BroadcastProcessFunction<Transaction, CurrencyRate, Transaction> {
        @Override
        public void processElement(
                Transaction value, ReadOnlyContext context, Collector<Transaction> out)
                throws Exception {
            Double rate = context.getBroadcastState(CURRENCY_RATES).get(value.currencyId);
            if (rate != null) {
                value.amount *= rate;
            }
            out.collect(value);
        }

        @Override
        public void processBroadcastElement(
                CurrencyRate value, Context context, Collector<Transaction> out) throws Exception {
            context.getBroadcastState(CURRENCY_RATES).put(value.currencyId, value.rate);
            Progress.missingRates.countDown();
        }
    }

    /** Total and number of the transactions of an account. */
    static final class Summarize extends RichFlatMapFunction<Transaction, Summary> {
        private transient ValueState<Double> totalState;
        private transient ValueState<Integer> countState;

        @Override
        public void open(OpenContext context) {
            totalState =
                    getRuntimeContext()
                            .getState(new ValueStateDescriptor<>("total", Types.DOUBLE));
            countState =
                    getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.INT));
        }

        @Override
        public void flatMap(Transaction value, Collector<Summary> out) throws Exception {
            Summary summary = new Summary();
            summary.total = value.amount;
            summary.count = 1;
            Double currentTotal = totalState.value();
            if (currentTotal != null) {
                summary.total += currentTotal;
            }
            Integer currentCount = countState.value();
            if (currentCount != null) {
                summary.count += currentCount;
            }
            totalState.update(summary.total);
            countState.update(summary.count);
            out.collect(summary);
        }
    }

    /** What {@link Summarize} emits. */
    public static class Summary {
        public double total;
        public int count;
    }
}
