package app;

import changes.Keys;
import changes.Seen;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.specific.SpecificRecordBase;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.typeutils.GenericTypeInfo;
import org.apache.flink.formats.avro.typeutils.AvroSerializer;
import org.apache.flink.formats.avro.typeutils.GenericRecordAvroTypeInfo;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;

/** The job whose next versions differ in one thing each: the tests change lines of this text. */
public final class Job {
    private static final TypeInformation<String> KEY = Types.STRING;
    /** Kryo writes these lists. */
    private static final TypeInformation<List<String>> WORDS =
            new GenericTypeInfo<>((Class<List<String>>) (Class<?>) List.class);
    private static final StateTtlConfig TTL =
            StateTtlConfig.newBuilder(java.time.Duration.ofDays(7)).build();

    private Job() {}

    public static String key(int number) {
        return "key " + number;
    }

    public static void build(DataStream<Integer> numbers) {
        numbers.keyBy(Job::key, KEY).process(new Orders()).returns(Types.STRING).uid("orders");
        numbers.keyBy(Job::key, KEY).process(new Audit()).returns(Types.STRING).uid("audit");
    }

    public enum Grade {
        LOW,
        MIDDLE,
        HIGH
    }

    public static class Address {
        public String city = "Basel";
        public int code = 4051;
    }

    public static class Order {
        public int amount = 7;
        public String note = "new";
        public Grade grade = Grade.MIDDLE;
        public Address address = new Address();
    }

    public static class Place {
        public String name = "here";

        @Override
        public int hashCode() {
            return name.hashCode();
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Place && ((Place) other).name.equals(name);
        }
    }

    /** No POJO: Kryo writes it. */
    public static class Token {
        private final int number;

        public Token(int number) {
            this.number = number;
        }

        static Token first() {
            return new Token(1);
        }
    }

    static final String SCHEMA =
            "{'type': 'record', 'name': 'Visit', 'namespace': 'shop', 'fields': ["
                    + "{'name': 'page', 'type': 'string'},"
                    + "{'name': 'seconds', 'type': 'int'},"
                    + "{'name': 'kind', 'type': {'type': 'enum', 'name': 'Kind', 'symbols': ['A', 'B']}}"
                    + "]}";

    static Schema schema() {
        return new Schema.Parser().parse(SCHEMA.replace('\'', '"'));
    }

    static GenericRecord visit() {
        Schema schema = schema();
        GenericRecord visit = new GenericData.Record(schema);
        for (Schema.Field field : schema.getFields()) {
            Object value =
                    switch (field.schema().getType()) {
                        case STRING -> "start";
                        case INT -> 3;
                        case LONG -> 3L;
                        case ENUM -> new GenericData.EnumSymbol(field.schema(), "A");
                        default -> null;
                    };
            visit.put(field.name(), value);
        }
        return visit;
    }

    /** A generated class would be like this. */
    public static class Call extends SpecificRecordBase {
        public static final Schema SCHEMA$ =
                new Schema.Parser()
                        .parse(
                                ("{'type': 'record', 'name': 'Call', 'namespace': 'app.Job$', 'fields': ["
                                                + "{'name': 'caller', 'type': 'string'},"
                                                + "{'name': 'length', 'type': 'int'}]}")
                                        .replace('\'', '"'));

        private final Object[] values = new Object[SCHEMA$.getFields().size()];

        static Call first() {
            Call call = new Call();
            call.put(SCHEMA$.getField("caller").pos(), "me");
            call.put(SCHEMA$.getField("length").pos(), 3);
            return call;
        }

        @Override
        public Schema getSchema() {
            return SCHEMA$;
        }

        @Override
        public Object get(int field) {
            return values[field];
        }

        @Override
        public void put(int field, Object value) {
            values[field] = value;
        }
    }

    /** Avro knows it by reflection. */
    public static class Plain {
        public String name = "plain";
        public int size = 4;

        @Override
        public String toString() {
            return name + " " + size;
        }
    }

    /** All kinds of keyed state, and a list of the operator. Values that it finds go into the next savepoint as they are. */
    static final class Orders extends KeyedProcessFunction<String, Integer, String>
            implements CheckpointedFunction {
        private transient ValueState<Order> order;
        private transient ValueState<Token> token;
        private transient ValueState<GenericRecord> visit;
        private transient ValueState<Row> row;
        private transient ValueState<Tuple2<String, Integer>> pair;
        private transient ValueState<Integer> count;
        private transient ListState<String> notes;
        private transient MapState<String, Integer> amounts;
        private transient MapState<Place, Long> places;
        private transient ReducingState<Long> total;
        private transient ValueState<List<String>> words;
        private transient ValueState<Call> call;
        private transient ValueState<Plain> plain;
        private transient ListState<Address> seen;

        @Override
        public void open(OpenContext context) {
            ValueStateDescriptor<Order> orders =
                    new ValueStateDescriptor<>("order", TypeInformation.of(Order.class));
            ListStateDescriptor<String> texts = new ListStateDescriptor<>("notes", Types.STRING);
            MapStateDescriptor<String, Integer> numbers =
                    new MapStateDescriptor<>("amounts", Types.STRING, Types.INT);
            // The time to live of states.
            order = getRuntimeContext().getState(orders);
            notes = getRuntimeContext().getListState(texts);
            amounts = getRuntimeContext().getMapState(numbers);
            token = getRuntimeContext().getState(new ValueStateDescriptor<>("token", Types.GENERIC(Token.class)));
            visit = getRuntimeContext().getState(new ValueStateDescriptor<>("visit", new GenericRecordAvroTypeInfo(schema())));
            row = getRuntimeContext().getState(new ValueStateDescriptor<>("row", Types.ROW(Types.INT, Types.STRING)));
            pair = getRuntimeContext().getState(new ValueStateDescriptor<>("pair", Types.TUPLE(Types.STRING, Types.INT)));
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.INT));
            places = getRuntimeContext().getMapState(new MapStateDescriptor<>("places", TypeInformation.of(Place.class), Types.LONG));
            words = getRuntimeContext().getState(new ValueStateDescriptor<>("words", WORDS));
            call = getRuntimeContext().getState(new ValueStateDescriptor<>("call", new AvroSerializer<>(Call.class)));
            plain = getRuntimeContext().getState(new ValueStateDescriptor<>("plain", new AvroSerializer<>(Plain.class)));
            total = getRuntimeContext().getReducingState(new ReducingStateDescriptor<>("total", Long::sum, Types.LONG));
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            seen = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("seen", TypeInformation.of(Address.class)));
            for (Address address : seen.get()) {
                Seen.kept("seen", address);
            }
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            seen.update(List.of(new Address()));
        }

        @Override
        public void processElement(Integer number, Context context, Collector<String> out)
                throws Exception {
            Seen.kept("order", order.value());
            if (order.value() == null) {
                order.update(new Order());
            }
            Seen.kept("token", token.value());
            if (token.value() == null) {
                token.update(Token.first());
            }
            Seen.kept("visit", visit.value());
            if (visit.value() == null) {
                visit.update(visit());
            }
            Seen.kept("row", row.value());
            if (row.value() == null) {
                row.update(Row.of(1, "a"));
            }
            Seen.kept("words", words.value());
            if (words.value() == null) {
                words.update(new ArrayList<>(List.of("a", "b")));
            }
            Call oldCall = call.value();
            Seen.kept("call", oldCall);
            if (oldCall == null) {
                call.update(Call.first());
            }
            Plain oldPlain = plain.value();
            Seen.kept("plain", oldPlain);
            if (oldPlain == null) {
                plain.update(new Plain());
            }
            Seen.kept("pair", pair.value());
            if (pair.value() == null) {
                pair.update(Tuple2.of("a", 1));
            }
            Seen.kept("count", count.value());
            count.update(1);
            for (Object note : notes.get()) {
                Seen.kept("notes", note);
            }
            notes.update(List.of("first"));
            for (Map.Entry<?, ?> entry : amounts.entries()) {
                Seen.kept("amounts", entry.getValue());
            }
            amounts.put("a", 1);
            for (Map.Entry<?, ?> entry : places.entries()) {
                Seen.kept("places", entry.getKey());
            }
            places.put(new Place(), 1L);
            Seen.kept("total", total.get());
            total.add(1L);
            context.timerService().registerProcessingTimeTimer(Long.MAX_VALUE / 2);
            Seen.done();
        }
    }

    static final class Audit extends KeyedProcessFunction<String, Integer, String> {
        private transient ValueState<Integer> audits;

        @Override
        public void open(OpenContext context) {
            audits = getRuntimeContext().getState(new ValueStateDescriptor<>("audits", Types.INT));
        }

        @Override
        public void processElement(Integer number, Context context, Collector<String> out)
                throws Exception {
            Seen.kept("audits", audits.value());
            audits.update(1);
            Seen.done();
        }
    }
}
