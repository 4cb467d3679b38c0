package current;

import java.util.regex.Pattern;
import jobs.Jobs;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;

/** The job of {@code LegacyJob} for Flink 2, with the same uids. */
public final class CurrentJob {
    private static final String TIMEOUT_MS = "600000";

    public static void main(String[] args) throws Exception {
        Jobs.serve(
                (env, words) -> {
                    KafkaSource<String> source =
                            KafkaSource.<String>builder()
                                    .setBootstrapServers(words[0])
                                    .setGroupId("current")
                                    .setTopicPattern(Pattern.compile(words[1]))
                                    .setStartingOffsets(OffsetsInitializer.latest())
                                    .setProperty("partition.discovery.interval.ms", "1000")
                                    .setValueOnlyDeserializer(new SimpleStringSchema())
                                    .build();
                    SingleOutputStreamOperator<String> counts =
                            env.fromSource(source, WatermarkStrategy.noWatermarks(), "orders")
                                    .uid("orders")
                                    .keyBy(Jobs::keyOf, Types.LONG)
                                    .map(new Jobs.Counting())
                                    .uid("counts");
                    counts.sinkTo(
                                    KafkaSink.<String>builder()
                                            .setBootstrapServers(words[0])
                                            .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
                                            .setTransactionalIdPrefix("current")
                                            .setProperty("transaction.timeout.ms", TIMEOUT_MS)
                                            .setRecordSerializer(
                                                    KafkaRecordSerializationSchema.<String>builder()
                                                            .setTopic(words[2])
                                                            .setValueSerializationSchema(
                                                                    new SimpleStringSchema())
                                                            .build())
                                            .build())
                            .uid("results");
                    counts.sinkTo(
                                    FileSink.forRowFormat(
                                                    new Path(words[3]),
                                                    new SimpleStringEncoder<String>("UTF-8"))
                                            .withRollingPolicy(OnCheckpointRollingPolicy.build())
                                            .build())
                            .uid("files");
                });
    }

    private CurrentJob() {}
}
