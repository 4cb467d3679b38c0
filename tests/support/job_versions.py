"""New versions of the Java job that the doctor is asked about, and what a real Flink does with each."""

from __future__ import annotations

from support.changed_jobs import Version

Case = tuple[Version, str]


def field(old: str, new: str) -> dict[str, str]:
    """A change of a line in a POJO."""
    return {f"        public {old}": f"        public {new}"}


ROW = "Types.ROW(Types.INT, Types.STRING)"
COUNT = 'new ValueStateDescriptor<>("count", Types.INT)'
AUDIT = 'process(new Audit()).returns(Types.STRING).uid("audit")'
SECONDS = "{'name': 'seconds', 'type': 'int'}"
CALLER = "\"{'name': 'caller', 'type': 'string'},\"\n"
LENGTH = "\"{'name': 'length', 'type': 'int'}]}\""
KIND = "+ \"{'name': 'kind', 'type': {'type': 'enum', 'name': 'Kind', 'symbols': ['A', 'B']}}\""
LAST = "+ \"{'name': 'kind',"


def with_field(text: str) -> dict[str, str]:
    """One more field in the Avro schema."""
    return {LAST: f'+ "{text}," {LAST}'}


# Kryo writes a token with this serializer if it is given.
OWN_SERIALIZER = """
    public static class TokenSerializer extends com.esotericsoftware.kryo.Serializer<Token> {
        public void write(com.esotericsoftware.kryo.Kryo kryo, com.esotericsoftware.kryo.io.Output output, Token token) { output.writeString("n" + token.number); }
        public Token read(com.esotericsoftware.kryo.Kryo kryo, com.esotericsoftware.kryo.io.Input input, Class<? extends Token> type) { return new Token(Integer.parseInt(input.readString().substring(1))); }
    }
"""
WITH_SERIALIZER = {
    "        static Token first()": '        public String toString() { return "token " + number; }\n        static Token first()',
    "    /** Avro knows it by reflection. */": OWN_SERIALIZER,
}
TOKENS = "[app.Job$Address: {{type: kryo}}, app.Job$Token: {{type: kryo, kryo-type: {}, class: app.Job$TokenSerializer}}]"

# A change, and the rule about it; Flink restores these.
RESTORED: tuple[Case, ...] = (
    (Version("same"), ""),
    (
        Version(
            "field added",
            field(
                "int amount = 7;",
                'int amount = 7; public long extra = 5; public String toString() { return amount + " " + extra; }',
            ),
        ),
        "field-added",
    ),
    (Version("field removed", field('String note = "new";', "int none;")), "field-removed"),
    (
        Version("field renamed", field('String note = "new";', 'String remark = "new";')),
        "field-renamed",
    ),
    (
        Version(
            "field of a field added", field("int code = 4051;", "int code; public String land;")
        ),
        "field-added",
    ),
    (
        Version(
            "enum reordered", {"        LOW,\n        MIDDLE,": "        MIDDLE,\n        LOW,"}
        ),
        "enum-order",
    ),
    (
        Version("enum constant added", {"        LOW,\n": "        NONE,\n        LOW,\n"}),
        "enum-order",
    ),
    (
        Version("state renamed", {COUNT: 'new ValueStateDescriptor<>("number", Types.INT)'}),
        "state-renamed",
    ),
    (
        Version(
            "state removed",
            {f"count = getRuntimeContext().getState({COUNT});": ""}
            | {'Seen.kept("count", count.value());\n            count.update(1);': ""},
        ),
        "state-not-used",
    ),
    (
        Version(
            "state added",
            {
                "count = getRuntime": 'getRuntimeContext().getState(new ValueStateDescriptor<>("x", Types.INT)); count = getRuntime'
            },
        ),
        "state-new",
    ),
    (
        Version(
            "operator added",
            {
                '.uid("audit");': '.uid("audit"); numbers.keyBy(Job::key, KEY).process(new Audit()).returns(Types.STRING).uid("more");'
            },
            operators=3,
        ),
        "operator-new",
    ),
    (
        Version("avro last field removed", {SECONDS + ',"': SECONDS + '"', KIND: ""}),
        "avro-evolved",
    ),
    (Version("avro doc", {SECONDS: SECONDS[:-1] + ", 'doc': 'x'}"}), "avro-evolved"),
    (Version("avro namespace", {"'namespace': 'shop'": "'namespace': 'mall'"}), "avro-evolved"),
    (
        Version(
            "avro class with a field in the middle",
            {
                LENGTH: "\"{'name': 'to', 'type': ['null', 'string'], 'default': null},\" + "
                + LENGTH
            },
        ),
        "avro-evolved",
    ),
    (
        Version(
            "avro class without its first field",
            {CALLER: '""\n', 'call.put(SCHEMA$.getField("caller").pos(), "me");': ""},
        ),
        "avro-evolved",
    ),
    (Version("reflected field widened", field("int size = 4;", "long size = 4;")), "avro-evolved"),
    (
        Version(
            "reflected field with default",
            field(
                "int size = 4;",
                'int size = 4; @org.apache.avro.reflect.AvroDefault("7") public int more = 5;',
            ),
        ),
        "avro-evolved",
    ),
    (Version("avro int to long", {SECONDS: "{'name': 'seconds', 'type': 'long'}"}), "avro-evolved"),
    (
        Version("avro int to a union", {SECONDS: "{'name': 'seconds', 'type': ['null', 'int']}"}),
        "avro-evolved",
    ),
    (
        Version(
            "avro field renamed with an alias",
            {SECONDS: "{'name': 'time', 'type': 'int', 'aliases': ['seconds']}"},
        ),
        "avro-evolved",
    ),
    (
        Version("avro symbol added", {"'symbols': ['A', 'B']": "'symbols': ['Z', 'A', 'B']"}),
        "avro-evolved",
    ),
    (
        Version(
            "kryo registration removed",
            config={"pipeline.serialization-config": "[]"},
        ),
        "kryo-registrations",
    ),
    (
        Version(
            "kryo registration added",
            config={
                "pipeline.serialization-config": "[app.Job$Address: {type: kryo}, app.Job$Place: {type: kryo}]"
            },
        ),
        "kryo-registrations",
    ),
    (
        Version(
            "key of a map evolves",
            field('String name = "here";', 'String name = "here"; public int x;'),
        ),
        "map-key-evolved-somewhere",
    ),
)
# Flink refuses these.
REFUSED: tuple[Case, ...] = (
    (Version("field widened", field("int amount = 7;", "long amount = 7;")), "field-widened"),
    (
        Version("field of another type", field("int amount = 7;", 'String amount = "7";')),
        "type-changed",
    ),
    (Version("enum constant removed", {"        LOW,\n": ""}), "enum-constant-removed"),
    (
        Version(
            "class renamed",
            {
                "Order.class": "Purchase.class",
                "<Order>": "<Purchase>",
                "new Order()": "new Purchase()",
                "class Order ": "class Purchase ",
            },
        ),
        "class-renamed",
    ),
    (Version("uid lost", {'.uid("audit")': ""}), "operator-moved"),
    (Version("uid changed", {'.uid("audit")': '.uid("auditor")'}), "operator-moved"),
    (
        Version("operator removed", {f"numbers.keyBy(Job::key, KEY).{AUDIT};": ""}, operators=1),
        "operator-missing",
    ),
    (
        Version(
            "value to list",
            {
                "ReducingState<Long> total": "ListState<Long> total",
                'getReducingState(new ReducingStateDescriptor<>("total", Long::sum, Types.LONG))': 'getListState(new ListStateDescriptor<>("total", Types.LONG))',
            }
            | {'Seen.kept("total", total.get());': "total.get();"},
        ),
        "state-kind",
    ),
    (
        Version(
            "key of another type",
            {
                "KEY = Types.STRING": "KEY = Types.LONG",
                "TypeInformation<String> KEY": "TypeInformation<Long> KEY",
                "String key(int number)": "Long key(int number)",
                'return "key " + number;': "return (long) number;",
                "KeyedProcessFunction<String,": "KeyedProcessFunction<Long,",
            },
        ),
        "key-type",
    ),
    (
        Version(
            "pojo to kryo",
            {
                "    public static class Order {": "    public static class Order {\n        private Order(int none) {}\n        public Order() { this(1); }\n        private int hidden;"
            },
        ),
        "pojo-kryo",
    ),
    (Version("class of kryo", {"Token": "Coin"}), "other-class"),
    (
        Version(
            "value of another type",
            {
                COUNT: 'new ValueStateDescriptor<>("count", Types.LONG)',
                "ValueState<Integer> count": "ValueState<Long> count",
                "count.update(1)": "count.update(1L)",
            },
        ),
        "type-changed",
    ),
    (
        Version(
            "element of another type",
            {
                '"notes", Types.STRING': '"notes", Types.LONG',
                "ListStateDescriptor<String> texts": "ListStateDescriptor<Long> texts",
                "ListState<String> notes": "ListState<Long> notes",
                'List.of("first")': "List.of(1L)",
            },
        ),
        "type-changed",
    ),
    (
        Version(
            "element of the operator",
            {
                'ListStateDescriptor<>("seen", TypeInformation.of(Address.class))': 'ListStateDescriptor<>("seen", Types.STRING)',
                "ListState<Address> seen": "ListState<String> seen",
                "for (Address address": "for (String address",
                "List.of(new Address())": 'List.of("a")',
            },
        ),
        "type-changed",
    ),
    (
        Version(
            "row with one more field",
            {
                ROW: "Types.ROW(Types.INT, Types.STRING, Types.INT)",
                'Row.of(1, "a")': 'Row.of(1, "a", 2)',
            },
        ),
        "arity-changed",
    ),
    (
        Version(
            "tuple with one more field",
            {
                "Types.TUPLE(Types.STRING, Types.INT)": "Types.TUPLE(Types.STRING, Types.INT, Types.INT)",
                "Tuple2<String, Integer>": "Tuple3<String, Integer, Integer>",
                'Tuple2.of("a", 1)': 'Tuple3.of("a", 1, 1)',
            },
        ),
        "arity-changed",
    ),
    (
        Version("avro field without default", with_field("{'name': 'n', 'type': 'int'}")),
        "avro-schema",
    ),
    (Version("avro field renamed", {SECONDS: "{'name': 'time', 'type': 'int'}"}), "avro-schema"),
    (
        Version("avro int to string", {SECONDS: "{'name': 'seconds', 'type': 'string'}"}),
        "avro-schema",
    ),
    (Version("avro symbol removed", {"'symbols': ['A', 'B']": "'symbols': ['A']"}), "avro-schema"),
    (Version("avro record renamed", {"'name': 'Visit'": "'name': 'Call'"}), "avro-schema"),
    (
        Version(
            "avro field with default", with_field("{'name': 'n', 'type': 'int', 'default': 1}")
        ),
        "avro-generic",
    ),
    (Version("avro field removed", {SECONDS + ',"': '"'}), "avro-generic"),
    (
        Version(
            "avro field appended",
            {KIND: KIND.removesuffix('"') + ",{'name': 'n', 'type': 'int', 'default': 1}\""},
        ),
        "avro-generic",
    ),
    (
        Version(
            "avro int to a union of long",
            {SECONDS: "{'name': 'seconds', 'type': ['null', 'long']}"},
        ),
        "avro-generic",
    ),
    (
        Version(
            "avro class renamed",
            {
                "class Call ": "class Ring ",
                "Call.class": "Ring.class",
                "<Call>": "<Ring>",
                "Call call = new Call": "Ring call = new Ring",
                "Call.first": "Ring.first",
                "static Call": "static Ring",
                "Call oldCall": "Ring oldCall",
            },
        ),
        "avro-class",
    ),
    (
        Version(
            "reflected field without default", field("int size = 4;", "int size = 4, more = 5;")
        ),
        "avro-schema",
    ),
    (
        Version("max parallelism", config={"pipeline.max-parallelism": "64"}),
        "other-max-parallelism",
    ),
)
WITH_TTL = (
    Version("ttl of a value", {"// The time to live of states.": "orders.enableTimeToLive(TTL);"}),
    Version("ttl of a list", {"// The time to live of states.": "texts.enableTimeToLive(TTL);"}),
    Version("ttl of a map", {"// The time to live of states.": "numbers.enableTimeToLive(TTL);"}),
)
