package masked;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.PatternSelectFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.util.Collector;
import org.apache.flink.util.ExceptionUtils;
import shop.LocalCluster;

/**
 * Runs one job of Flink's own operators: joins, patterns, windows, functions and queries of users.
 *
 * <p>Arguments: pairs of the savepoint that a job begins with and the folder of its own savepoint.
 * With {@code -} as the folder, the job reads to its end, so that all timers fire. Each job answers
 * with a line of JSON: {@code savepoint}, {@code counts} of results, or {@code error}.
 */
public final class MaskedJobs {
    private static final long END = 400;
    private static final long SLOW = 200;
    private static final Map<String, AtomicInteger> COUNTS = new ConcurrentHashMap<>();
    private static volatile boolean stops;

    private MaskedJobs() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        ObjectMapper json = new ObjectMapper();
        try (LocalCluster cluster =
                LocalCluster.start(Configuration.fromMap(Map.of("rest.port", "0")), 2)) {
            for (int i = 0; i < args.length; i += 2) {
                Map<String, Object> answer = new HashMap<>();
                COUNTS.clear();
                try {
                    answer.put("savepoint", run(cluster, args[i], args[i + 1]));
                    answer.put("counts", COUNTS);
                } catch (Exception error) {
                    answer.put("error", ExceptionUtils.stringifyException(error));
                }
                answers.println(json.writeValueAsString(answer));
            }
        }
    }

    private static String run(LocalCluster cluster, String savepoint, String target)
            throws Exception {
        stops = !target.equals("-");
        JobGraph graph = graph(savepoint);
        JobID job = graph.getJobID();
        cluster.submit(graph);
        if (!stops) {
            cluster.awaitEnd(job);
            return "-";
        }
        cluster.awaitRunning(job);
        LocalCluster.await("no rows come", () -> counted("rows") >= SLOW && cluster.isRunning(job));
        String taken = cluster.savepoint(job, target, SavepointFormatType.CANONICAL);
        cluster.cancel(job);
        return taken;
    }

    private static JobGraph graph(String savepoint) {
        Map<String, String> entries = new HashMap<>();
        entries.put("parallelism.default", "2");
        entries.put("restart-strategy.type", "none");
        if (!savepoint.equals("-")) {
            entries.put("execution.savepoint.path", savepoint);
            entries.put("execution.state-recovery.path", savepoint);
        }
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(Configuration.fromMap(entries));
        SingleOutputStreamOperator<Tuple2<String, Long>> rows =
                env.fromSource(
                                new NumberSequenceSource(0, END - 1),
                                WatermarkStrategy.noWatermarks(),
                                "numbers")
                        .uid("numbers")
                        .setParallelism(1)
                        .map(new Rows())
                        .uid("rows")
                        .setParallelism(1)
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Tuple2<String, Long>>forMonotonousTimestamps()
                                        .withTimestampAssigner((row, time) -> row.f1 * 1000))
                        .uid("times")
                        .setParallelism(1);
        KeyedStream<Tuple2<String, Long>, String> users = rows.keyBy(row -> row.f0);
        SingleOutputStreamOperator<String> joined =
                users.intervalJoin(rows.keyBy(row -> row.f0))
                        .between(Duration.ofSeconds(-20), Duration.ofSeconds(20))
                        .process(new Joined())
                        .uid("joined");
        SingleOutputStreamOperator<String> matched =
                CEP.pattern(users, pattern()).select(new Matched(), Types.STRING).uid("matched");
        SingleOutputStreamOperator<String> windows =
                users.window(TumblingEventTimeWindows.of(Duration.ofSeconds(60)))
                        .reduce((a, b) -> Tuple2.of(a.f0, a.f1 + b.f1))
                        .uid("windows")
                        .map(row -> row.f0)
                        .map(new Counted("windows"));
        SingleOutputStreamOperator<String> sessions =
                users.window(EventTimeSessionWindows.withGap(Duration.ofSeconds(30)))
                        .reduce((a, b) -> Tuple2.of(a.f0, a.f1 + b.f1))
                        .uid("sessions")
                        .map(row -> row.f0)
                        .map(new Counted("sessions"));
        joined.union(matched, windows, sessions).sinkTo(new DiscardingSink<>()).uid("end");
        MoreOperators.define(env, rows, users);
        return env.getStreamGraph().getJobGraph();
    }

    private static Pattern<Tuple2<String, Long>, ?> pattern() {
        return Pattern.<Tuple2<String, Long>>begin("even")
                .where(SimpleCondition.of(row -> row.f1 % 2 == 0))
                .followedBy("fourth")
                .where(SimpleCondition.of(row -> row.f1 % 4 == 3));
    }

    private static int counted(String name) {
        return COUNTS.getOrDefault(name, new AtomicInteger()).get();
    }

    private static void count(String name) {
        COUNTS.computeIfAbsent(name, key -> new AtomicInteger()).incrementAndGet();
    }

    /** Rows of seven users; a job that is to stop waits in the middle. */
    static final class Rows implements MapFunction<Long, Tuple2<String, Long>> {
        @Override
        public Tuple2<String, Long> map(Long number) throws Exception {
            if (stops && number > SLOW) {
                Thread.sleep(200);
            }
            count("rows");
            return Tuple2.of("user " + number % 7, number);
        }
    }

    static final class Joined
            extends ProcessJoinFunction<Tuple2<String, Long>, Tuple2<String, Long>, String> {
        @Override
        public void processElement(
                Tuple2<String, Long> left,
                Tuple2<String, Long> right,
                Context context,
                Collector<String> out) {
            count("joined");
            out.collect(left.f0);
        }
    }

    static final class Matched implements PatternSelectFunction<Tuple2<String, Long>, String> {
        @Override
        public String select(Map<String, List<Tuple2<String, Long>>> events) {
            count("matched");
            return events.get("even").get(0).f0;
        }
    }

    static final class Counted implements MapFunction<String, String> {
        private final String name;

        Counted(String name) {
            this.name = name;
        }

        @Override
        public String map(String row) {
            count(name);
            return row;
        }
    }
}
