package legacy;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Properties;
import jobs.Jobs;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.connectors.kafka.FlinkKafkaConsumer;
import org.apache.flink.streaming.connectors.kafka.FlinkKafkaProducer;
import org.apache.flink.streaming.connectors.kafka.KafkaSerializationSchema;
import org.apache.kafka.clients.producer.ProducerRecord;

/** A job of Flink 1 with two sources, of which one reads two topics, and a sink: none has a uid. */
public final class LegacyVariants {
    private static final String TIMEOUT_MS = "600000";
    private static final long NEVER_MS = 3_600_000;
    private static final int PRODUCERS = 4;

    public static void main(String[] args) throws Exception {
        Jobs.serve(
                (env, words) -> {
                    if (words[3].equals("unaligned")) {
                        env.enableCheckpointing(NEVER_MS);
                        env.getCheckpointConfig().enableUnalignedCheckpoints();
                    }
                    env.enableChangelogStateBackend(words[3].equals("changelog"));
                    Properties properties = new Properties();
                    properties.put("bootstrap.servers", words[0]);
                    properties.put("group.id", "variants");
                    FlinkKafkaConsumer<String> two =
                            new FlinkKafkaConsumer<>(
                                    List.of(words[1] + "1", words[1] + "2"),
                                    new SimpleStringSchema(),
                                    properties);
                    two.setStartFromEarliest();
                    FlinkKafkaConsumer<String> latest =
                            new FlinkKafkaConsumer<>(
                                    words[1] + "3", new SimpleStringSchema(), properties);
                    latest.setStartFromLatest();
                    Properties producer = new Properties();
                    producer.put("bootstrap.servers", words[0]);
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
                    sink.setTransactionalIdPrefix(topic);
                    // A hash that a user gives is for restores; the state has the one of Flink.
                    DataStream<String> first =
                            env.addSource(two).setUidHash("0123456789abcdef0123456789abcdef");
                    first.union(env.addSource(latest))
                            .keyBy(Jobs::keyOf, Types.LONG)
                            .map(new Jobs.Counting())
                            .uid("counts")
                            .addSink(sink);
                });
    }

    private LegacyVariants() {}
}
