package shop;

import java.time.Duration;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * The two input streams: folders that are watched for new files, so that no source ever finishes.
 *
 * <p>Sources run with parallelism 1. That is what makes the state computable: the rows of a key
 * arrive in the order of the file, and each row meets the watermark of the row before it.
 */
final class Inputs {
    /** No row of the input is older than this behind the newest one, so none is late. */
    static final Duration OUT_OF_ORDERNESS = Duration.ofHours(1);

    private static final Duration LOOK_EVERY = Duration.ofMillis(50);

    private Inputs() {}

    static DataStream<CurrencyRate> rates(StreamExecutionEnvironment env, String inbox) {
        return lines(env, inbox, "rates")
                .map(CurrencyRate::parse)
                .returns(CurrencyRate.class)
                .setParallelism(1)
                .uid("rates");
    }

    static DataStream<Transaction> transactions(StreamExecutionEnvironment env, String inbox) {
        return lines(env, inbox, "transactions")
                .map(Inputs::parseAndCount)
                .returns(Transaction.class)
                .setParallelism(1)
                .uid("transactions")
                .assignTimestampsAndWatermarks(afterEveryRow())
                .setParallelism(1)
                .uid("watermarks");
    }

    private static DataStream<String> lines(
            StreamExecutionEnvironment env, String inbox, String name) {
        FileSource<String> source =
                FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(inbox, name))
                        .monitorContinuously(LOOK_EVERY)
                        .build();
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), name)
                .setParallelism(1)
                .uid(name + "_source");
    }

    private static Transaction parseAndCount(String line) {
        Transaction transaction = Transaction.parse(line);
        Progress.TRANSACTIONS.incrementAndGet();
        return transaction;
    }

    private static WatermarkStrategy<Transaction> afterEveryRow() {
        return WatermarkStrategy.<Transaction>forGenerator(context -> new AfterEveryRow())
                .withTimestampAssigner((transaction, timestamp) -> transaction.eventTime);
    }

    /** Unlike Flink's own generator it does not wait for a clock. */
    private static final class AfterEveryRow implements WatermarkGenerator<Transaction> {
        private long newest = Long.MIN_VALUE + OUT_OF_ORDERNESS.toMillis() + 1;

        @Override
        public void onEvent(Transaction transaction, long timestamp, WatermarkOutput output) {
            newest = Math.max(newest, timestamp);
            output.emitWatermark(new Watermark(newest - OUT_OF_ORDERNESS.toMillis() - 1));
        }

        @Override
        public void onPeriodicEmit(WatermarkOutput output) {}
    }
}
