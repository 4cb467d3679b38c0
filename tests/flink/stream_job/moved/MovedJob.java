package moved;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.operators.AbstractStreamOperator;
import org.apache.flink.streaming.api.operators.OneInputStreamOperator;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import shop.LocalCluster;

/**
 * A job with an operator for each kind of state of streaming queries.
 *
 * <p>Each line of the standard input is {@code half <rows, or -> <savepoint, or -> <folder>}, which reads
 * rows and takes a savepoint while time goes on; or {@code run <rows> <savepoint, or ->}, which reads rows
 * and lets time end. The answer is what the operators gave, a line each, then the savepoint, if there is
 * one, and an empty line. Time is 10 seconds behind the rows. A row {@code pause <ms>} waits.
 */
public final class MovedJob {
    private static final ConcurrentLinkedQueue<String> GIVEN = new ConcurrentLinkedQueue<>();
    private static final AtomicInteger ENDED = new AtomicInteger();
    private static volatile List<String> rows = List.of();
    private static volatile boolean hasEnd;

    private static final int PARALLELISM = 2;
    private static final long DELAY_MS = 10_000;

    private int operators;

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
                ENDED.set(0);
                rows = words[1].equals("-") ? List.of() : Files.readAllLines(Path.of(words[1]));
                hasEnd = words[0].equals("run");
                MovedJob job = new MovedJob();
                JobGraph graph = job.graph(args[0], words[2]);
                JobID id = graph.getJobID();
                cluster.submit(graph);
                if (hasEnd) {
                    LocalCluster.await(
                            "time does not end",
                            () -> cluster.isRunning(id) && ENDED.get() == job.operators);
                } else {
                    cluster.awaitRunning(id);
                    String path = cluster.savepoint(id, words[3], SavepointFormatType.CANONICAL);
                    GIVEN.add(path.replaceFirst("^file:", ""));
                }
                cluster.cancel(id);
                GIVEN.forEach(answers::println);
                answers.println();
            }
        }
    }

    private JobGraph graph(String inbox, String savepoint) {
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
                        .monitorContinuously(Duration.ofHours(1))
                        .build();
        SingleOutputStreamOperator<Row> input =
                env.fromSource(nothing, WatermarkStrategy.noWatermarks(), "nothing")
                        .uid("nothing")
                        .setParallelism(1)
                        .transform("rows", Row.TYPE, new Rows())
                        .uid("rows")
                        .setParallelism(1);
        KeyedStream<Row, String> accounts = input.keyBy(row -> row.key, Types.STRING);
        window(accounts, "windows", TumblingEventTimeWindows.of(Duration.ofSeconds(30)));
        window(
                accounts,
                "sliding",
                SlidingEventTimeWindows.of(Duration.ofSeconds(30), Duration.ofSeconds(10)));
        end(
                "sessions",
                accounts.window(EventTimeSessionWindows.withGap(Duration.ofSeconds(15)))
                        .aggregate(
                                new Windows.Sum(),
                                new Windows.Bounds<>("sessions"),
                                Types.LONG,
                                Types.LONG,
                                Types.STRING));
        process(accounts, "totals", new PerKey.Totals());
        process(accounts, "groups", new PerKey.Groups());
        process(accounts, "accounts", new PerKey.Accounts());
        process(accounts, "visits", new PerKey.Visits());
        process(accounts, "outer", new PerKey.Outer());
        KeyedStream<Row, String> requests = input.keyBy(row -> row.request, Types.STRING);
        process(requests, "within", new PerKey.Within("within"));
        KeyedStream<Row, String> ids = input.keyBy(row -> row.key + "-" + row.id, Types.STRING);
        process(ids, "returned", new PerKey.Within("returned"));
        TypeInformation<Tuple2<String, Integer>> pair = Types.TUPLE(Types.STRING, Types.INT);
        KeyedStream<Row, Tuple2<String, Integer>> pairs =
                input.keyBy(row -> Tuple2.of(row.key, row.id), pair);
        process(pairs, "distinct", new PerKey.Distinct());
        return env.getStreamGraph().getJobGraph();
    }

    private void window(
            KeyedStream<Row, String> accounts,
            String uid,
            WindowAssigner<Object, TimeWindow> windows) {
        TypeInformation<Tuple2<Long, Long>> sums = Types.TUPLE(Types.LONG, Types.LONG);
        end(
                uid,
                accounts.window(windows)
                        .aggregate(
                                new Windows.SumAndCount(),
                                new Windows.Bounds<>(uid),
                                sums,
                                sums,
                                Types.STRING));
    }

    private <K> void process(
            KeyedStream<Row, K> keyed, String uid, KeyedProcessFunction<K, Row, String> function) {
        end(uid, keyed.process(function, Types.STRING));
    }

    private void end(String uid, SingleOutputStreamOperator<String> given) {
        given.uid(uid).transform("end", Types.STRING, new End()).setParallelism(1);
        operators++;
    }

    /** Gives all rows as soon as the job runs, and then the end of time, if it is to end. */
    private static final class Rows extends AbstractStreamOperator<Row>
            implements OneInputStreamOperator<String, Row> {
        @Override
        public void open() throws Exception {
            super.open();
            long last = Long.MIN_VALUE;
            for (String line : rows) {
                if (line.startsWith("pause ")) {
                    Thread.sleep(Long.parseLong(line.substring("pause ".length())));
                    continue;
                }
                Row row = Row.of(line);
                output.collect(new StreamRecord<>(row, row.time));
                last = Math.max(last, row.time);
                output.emitWatermark(new Watermark(last - DELAY_MS - 1));
            }
            if (hasEnd) {
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
            if (mark.equals(Watermark.MAX_WATERMARK)) {
                ENDED.incrementAndGet();
            }
        }
    }
}
