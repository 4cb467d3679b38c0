package shop;

import java.time.Duration;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** Windows of time, of sessions and of counts, over entries (holder, account, currency, cents). */
final class WindowsJob {
    private static final Duration WINDOW_SIZE = Duration.ofHours(1);
    private static final Duration SESSION_GAP = Duration.ofMinutes(30);
    private static final int COUNT_WINDOW_SIZE = 5;

    private WindowsJob() {}

    static void define(StreamExecutionEnvironment env, String inbox) {
        DataStream<Tuple4<String, Integer, Integer, Long>> entries =
                Inputs.transactions(env, inbox)
                        .map(WindowsJob::entry)
                        .returns(Types.TUPLE(Types.STRING, Types.INT, Types.INT, Types.LONG))
                        .setParallelism(1)
                        .uid("entries");
        discard(
                entries.keyBy(entry -> entry.f1)
                        .window(TumblingEventTimeWindows.of(WINDOW_SIZE))
                        .reduce(WindowsJob::addCents)
                        .uid("tumbling"));
        discard(
                entries.keyBy(entry -> entry.f0)
                        .window(TumblingEventTimeWindows.of(WINDOW_SIZE))
                        .aggregate(
                                new AverageCents(),
                                Types.TUPLE(Types.LONG, Types.LONG),
                                Types.DOUBLE)
                        .uid("tumbling_aggregate"));
        discard(
                entries.keyBy(entry -> entry.f0)
                        .window(EventTimeSessionWindows.withGap(SESSION_GAP))
                        .process(new CountEntries())
                        .uid("session"));
        discard(
                entries.keyBy(
                                entry -> Tuple2.of(entry.f1, entry.f2),
                                Types.TUPLE(Types.INT, Types.INT))
                        .countWindow(COUNT_WINDOW_SIZE)
                        .reduce(WindowsJob::addCents)
                        .uid("count_window"));
    }

    private static void discard(SingleOutputStreamOperator<?> stream) {
        String uid = stream.getTransformation().getUid();
        stream.sinkTo(new DiscardingSink<>()).uid(uid + "_sink");
    }

    private static Tuple4<String, Integer, Integer, Long> entry(Transaction transaction) {
        return Tuple4.of(
                transaction.holder,
                transaction.accountId,
                transaction.currencyId,
                transaction.cents);
    }

    private static Tuple4<String, Integer, Integer, Long> addCents(
            Tuple4<String, Integer, Integer, Long> sum,
            Tuple4<String, Integer, Integer, Long> entry) {
        return Tuple4.of(sum.f0, sum.f1, sum.f2, sum.f3 + entry.f3);
    }

    /** The accumulator is (sum, number). */
    static final class AverageCents
            implements AggregateFunction<
                    Tuple4<String, Integer, Integer, Long>, Tuple2<Long, Long>, Double> {
        @Override
        public Tuple2<Long, Long> createAccumulator() {
            return Tuple2.of(0L, 0L);
        }

        @Override
        public Tuple2<Long, Long> add(
                Tuple4<String, Integer, Integer, Long> entry, Tuple2<Long, Long> accumulator) {
            return Tuple2.of(accumulator.f0 + entry.f3, accumulator.f1 + 1);
        }

        @Override
        public Double getResult(Tuple2<Long, Long> accumulator) {
            return (double) accumulator.f0 / accumulator.f1;
        }

        @Override
        public Tuple2<Long, Long> merge(Tuple2<Long, Long> left, Tuple2<Long, Long> right) {
            return Tuple2.of(left.f0 + right.f0, left.f1 + right.f1);
        }
    }

    /** A function of all entries of a window, which therefore stay in a list until it ends. */
    static final class CountEntries
            extends ProcessWindowFunction<
                    Tuple4<String, Integer, Integer, Long>, Long, String, TimeWindow> {
        @Override
        public void process(
                String holder,
                Context context,
                Iterable<Tuple4<String, Integer, Integer, Long>> entries,
                Collector<Long> out) {
            long number = 0;
            for (Tuple4<String, Integer, Integer, Long> ignored : entries) {
                number++;
            }
            out.collect(number);
        }
    }
}
