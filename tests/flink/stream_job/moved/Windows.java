package moved;

import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/** What the windows of {@code MovedJob} hold, and what they give when time has passed their end. */
final class Windows {
    /** Sum and number of the values. */
    static final class SumAndCount
            implements AggregateFunction<Row, Tuple2<Long, Long>, Tuple2<Long, Long>> {
        @Override
        public Tuple2<Long, Long> createAccumulator() {
            return Tuple2.of(0L, 0L);
        }

        @Override
        public Tuple2<Long, Long> add(Row row, Tuple2<Long, Long> sum) {
            return Tuple2.of(sum.f0 + row.value, sum.f1 + 1);
        }

        @Override
        public Tuple2<Long, Long> getResult(Tuple2<Long, Long> sum) {
            return sum;
        }

        @Override
        public Tuple2<Long, Long> merge(Tuple2<Long, Long> one, Tuple2<Long, Long> other) {
            return Tuple2.of(one.f0 + other.f0, one.f1 + other.f1);
        }
    }

    static final class Sum implements AggregateFunction<Row, Long, Long> {
        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Row row, Long sum) {
            return sum + row.value;
        }

        @Override
        public Long getResult(Long sum) {
            return sum;
        }

        @Override
        public Long merge(Long one, Long other) {
            return one + other;
        }
    }

    /** A window as a line, with its contents. */
    static final class Bounds<T> extends ProcessWindowFunction<T, String, String, TimeWindow> {
        private final String name;

        Bounds(String name) {
            this.name = name;
        }

        @Override
        public void process(
                String key, Context context, Iterable<T> contents, Collector<String> out) {
            T sums = contents.iterator().next();
            TimeWindow window = context.window();
            out.collect(
                    name + " " + key + " " + window.getStart() + " " + window.getEnd() + " " + sums);
        }
    }

    private Windows() {}
}
