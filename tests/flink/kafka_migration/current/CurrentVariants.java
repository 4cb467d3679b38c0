package current;

import jobs.Jobs;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** The job of {@code LegacyVariants} for Flink 2: its sources have the hashes of the old ones. */
public final class CurrentVariants {
    private static final String TIMEOUT_MS = "600000";

    public static void main(String[] args) throws Exception {
        Jobs.serve(
                (env, words) -> {
                    String two = words[1] + "1," + words[1] + "2";
                    DataStream<String> first = source(env, words[0], words[3], two.split(","));
                    first.union(source(env, words[0], words[4], words[1] + "3"))
                            .keyBy(Jobs::keyOf, Types.LONG)
                            .map(new Jobs.Counting())
                            .uid("counts")
                            .sinkTo(
                                    KafkaSink.<String>builder()
                                            .setBootstrapServers(words[0])
                                            .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
                                            .setTransactionalIdPrefix("new-" + words[2])
                                            .setProperty("transaction.timeout.ms", TIMEOUT_MS)
                                            .setRecordSerializer(
                                                    KafkaRecordSerializationSchema.<String>builder()
                                                            .setTopic(words[2])
                                                            .setValueSerializationSchema(
                                                                    new SimpleStringSchema())
                                                            .build())
                                            .build())
                            .uid("results");
                });
    }

    private static DataStream<String> source(
            StreamExecutionEnvironment env, String address, String hash, String... topics) {
        KafkaSource<String> source =
                KafkaSource.<String>builder()
                        .setBootstrapServers(address)
                        .setGroupId("current-variants")
                        .setTopics(topics)
                        .setStartingOffsets(OffsetsInitializer.latest())
                        .setProperty("partition.discovery.interval.ms", "1000")
                        .setValueOnlyDeserializer(new SimpleStringSchema())
                        .build();
        return env.fromSource(source, WatermarkStrategy.noWatermarks(), topics[0]).setUidHash(hash);
    }

    private CurrentVariants() {}
}
