"""Objects of the JDK and of Flink that need no description, as Flink 1.20.5 and 2.2.1 wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.kryo_vectors import NEW, OLD

from savepoint_formats.bytes.chunk import Chunk
from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.layout import Kryo, KryoRegistration
from savepoint_formats.program.assembly import program
from savepoint_formats.program.decode import decode
from savepoint_formats.values.kryo.graph import NodeGraph, read_kryo
from savepoint_formats.values.kryo.objects import json_text
from savepoint_formats.values.kryo.writer import write_nodes
from state_processor import Savepoint

if TYPE_CHECKING:
    from pathlib import Path

    from savepoint_formats.values.kryo.dialect import KryoDialect

# Flink registers the declared class of a state.
ANY = Kryo("java.lang.Object", (KryoRegistration("java.lang.Object"),))

# Bytes of 1.20.5, of 2.2.1, and the JSON of both.
OBJECTS = {
    "DayOfWeek": (
        "01006a6176612e74696d652e4461794f66576565eb0102",
        "01006a6176612e74696d652e4461794f66576565eb02",
        '"TUESDAY"',
    ),
    "List of enums": (
        "01006a6176612e7574696c2e41727261794c6973f4010401016a6176612e74696d652e4461794f66576565eb010101026a6176612e74696d652e4d6f6e74e8010501036a6176612e7574696c2e636f6e63757272656e742e54696d65556e69f40107010103",
        "01006a6176612e7574696c2e41727261794c6973f4010501016a6176612e74696d652e4461794f66576565eb0101026a6176612e74696d652e4d6f6e74e80501036a6176612e7574696c2e636f6e63757272656e742e54696d65556e69f407010101",
        '["MONDAY", "MAY", "DAYS", "MONDAY"]',
    ),
    "EnumSet": (
        "01006a6176612e7574696c2e526567756c6172456e756d5365f40101016a6176612e74696d652e4461794f66576565eb020107",
        "01006a6176612e7574696c2e526567756c6172456e756d5365f40101016a6176612e74696d652e4461794f66576565eb020107",
        '["MONDAY", "SUNDAY"]',
    ),
    "EnumMap": (
        "01006a6176612e7574696c2e456e756d4d61f0010101016a6176612e74696d652e4461794f66576565eb01010202",
        "01006a6176612e7574696c2e456e756d4d61f0010201016a6176612e74696d652e4461794f66576565eb010202",
        '[{"key": "MONDAY", "value": 1}]',
    ),
    "Properties": (
        "01006a6176612e7574696c2e50726f706572746965f301010301826103018262",
        "01006a6176612e7574696c2e50726f706572746965f301020301826103018262",
        '[{"key": "a", "value": "b"}]',
    ),
    "SimpleImmutableEntry": (
        "01006a6176612e7574696c2e41627374726163744d61702453696d706c65496d6d757461626c65456e7472f901030182610202",
        "01006a6176612e7574696c2e41627374726163744d61702453696d706c65496d6d757461626c65456e7472f901030182610202",
        '{"$class": "java.util.AbstractMap$SimpleImmutableEntry", "key": "a", "value": 1}',
    ),
    "nCopies": (
        "01006a6176612e7574696c2e436f6c6c656374696f6e7324436f706965734c6973f401030301826103030303",
        "01006a6176612e7574696c2e436f6c6c656374696f6e7324436f706965734c6973f4018403000182610303",
        '["a", "a", "a"]',
    ),
    "checkedMap": (
        "01006a6176612e7574696c2e436f6c6c656374696f6e7324436865636b65644d61f00102030182610202030182620204",
        "01006a6176612e7574696c2e436f6c6c656374696f6e7324436865636b65644d61f00103030182610202030182620204",
        '[{"key": "a", "value": 1}, {"key": "b", "value": 2}]',
    ),
    "ConcurrentSkipListSet": (
        "01006a6176612e7574696c2e636f6e63757272656e742e436f6e63757272656e74536b69704c6973745365f40103030182610301826203018263",
        "01006a6176612e7574696c2e636f6e63757272656e742e436f6e63757272656e74536b69704c6973745365f401840300018261018262018263",
        '["a", "b", "c"]',
    ),
    "TreeSet natural": (
        "01006a6176612e7574696c2e547265655365f40101016a6176612e7574696c2e436f6d70617261746f7273244e61747572616c4f72646572436f6d70617261746ff2010103030182610301826203018263",
        "01006a6176612e7574696c2e547265655365f4018401016a6176612e7574696c2e436f6d70617261746f7273244e61747572616c4f72646572436f6d70617261746ff2010300018261018262018263",
        '["a", "b", "c"]',
    ),
    "int.class": (
        "01006a6176612e6c616e672e436c6173f3010201",
        "01006a6176612e6c616e672e436c6173f3010201",
        '{"$class": "java.lang.Class", "name": "int"}',
    ),
    "void.class": (
        "01006a6176612e6c616e672e436c6173f3010b01",
        "01006a6176612e6c616e672e436c6173f3010101766f69e401",
        '{"$class": "java.lang.Class", "name": "void"}',
    ),
    "URL": (
        "01006a6176612e6e65742e5552cc01018268012ff801030101687474f000",
        "01006a6176612e6e65742e5552cc01687474703a2f2f682ff8",
        '"http://h/x"',
    ),
    "Row of kind": (
        "01006f72672e6170616368652e666c696e6b2e74797065732e526ff7010001015b4c6a6176612e6c616e672e4f626a656374bb0104030182720001026a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244c697374ce0100010400",
        "01006f72672e6170616368652e666c696e6b2e74797065732e526ff7010001015b4c6a6176612e6c616e672e4f626a656374bb0104030182720001026a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244c697374ce0101010400",
        '{"$class": "org.apache.flink.types.Row", "fieldByName": null, "fieldByPosition": ["r", null, []], "kind": "DELETE", "positionByName": null}',
    ),
    "LongValue": (
        "01006f72672e6170616368652e666c696e6b2e74797065732e4c6f6e6756616c75e5019a01",
        "01006f72672e6170616368652e666c696e6b2e74797065732e4c6f6e6756616c75e5019a01",
        '{"$class": "org.apache.flink.types.LongValue", "value": 77}',
    ),
    "StringValue": (
        "01006f72672e6170616368652e666c696e6b2e74797065732e537472696e6756616c75e501000801050074006500780074",
        "01006f72672e6170616368652e666c696e6b2e74797065732e537472696e6756616c75e501000801057400650078007400",
        '{"$class": "org.apache.flink.types.StringValue", "hashCode": 0, "len": 4, "value": ["t", "e", "x", "t"]}',
    ),
    "Either left": (
        "01006f72672e6170616368652e666c696e6b2e74797065732e456974686572244c6566f401000301826c",
        "01006f72672e6170616368652e666c696e6b2e74797065732e456974686572244c6566f401000301826c",
        '{"$class": "org.apache.flink.types.Either$Left", "right": null, "value": "l"}',
    ),
    "MathContext": (
        "01006a6176612e6d6174682e4d617468436f6e746578f4010e0107",
        "01006a6176612e6d6174682e4d617468436f6e746578f4010e0107",
        '{"$class": "java.math.MathContext", "precision": 7, "roundingMode": "HALF_EVEN"}',
    ),
}
CASES = [
    pytest.param(bytes.fromhex(data), dialect, text, id=f"{name} {dialect.version.value}")
    for name, (of_2, of_5, text) in OBJECTS.items()
    for data, dialect in zip((of_2, of_5), (OLD, NEW), strict=True)
]


@pytest.mark.parametrize(("data", "dialect", "text"), CASES)
def test_an_object_that_needs_no_description_has_json(
    data: bytes, dialect: KryoDialect, text: str
) -> None:
    view = DataInputView(data)
    assert json_text(read_kryo(ANY, view, dialect)) == text
    assert view.remaining == 0
    ends = np.array([len(data)])
    values = decode(
        program(ANY, dialect), Chunk(np.frombuffer(data, np.uint8)), ends - len(data), ends
    )
    assert values.to_pylist()[0]["json"] == text


@pytest.mark.parametrize(("data", "dialect", "text"), CASES)
def test_an_object_that_needs_no_description_is_written_as_it_was(
    data: bytes, dialect: KryoDialect, text: str
) -> None:
    nodes = NodeGraph(ANY, DataInputView(data), dialect).read_nodes()
    view = DataOutputView()
    write_nodes(ANY, nodes, view, dialect)
    if "http" not in text:
        assert view.to_bytes() == data
    assert json_text(read_kryo(ANY, DataInputView(view.to_bytes()), dialect)) == text


def test_every_object_of_a_savepoint_of_the_jdks_classes_has_json(cases: Path) -> None:
    savepoint = Savepoint.open(str(cases / "07-kryo-jdk-classes" / "flink-1.20"))
    (table,) = (one.table for one in savepoint.tables() if one.table.endswith("keyed_state"))
    operator = table.removesuffix(".keyed_state")
    rows = savepoint.sql(f'SELECT * FROM "{operator}".keyed_state').to_pylist()
    assert len(rows) > 90
    objects = {row["key"]: row["object"] for row in rows}
    assert [name for name, value in objects.items() if value["json"] is None] == []
    (thrown,) = (value["json"] for name, value in objects.items() if name == "Throwable")
    assert '"cause": {"$reference": 0}, "detailMessage": "boom"' in thrown
    assert not any("Java" in value["json"].replace("JavaSpecial", "") for value in objects.values())
