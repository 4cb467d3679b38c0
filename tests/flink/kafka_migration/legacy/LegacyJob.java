package legacy;

import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.regex.Pattern;
import jobs.Jobs;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.sink.filesystem.StreamingFileSink;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumer;
import org.apache.flink.streaming.connectors.kafka.FlinkKafkaProducer;
import org.apache.flink.streaming.connectors.kafka.KafkaSerializationSchema;
import org.apache.kafka.clients.producer.ProducerRecord;

/** A job of Flink 1 with sources and sinks that Flink 2 does not have. */
public final class LegacyJob {
    private static final String TIMEOUT_MS = "600000";
    // The sink first aborts ten times as many transactions per subtask.
    private static final int PRODUCERS = 2;

    public static void main(String[] args) throws Exception {
        Jobs.serve(
                (env, words) -> {
                    String address = words[0];
                    Properties properties = new Properties();
                    properties.put("bootstrap.servers", address);
                    properties.put("group.id", "legacy");
                    properties.put("flink.partition-discovery.interval-millis", "1000");
                    FlinkKafkaConsumer<String> consumer =
                            new FlinkKafkaConsumer<>(
                                    Pattern.compile(words[1]), new SimpleStringSchema(), properties);
                    consumer.setStartFromEarliest();
                    SingleOutputStreamOperator<String> counts =
                            env.addSource(consumer)
                                    .uid("orders")
                                    .keyBy(Jobs::keyOf, Types.LONG)
                                    .map(new Jobs.Counting())
                                    .uid("counts");
                    Properties producer = new Properties();
                    producer.put("bootstrap.servers", address);
                    producer.put("transaction.timeout.ms", TIMEOUT_MS);
                    String topic = words[2];
                    KafkaSerializationSchema<String> texts =
                            (text, time) ->
                                    new ProducerRecord<>(
                                            topic, text.getBytes(StandardCharsets.UTF_8));
                    FlinkKafkaProducer<String> sink =
                            new FlinkKafkaProducer<>(
                                    topic,
                                    texts,
                                    producer,
                                    FlinkKafkaProducer.Semantic.EXACTLY_ONCE,
                                    PRODUCERS);
                    // A job with the same prefix aborts the transactions of the one before.
                    sink.setTransactionalIdPrefix(topic);
                    counts.addSink(sink).uid("results");
                    counts.addSink(
                                    StreamingFileSink.forRowFormat(
                                                    new Path(words[3]),
                                                    new SimpleStringEncoder<String>("UTF-8"))
                                            .withRollingPolicy(OnCheckpointRollingPolicy.build())
                                            .build())
                            .uid("files");
                });
    }

    private LegacyJob() {}
}
