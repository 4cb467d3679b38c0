package moved;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.util.Collector;
import shop.LocalCluster;

/**
 * A job that takes over the state of streaming queries: totals, windows, sessions, distinct rows,
 * accounts with timers.
 *
 * <p>Each line of the standard input is {@code empty <folder>}, which takes a savepoint before any row; or
 * {@code run <rows> <savepoint, or ->}, which reads all rows ({@code key TAB value TAB time in ms TAB id})
 * and lets time end. The answer is what the operators gave, a line each, and an empty line.
 */
public final class MovedJob {
    static final ConcurrentLinkedQueue<String> GIVEN = new ConcurrentLinkedQueue<>();
    static volatile List<Tuple4<String, Long, Long, Integer>> rows = List.of();
    static volatile boolean hasTime;
    static volatile int ended;

    private static final int PARALLELISM = 2;
    private static final int OPERATORS = 5;
    private static final TypeInformation<Tuple4<String, Long, Long, Integer>> ROW =
            Types.TUPLE(Types.STRING, Types.LONG, Types.LONG, Types.INT);

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Flink logs to the standard output, which is not for that here.
        System.setOut(System.err);
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Configuration configuration = Configuration.fromMap(Map.of("rest.port", "0"));
        try (LocalCluster cluster = LocalCluster.start(configuration, PARALLELISM)) {
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                String[] words = line.split(" ");
                GIVEN.clear();
                ended = 0;
                if (words[0].equals("empty")) {
                    begin(cluster, args[0], words[1]);
                } else {
                    run(cluster, args[0], words[1], words[2]);
                }
                GIVEN.forEach(answers::println);
                answers.println();
            }
        }
    }

    private static void begin(LocalCluster cluster, String inbox, String target) throws Exception {
        rows = List.of();
        hasTime = false;
        JobGraph graph = graph(inbox, "-");
        cluster.submit(graph);
        cluster.awaitRunning(graph.getJobID());
        GIVEN.add(
                cluster.savepoint(graph.getJobID(), target, SavepointFormatType.CANONICAL)
                        .replaceFirst("^file:", ""));
        cluster.cancel(graph.getJobID());
    }

    private static void run(LocalCluster cluster, String inbox, String file, String savepoint)
            throws Exception {
        List<Tuple4<String, Long, Long, Integer>> read = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(file))) {
            String[] cells = line.split("\t");
            read.add(
                    Tuple4.of(
                            cells[0],
                            Long.valueOf(cells[1]),
                            Long.valueOf(cells[2]),
                            Integer.valueOf(cells[3])));
        }
        rows = read;
        hasTime = true;
        JobGraph graph = graph(inbox, savepoint);
        JobID job = graph.getJobID();
        cluster.submit(graph);
        LocalCluster.await(
                "time does not end", () -> cluster.isRunning(job) && ended == OPERATORS);
        cluster.cancel(job);
    }

    private static JobGraph graph(String inbox, String savepoint) {
        Map<String, String> entries = new HashMap<>();
        if (!savepoint.equals("-")) {
            entries.put("execution.state-recovery.path", savepoint);
        }
        entries.put("restart-strategy.type", "none");
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(entries));
        env.setParallelism(PARALLELISM);
        FileSource<String> nothing =
                FileSource.forRecordStreamFormat(
                                new TextLineInputFormat(),
                                new org.apache.flink.core.fs.Path(inbox))
                        .monitorContinuously(java.time.Duration.ofHours(1))
                        .build();
        SingleOutputStreamOperator<Tuple4<String, Long, Long, Integer>> input =
                env.fromSource(nothing, WatermarkStrategy.noWatermarks(), "nothing")
                        .uid("nothing")
                        .setParallelism(1)
                        .transform("rows", ROW, new Rows())
                        .uid("rows")
                        .setParallelism(1);
        end(input.keyBy(row -> row.f0, Types.STRING).process(new Totals()).uid("totals"));
        end(
                input.keyBy(row -> row.f0, Types.STRING)
                        .window(TumblingEventTimeWindows.of(java.time.Duration.ofSeconds(30)))
                        .aggregate(
                                new SumAndCount(),
                                new Bounds(),
                                Types.TUPLE(Types.LONG, Types.LONG),
                                Types.TUPLE(Types.LONG, Types.LONG),
                                Types.STRING)
                        .uid("windows"));
        end(
                input.keyBy(row -> row.f0, Types.STRING)
                        .window(
                                EventTimeSessionWindows.withGap(java.time.Duration.ofSeconds(15)))
                        .aggregate(
                                new Sum(),
                                new SessionBounds(),
                                Types.LONG,
                                Types.LONG,
                                Types.STRING)
                        .uid("sessions"));
        end(
                input.keyBy(
                                row -> Tuple2.of(row.f0, row.f3),
                                Types.TUPLE(Types.STRING, Types.INT))
                        .process(new Distinct())
                        .uid("distinct"));
        end(input.keyBy(row -> row.f0, Types.STRING).process(new Accounts()).uid("accounts"));
        return env.getStreamGraph().getJobGraph();
    }

    private static void end(SingleOutputStreamOperator<String> given) {
        given.returns(Types.STRING)
                .transform("end", Types.STRING, new End())
                .setParallelism(1);
    }

    /** Gives all rows as soon as the job runs, and then the end of time. */
    private static final class Rows
            extends AbstractStreamOperator<Tuple4<String, Long, Long, Integer>>
            implements OneInputStreamOperator<String, Tuple4<String, Long, Long, Integer>> {
        @Override
        public void open() throws Exception {
            super.open();
            for (Tuple4<String, Long, Long, Integer> row : rows) {
                output.collect(new StreamRecord<>(row, row.f2));
            }
            if (hasTime) {
                output.emitWatermark(Watermark.MAX_WATERMARK);
            }
        }

        @Override
        public void processElement(StreamRecord<String> element) {}
    }

    private static final class End extends AbstractStreamOperator<String>
            implements OneInputStreamOperator<String, String> {
        @Override
        public void processElement(StreamRecord<String> element) {
            GIVEN.add(element.getValue());
        }

        @Override
        public void processWatermark(Watermark mark) {
            synchronized (MovedJob.class) {
                ended++;
            }
        }
    }

    /** Sum, number and all values of a key. */
    private static final class Totals
            extends KeyedProcessFunction<String, Tuple4<String, Long, Long, Integer>, String> {
        private transient ValueState<Long> total;
        private transient ValueState<Long> number;
        private transient ListState<Long> values;

        @Override
        public void open(OpenContext context) {
            total = getRuntimeContext().getState(new ValueStateDescriptor<>("total", Types.LONG));
            number = getRuntimeContext().getState(new ValueStateDescriptor<>("n", Types.LONG));
            values =
                    getRuntimeContext().getListState(new ListStateDescriptor<>("seen", Types.LONG));
        }

        @Override
        public void processElement(
                Tuple4<String, Long, Long, Integer> row, Context context, Collector<String> out)
                throws Exception {
            total.update((total.value() == null ? 0 : total.value()) + row.f1);
            number.update((number.value() == null ? 0 : number.value()) + 1);
            values.add(row.f1);
            List<Long> sorted = new ArrayList<>();
            values.get().forEach(sorted::add);
            sorted.sort(null);
            out.collect("total " + row.f0 + " " + total.value() + " " + number.value() + " " + sorted);
        }
    }

    private static final class SumAndCount
            implements AggregateFunction<
                    Tuple4<String, Long, Long, Integer>, Tuple2<Long, Long>, Tuple2<Long, Long>> {
        @Override
        public Tuple2<Long, Long> createAccumulator() {
            return Tuple2.of(0L, 0L);
        }

        @Override
        public Tuple2<Long, Long> add(
                Tuple4<String, Long, Long, Integer> row, Tuple2<Long, Long> sum) {
            return Tuple2.of(sum.f0 + row.f1, sum.f1 + 1);
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

    private static final class Sum
            implements AggregateFunction<Tuple4<String, Long, Long, Integer>, Long, Long> {
        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Tuple4<String, Long, Long, Integer> row, Long sum) {
            return sum + row.f1;
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

    private static final class Bounds
            extends ProcessWindowFunction<Tuple2<Long, Long>, String, String, TimeWindow> {
        @Override
        public void process(
                String key, Context context, Iterable<Tuple2<Long, Long>> sums, Collector<String> out) {
            Tuple2<Long, Long> sum = sums.iterator().next();
            out.collect("window " + key + " " + context.window().getStart() + " " + sum.f0 + " " + sum.f1);
        }
    }

    private static final class SessionBounds
            extends ProcessWindowFunction<Long, String, String, TimeWindow> {
        @Override
        public void process(
                String key, Context context, Iterable<Long> sums, Collector<String> out) {
            TimeWindow window = context.window();
            out.collect(
                    "session " + key + " " + window.getStart() + " " + window.getEnd() + " "
                            + sums.iterator().next());
        }
    }

    private static final class Distinct
            extends KeyedProcessFunction<
                    Tuple2<String, Integer>, Tuple4<String, Long, Long, Integer>, String> {
        private transient ValueState<Boolean> seen;

        @Override
        public void open(OpenContext context) {
            seen = getRuntimeContext().getState(new ValueStateDescriptor<>("seen", Types.BOOLEAN));
        }

        @Override
        public void processElement(
                Tuple4<String, Long, Long, Integer> row, Context context, Collector<String> out)
                throws Exception {
            if (seen.value() == null) {
                seen.update(true);
                out.collect("distinct " + row.f0 + " " + row.f3);
            }
        }
    }

    /** As the StatefulProcessor of the tests: a value, a list, a map, and a timer per row an hour later. */
    private static final class Accounts
            extends KeyedProcessFunction<String, Tuple4<String, Long, Long, Integer>, String> {
        private transient ValueState<Tuple2<Long, Long>> total;
        private transient ListState<Long> seen;
        private transient MapState<Integer, Long> byId;

        @Override
        public void open(OpenContext context) {
            total =
                    getRuntimeContext()
                            .getState(
                                    new ValueStateDescriptor<>(
                                            "total", Types.TUPLE(Types.LONG, Types.LONG)));
            seen = getRuntimeContext().getListState(new ListStateDescriptor<>("seen", Types.LONG));
            byId =
                    getRuntimeContext()
                            .getMapState(
                                    new MapStateDescriptor<>("by_id", Types.INT, Types.LONG));
        }

        @Override
        public void processElement(
                Tuple4<String, Long, Long, Integer> row, Context context, Collector<String> out)
                throws Exception {
            long number = total.value() == null ? 0 : total.value().f0;
            total.update(Tuple2.of(number + 1, row.f1));
            seen.add(row.f1);
            byId.put(row.f3, row.f1);
            context.timerService().registerEventTimeTimer(row.f2 + 3_600_000);
            List<Long> all = new ArrayList<>();
            seen.get().forEach(all::add);
            Map<Integer, Long> sorted = new TreeMap<>();
            byId.entries().forEach(entry -> sorted.put(entry.getKey(), entry.getValue()));
            out.collect("account " + row.f0 + " " + total.value() + " " + all + " " + sorted);
        }

        @Override
        public void onTimer(long timestamp, OnTimerContext context, Collector<String> out) {
            out.collect("fired " + context.getCurrentKey() + " " + timestamp);
        }
    }

    private MovedJob() {}
}
