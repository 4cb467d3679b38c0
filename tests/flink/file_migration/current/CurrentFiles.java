package current;

import java.time.Duration;
import jobs.Jobs;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;

/** The same job in Flink 2. */
public final class CurrentFiles {
    public static void main(String[] args) throws Exception {
        Jobs.serve(
                (env, words) ->
                        env.fromSource(
                                        FileSource.forRecordStreamFormat(
                                                        new TextLineInputFormat(),
                                                        new Path(words[0]))
                                                .monitorContinuously(Duration.ofMillis(100))
                                                .build(),
                                        WatermarkStrategy.noWatermarks(),
                                        "lines")
                                .uid("lines")
                                .keyBy(Jobs::keyOf, Types.LONG)
                                .map(new Jobs.Counting())
                                .uid("counts")
                                .sinkTo(
                                        FileSink.forRowFormat(
                                                        new Path(words[1]),
                                                        new SimpleStringEncoder<String>("UTF-8"))
                                                .withRollingPolicy(
                                                        OnCheckpointRollingPolicy.build())
                                                .build())
                                .uid("files"));
    }

    private CurrentFiles() {}
}
