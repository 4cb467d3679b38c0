"""Forms of values that go value by value, and their like with a program: ``read_types.py --general``.

Each is one value, written by this project, that is decoded many times out of memory. The reason is the
one that its program tells, or what is rare in the value itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.java.stream import SERIALIZABLE, JavaClass, JavaObject
from savepoint_formats.java.stream_writer import java_object_bytes
from savepoint_formats.layout import Kryo, KryoRegistration, Nullable, Pojo
from savepoint_formats.program.assembly import program, written_program
from savepoint_formats.program.decode import decode
from savepoint_formats.program.encode import Encoder
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.objects import Detailed, KryoNode, KryoObject
from savepoint_formats.values.kryo.writer import write_nodes
from savepoint_formats.values.state_entries import EntryWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from savepoint_formats.layout import Layout

ROOT = "com.acme.Order"
LONG, TEXT, NOTHING = layouts.Long(), layouts.Text(), layouts.Marker(None)
NUMBER = KryoNode("java.lang.Long", 5)
NAMES = [KryoNode("java.lang.String", f"name-{number}") for number in range(3)]
SECONDS = 0.1
"""The least CPU time of a measurement."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of values.

    Attributes:
        name: What the table calls it.
        layout: Its layout.
        record: The bytes of a value.
        kryo: The Kryo that wrote it.
        rare: What is rare in the value, if its layout has a program.
        value: The value to write, if writing is measured.
    """

    name: str
    layout: Layout
    record: bytes
    kryo: KryoDialect | None = None
    rare: str = ""
    value: Any = None

    @property
    def reason(self) -> str:
        """Why it goes value by value; empty if a program does it."""
        prepared = program(self.layout, self.kryo)
        if self.value is not None:
            prepared = written_program(self.layout)
        return "; ".join(sorted({reason for _, reason in prepared.general})) or self.rare


def _plain(name: str, layout: Layout, value: Any, *, writes: bool = False) -> Form:
    view = DataOutputView()
    EntryWriter(view).write(layout, value)
    return Form(name, layout, view.to_bytes(), value=value if writes else None)


def _field(
    name: str,
    declared: str,
    value: Any,
    *,
    rare: str = "",
    version: KryoVersion = KryoVersion.V5_6,
    more: Any = None,
) -> Form:
    """An object with a long and a field of a declared type."""
    types = {"id": "long", "of": declared} | ({} if more is None else {"more": declared})
    described = kryo_class(ROOT, types)
    layout, kryo = Kryo(ROOT, classes=(described,)), KryoDialect(version, (described,))
    content = {"id": 5, "of": value} | ({} if more is None else {"more": more})
    return _graph(name, layout, KryoNode(ROOT, KryoObject(ROOT, content)), kryo, rare)


def _graph(name: str, layout: Kryo, node: KryoNode, kryo: KryoDialect, rare: str = "") -> Form:
    view = DataOutputView()
    write_nodes(layout, node, view, kryo)
    return Form(name, layout, view.to_bytes(), kryo, rare)


def _packed_date() -> Form:
    name = "org.joda.time.LocalDate"
    serializer = "de.javakaffee.kryoserializers.jodatime.JodaLocalDateSerializer"
    layout = Kryo(name, (KryoRegistration(name, serializer),))
    date = KryoObject(name, {"year": 2024, "month": 2, "day": 29, "chronology": ""})
    kryo = KryoDialect(KryoVersion.V2_24)
    rare = "a date packed into one number"
    return _graph("Joda's `LocalDate`", layout, KryoNode(name, date), kryo, rare)


def forms() -> Iterator[Form]:
    """All forms; those that a program reads stand first, for comparison."""
    either = layouts.Tagged((0, 1), ("left", "right"), (TEXT, LONG))
    yield _plain("`Either` of a text or a long", either, {"left": None, "right": 5})
    nullable = layouts.IndexedUnion(("null", "value"), (NOTHING, LONG))
    yield _plain("Avro union of null and a long", nullable, 5)
    union = layouts.IndexedUnion(("a", "b", "null"), (LONG, layouts.Utf8(), NOTHING))
    yield _plain("Avro union of null, a long and a text", union, {"a": 5, "b": None})
    blocks = layouts.BlockRepeated(LONG)
    yield _plain("Avro array of 10 longs", blocks, list(range(10)))
    fields = (Nullable(LONG), Nullable(TEXT))
    special = Pojo("com.acme.Special", ("id", "name"), fields)
    pojo = Pojo(ROOT, ("id", "name"), fields, unregistered=(("com.acme.Special", special),))
    value = {"$class": "com.acme.Special", "id": 5, "name": "name"}
    yield _plain("value of a POJO's subclass", pojo, value)
    yield _field(
        "object with a BigInteger of 256 bits",
        "java.math.BigInteger",
        KryoNode("java.math.BigInteger", -(1 << 255)),
    )

    yield _plain("value of a POJO's subclass, written", pojo, value, writes=True)
    kryo = KryoDialect(KryoVersion.V5_6)
    names = KryoNode("java.util.ArrayList", NAMES)
    yield _graph("`List` of 3 texts, given to Kryo", Kryo("java.util.List"), names, kryo)
    yield _field("object with an `Object` field, a long", "java.lang.Object", NUMBER)
    yield _field("object with a raw `List` of 3 texts", "java.util.List", names)
    sets = KryoObject("java.util.BitSet", {"words": (5,)})
    yield _field("object with a BitSet", "java.util.BitSet", KryoNode("java.util.BitSet", sets))
    yield _field("object with a ZonedDateTime", "java.time.ZonedDateTime", _zoned())
    pair = KryoNode("scala.Tuple2", [NUMBER, NAMES[0]])
    yield _field("object with a Scala tuple", "scala.Tuple2", pair, version=KryoVersion.V2_24)
    yield _field(
        "object inside an object of its class",
        ROOT,
        KryoNode(ROOT, KryoObject(ROOT, {"id": 6, "of": None})),
    )

    yield _packed_date()
    empty = dict.fromkeys(("a", "b"))
    yield _plain("union of several types, written", union, empty | {"a": 5}, writes=True)
    described = KryoDialect(KryoVersion.V5_6, (kryo_class(ROOT, {"id": "long"}),))
    order = KryoNode(ROOT, KryoObject(ROOT, {"id": 5}))
    bare = _graph("", Kryo(ROOT, classes=described.classes), order, described)
    undescribed = "a class of the user that nobody described"
    yield Form(undescribed, Kryo(ROOT), bare.record, kryo, rare="its fields are not known")
    texts = "java.util.List<java.lang.String>"
    shared = KryoNode("java.util.ArrayList", NAMES)
    yield _field(
        "object with one list twice",
        texts,
        shared,
        more=shared,
        rare="a collection or an object that comes again",
    )
    reverse = KryoNode(
        "java.util.Collections$ReverseComparator",
        KryoObject("java.util.Collections$ReverseComparator", {}),
    )
    sorted_set = KryoNode("java.util.TreeSet", Detailed(reverse, NAMES))
    yield _field(
        "object with a TreeSet in its own order",
        texts.replace("List", "Set"),
        sorted_set,
        rare="a comparator",
    )
    huge = KryoNode("java.math.BigInteger", 1 << 300)
    yield _field(
        "object with a BigInteger of 300 bits",
        "java.math.BigInteger",
        huge,
        rare="a number of more than 256 bits",
    )
    exponent = _plain("BigDecimal with an exponent", layouts.BigDecimal(), "1E+7")
    yield replace(exponent, rare="a number with an exponent")
    java = java_object_bytes(JavaObject(JavaClass(ROOT, SERIALIZABLE)))
    yield Form("object that Java serialized", layouts.JavaObject(), java)
    yield Form("serializer of the job", layouts.Opaque("com.acme.S", "unknown"), bytes(20))
    yield _plain("SQL's VARIANT", layouts.Variant(), VARIANT)
    yield _plain("`String[]` of 3 texts", layouts.PackedTexts(), ["a", "b", "c"])


VARIANT = {
    "json": '"hello"',
    "metadata": bytes.fromhex("010000"),
    "value": bytes.fromhex("1568656c6c6f"),
}


def _zoned() -> KryoNode:
    package = "java.time."
    date = KryoObject(f"{package}LocalDate", {"year": 2026, "month": 1, "day": 30})
    clock = {"hour": 11, "minute": 16, "second": 0, "nano": 0}
    moment = {"date": date, "time": KryoObject(f"{package}LocalTime", clock)}
    zone = KryoObject(f"{package}ZoneRegion", {"id": "Europe/Berlin"})
    content = {
        "dateTime": KryoObject(f"{package}LocalDateTime", moment),
        "zone": KryoNode(zone.class_name, zone),
    }
    name = f"{package}ZonedDateTime"
    return KryoNode(name, KryoObject(name, content))


def rate(form: Form) -> float:
    """Values per second of CPU time, the least of three rounds."""
    count, seconds = 2_000, 0.0
    while seconds < SECONDS:
        count *= 4
        run = _writing(form, count) if form.value is not None else _reading(form, count)
        times = []
        for _ in range(3):
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
        seconds = min(times)
    return count / seconds


def _reading(form: Form, count: int) -> Any:
    prepared = program(form.layout, form.kryo)
    chunk = Chunk(np.frombuffer(form.record * count, np.uint8))
    borders = np.arange(count + 1, dtype=np.int64) * len(form.record)
    return lambda: decode(prepared, chunk, borders[:-1], borders[1:])


def _writing(form: Form, count: int) -> Any:
    encoder = Encoder(form.layout)
    column = pa.array([form.value] * count, encoder.type)
    return lambda: encoder.encode(column)


def report() -> None:
    """Prints the table."""
    print("| value | M values/s of CPU | why value by value |\n|---|---|---|")
    for form in forms():
        print(f"| {form.name} | {rate(form) / 1e6:.3f} | {form.reason} |", flush=True)
