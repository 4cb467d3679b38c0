package restore;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.datastream.WindowedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/** A job without input that has the described operators, each with its uid, behind one source. */
final class RestoreJob {
    private static final Duration LOOK_EVERY = Duration.ofHours(1);

    private final DataStream<Object> nothing;

    private RestoreJob(DataStream<Object> nothing) {
        this.nothing = nothing;
    }

    /** The job of a request; {@code inbox} is a folder in which there is no file. */
    static JobGraph graph(Request request, String inbox) {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(configuration(request));
        RestoreJob job = new RestoreJob(nothing(env, inbox, request));
        for (Request.Operator operator : request.operators()) {
            job.stream(operator).uid(operator.uid());
        }
        return env.getStreamGraph().getJobGraph();
    }

    /** Operators of the savepoint that are not described are left out, unless a request refuses that. */
    private static Configuration configuration(Request request) {
        Map<String, String> entries = new HashMap<>(request.configuration());
        if (request.savepoint() != null) {
            entries.put("execution.state-recovery.path", request.savepoint());
        }
        entries.putIfAbsent("execution.state-recovery.ignore-unclaimed-state", "true");
        entries.put("restart-strategy.type", "none");
        return Configuration.fromMap(entries);
    }

    private static DataStream<Object> nothing(
            StreamExecutionEnvironment env, String inbox, Request request) {
        FileSource.FileSourceBuilder<String> builder =
                FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(inbox));
        FileSource<String> source =
                (request.ends() ? builder : builder.monitorContinuously(LOOK_EVERY)).build();
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), "nothing")
                .setParallelism(1)
                .map(line -> (Object) line)
                .returns(object(Types.STRING))
                .setParallelism(1)
                .transform("time", object(Types.STRING), new TimeOperator(request.watermark()))
                .setParallelism(1);
    }

    private SingleOutputStreamOperator<?> stream(Request.Operator operator) {
        return switch (operator.function()) {
            case "dump" -> input(operator)
                    .transform("dump", object(Types.STRING), new DumpOperator(operator));
            case "fire" -> keyed(nothing, operator)
                    .process(new FiringFunction(operator), object(Types.STRING));
            case "find" -> found(operator);
            case "window" -> windows(operator);
            case "trace" -> traced(operator);
            case "window-trace" -> WindowTrace.of(nothing, object(Types.STRING), operator);
            default -> throw new IllegalArgumentException("no function " + operator.function());
        };
    }

    private DataStream<Object> input(Request.Operator operator) {
        return operator.key() == null ? nothing : keyed(nothing, operator);
    }

    private static KeyedStream<Object, Object> keyed(
            DataStream<Object> stream, Request.Operator operator) {
        return stream.keyBy(value -> value, TypeWords.type(operator.key()));
    }

    private SingleOutputStreamOperator<Object> found(Request.Operator operator) {
        TypeInformation<Object> keys = TypeWords.type(operator.key());
        return nothing.transform("keys", object(Types.INT), new KeysOperator(operator.keys()))
                .setParallelism(1)
                .keyBy(new KeyOf(keys.getTypeClass()), keys)
                .process(new FindFunction(operator.uid()), object(Types.STRING));
    }

    private SingleOutputStreamOperator<Object> traced(Request.Operator operator) {
        Request.Trace trace = operator.trace();
        return nothing.transform(
                        "events",
                        Types.TUPLE(Types.STRING, Types.LONG),
                        new EventsOperator(trace.events()))
                .setParallelism(1)
                .keyBy(row -> row.f0, Types.STRING)
                .process(new TraceFunction(operator.uid(), trace.does()), object(Types.STRING));
    }

    private SingleOutputStreamOperator<Object> windows(Request.Operator operator) {
        TypeInformation<Object> type = TypeWords.type(operator.windows().type());
        TypeInformation<Object> output = object(Types.STRING);
        DataStream<Object> elements = nothing.map(value -> value).returns(type).setParallelism(1);
        WindowedStream<Object, Object, TimeWindow> windows =
                keyed(elements, operator)
                        .window(assigner(operator.windows()))
                        .allowedLateness(Duration.ofMillis(operator.windows().lateness()));
        WindowFunction function = new WindowFunction(operator);
        return switch (operator.windows().contents()) {
            case "reduce" -> windows.reduce(KeyedStates::first, function, output);
            case "aggregate" ->
                    windows.aggregate(new KeyedStates.Accumulator(), function, type, type, output);
            case "process" -> windows.process(function, output);
            default -> throw new IllegalArgumentException("no contents like this");
        };
    }

    private static WindowAssigner<Object, TimeWindow> assigner(Request.Windows windows) {
        Duration size = Duration.ofMillis(windows.size());
        return switch (windows.assigner()) {
            case "tumbling" -> TumblingEventTimeWindows.of(size);
            case "tumbling by clock" -> TumblingProcessingTimeWindows.of(size);
            case "session" -> EventTimeSessionWindows.withGap(size);
            default -> throw new IllegalArgumentException("no assigner " + windows.assigner());
        };
    }

    /** For a stream on which there is nothing, of whatever type it may be. */
    @SuppressWarnings("unchecked")
    private static TypeInformation<Object> object(TypeInformation<?> type) {
        return (TypeInformation<Object>) type;
    }
}
