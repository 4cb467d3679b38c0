package legacy;

import jobs.Jobs;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.io.TextInputFormat;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.functions.sink.filesystem.StreamingFileSink;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.streaming.api.functions.source.FileProcessingMode;

/** A job of Flink 1 that watches a directory, and takes its time for each line. */
public final class LegacyFiles {
    public static void main(String[] args) throws Exception {
        Jobs.serve(
                (env, words) -> {
                    long pause = Long.parseLong(words[2]);
                    env.readFile(
                                    new TextInputFormat(new Path(words[0])),
                                    words[0],
                                    FileProcessingMode.PROCESS_CONTINUOUSLY,
                                    100)
                            .uid("lines")
                            .map(
                                    line -> {
                                        Thread.sleep(pause);
                                        return line;
                                    })
                            .keyBy(Jobs::keyOf, Types.LONG)
                            .map(new Jobs.Counting())
                            .uid("counts")
                            .addSink(
                                    StreamingFileSink.forRowFormat(
                                                    new Path(words[1]),
                                                    new SimpleStringEncoder<String>("UTF-8"))
                                            .withRollingPolicy(OnCheckpointRollingPolicy.build())
                                            .build())
                            .uid("files");
                });
    }

    private LegacyFiles() {}
}
