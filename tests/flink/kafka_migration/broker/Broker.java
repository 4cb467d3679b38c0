package broker;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Time;

/**
 * A broker of Kafka in this JVM, and what tests ask of it.
 *
 * <p>Arguments: its folder, its port, and the port of its controller. A line of the standard input
 * is a command; its answer is a line per fact, and an empty line.
 */
public final class Broker {
    private static final Duration POLL = Duration.ofMillis(200);

    private final Map<String, Object> client = new HashMap<>();
    private final Admin admin;

    private Broker(String address) {
        client.put("bootstrap.servers", address);
        admin = Admin.create(client);
    }

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        String address = "127.0.0.1:" + args[1];
        KafkaRaftServer server = started(Path.of(args[0]), address, "127.0.0.1:" + args[2]);
        Broker broker = new Broker(address);
        BufferedReader requests =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            try {
                broker.answer(line.split(" ")).forEach(answers::println);
            } catch (Exception error) {
                error.printStackTrace();
                answers.println("error " + error);
            }
            answers.println();
        }
        broker.admin.close(Duration.ZERO);
        server.shutdown();
    }

    private static KafkaRaftServer started(Path folder, String address, String controller)
            throws Exception {
        Properties facts = new Properties();
        facts.put("process.roles", "broker,controller");
        facts.put("node.id", "1");
        facts.put("controller.quorum.voters", "1@" + controller);
        facts.put("listeners", "PLAINTEXT://" + address + ",CONTROLLER://" + controller);
        facts.put("controller.listener.names", "CONTROLLER");
        facts.put("log.dirs", folder.resolve("logs").toString());
        for (String topic : List.of("offsets.topic", "transaction.state.log")) {
            facts.put(topic + ".replication.factor", "1");
            facts.put(topic + ".num.partitions", "1");
        }
        facts.put("transaction.state.log.min.isr", "1");
        facts.put("group.initial.rebalance.delay.ms", "0");
        Path file = folder.resolve("server.properties");
        if (!Files.exists(file)) {
            Files.createDirectories(folder);
            try (var output = Files.newOutputStream(file)) {
                facts.store(output, null);
            }
            String[] format = {
                "format", "--cluster-id", "4L6g3nShT-eMCtK--X86sw", "--config", file.toString()
            };
            StorageTool.execute(format, System.err);
        }
        KafkaRaftServer server = new KafkaRaftServer(new KafkaConfig(facts), Time.SYSTEM);
        server.startup();
        return server;
    }

    private List<String> answer(String[] words) throws Exception {
        switch (words[0]) {
            case "topic":
                NewTopic topic = new NewTopic(words[1], Integer.parseInt(words[2]), (short) 1);
                admin.createTopics(List.of(topic)).all().get();
                return List.of("ok");
            case "partitions":
                NewPartitions more = NewPartitions.increaseTo(Integer.parseInt(words[2]));
                admin.createPartitions(Map.of(words[1], more)).all().get();
                return List.of("ok");
            case "send":
                return send(words[1], Integer.parseInt(words[2]), words[3], words[4]);
            case "read":
                return read(words[1]);
            case "transactions":
                return transactions();
            case "abort":
                // The tool kafka-transactions.sh forceTerminateTransaction does just this.
                String name = String.join(" ", Arrays.copyOfRange(words, 1, words.length));
                admin.forceTerminateTransaction(name).result().get();
                return List.of("ok");
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** Numbers from the first one to before the last one, into one partition. */
    private List<String> send(String topic, int partition, String first, String end)
            throws Exception {
        StringSerializer text = new StringSerializer();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(client, text, text)) {
            for (int number = Integer.parseInt(first); number < Integer.parseInt(end); number++) {
                producer.send(new ProducerRecord<>(topic, partition, null, "" + number));
            }
            producer.flush();
        }
        return List.of("ok");
    }

    /** All committed values, up to the first open transaction of each partition. */
    private List<String> read(String topic) {
        Map<String, Object> facts = new HashMap<>(client);
        facts.put("isolation.level", IsolationLevel.READ_COMMITTED.toString());
        StringDeserializer text = new StringDeserializer();
        List<String> values = new ArrayList<>();
        values.add("ok");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(facts, text, text)) {
            List<TopicPartition> partitions =
                    consumer.partitionsFor(topic).stream()
                            .map(known -> new TopicPartition(topic, known.partition()))
                            .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(at -> consumer.position(at) < ends.get(at))) {
                for (ConsumerRecord<String, String> row : consumer.poll(POLL)) {
                    values.add(row.value());
                }
            }
        }
        return values;
    }

    /** The ids of open transactions. */
    private List<String> transactions() throws Exception {
        List<String> facts = new ArrayList<>();
        facts.add("ok");
        for (var known : admin.listTransactions().all().get()) {
            if (known.state() == TransactionState.ONGOING) {
                facts.add(known.transactionalId());
            }
        }
        return facts;
    }
}
