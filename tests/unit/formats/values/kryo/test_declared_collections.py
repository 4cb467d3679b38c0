"""The declared type of a collection decides its bytes: vectors of both versions.

Flink 1.20.5 and 2.2.1 wrote the same objects, of classes that are registered by their name alone.
"""

from __future__ import annotations

from typing import Any

import pytest

from savepoint_formats.bytes.data_view import DataInputView, DataOutputView
from savepoint_formats.layout import Kryo, KryoRegistration
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.graph import NodeGraph, read_kryo
from savepoint_formats.values.kryo.writer import write_nodes

CLASS = "shop.Declared"
NAMES = {
    "T": "java.lang.String",
    "I": "java.lang.Integer",
    "L": "java.lang.Long",
    "List": "java.util.List",
    "Map": "java.util.Map",
    "Set": "java.util.Set",
    "Collection": "java.util.Collection",
    "ArrayList": "java.util.ArrayList",
}

# What a field is declared as, what is in it, and what Kryo 2.24 and 5.6 write behind its class.
WRITTEN: list[tuple[str, Any, str, str]] = [
    (
        "List<List<T>>",
        [["ab", "cd"], ["ef"]],
        "01006a6176612e7574696c2e41727261794c6973f4010201000102030161e2030163e401000101030165e6",
        "01006a6176612e7574696c2e41727261794c6973f4018301000001030161e20163e401020165e6",
    ),
    (
        "List<List<T>>",
        [["ab", None], None],
        "01006a6176612e7574696c2e41727261794c6973f4010201000102030161e20000",
        "01006a6176612e7574696c2e41727261794c6973f4018301000101830161e20000",
    ),
    (
        "List<List<T>>",
        [["ab"], ["cd"]],
        "01006a6176612e7574696c2e41727261794c6973f4010201000101030161e201016a6176612e7574696c2e4c696e6b65644c6973f40101030163e4",
        "01006a6176612e7574696c2e41727261794c6973f40103010001020161e201016a6176612e7574696c2e4c696e6b65644c6973f401020163e4",
    ),
    (
        "Map<T, List<L>>",
        [("k", [5, 7])],
        "01006a6176612e7574696c2e486173684d61f0010101826b01016a6176612e7574696c2e41727261794c6973f40102090a090e",
        "01006a6176612e7574696c2e486173684d61f0010201826b01016a6176612e7574696c2e41727261794c6973f401030a0e",
    ),
    (
        "Map<L, Map<T, Set<I>>>",
        [(3, [("x", [4])])],
        "01006a6176612e7574696c2e486173684d61f001010106010001010301827801016a6176612e7574696c2e486173685365f401010208",
        "01006a6176612e7574696c2e486173684d61f0010201060100010201827801016a6176612e7574696c2e486173685365f4010208",
    ),
    (
        "Map<List<T>, L>",
        [(["q"], 9)],
        "01006a6176612e7574696c2e486173684d61f0010101016a6176612e7574696c2e41727261794c6973f40101030182710112",
        "01006a6176612e7574696c2e486173684d61f0010201016a6176612e7574696c2e41727261794c6973f401020182710112",
    ),
    (
        "List<Map<T, I>>",
        [[("y", 8)]],
        "01006a6176612e7574696c2e41727261794c6973f4010101016a6176612e7574696c2e486173684d61f00101030182790210",
        "01006a6176612e7574696c2e41727261794c6973f4018201016a6176612e7574696c2e486173684d61f00001020182790110",
    ),
    (
        "List<List<List<T>>>",
        [[["ab"]]],
        "01006a6176612e7574696c2e41727261794c6973f401010100010101000101030161e2",
        "01006a6176612e7574696c2e41727261794c6973f40182010000018201000001020161e2",
    ),
    (
        "Collection<T>",
        ["ab"],
        "01006a6176612e7574696c2e547265655365f40100010161e2",
        "01006a6176612e7574696c2e547265655365f40102000161e2",
    ),
    ("Collection<T>", ["ab"], "4d010001030161e2", "4d0102000161e2"),
    (
        "Collection<T>",
        ["ab"],
        "01006a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244c69737431b201010161e2",
        "01006a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244c69737431b201020161e2",
    ),
    (
        "Collection<T>",
        ["ab", "cd", "ef"],
        "01006a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244c697374ce01030161e20163e40165e6",
        "01006a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244c697374ce01040161e20163e40165e6",
    ),
    ("Collection<T>", ["ab"], "4b010103030161e2", "4b01020161e2"),
    (
        "Collection<T>",
        [],
        "01006a6176612e7574696c2e436f6c6c656374696f6e7324456d7074794c6973f401",
        "01006a6176612e7574696c2e436f6c6c656374696f6e7324456d7074794c6973f401",
    ),
    (
        "Collection<T>",
        ["ab"],
        "01006a6176612e7574696c2e436f6c6c656374696f6e732453696e676c65746f6e4c6973f401030161e2",
        "01006a6176612e7574696c2e436f6c6c656374696f6e732453696e676c65746f6e4c6973f401030161e2",
    ),
    (
        "Collection<T>",
        ["ab"],
        "01006a6176612e7574696c2e436f6c6c656374696f6e7324556e6d6f6469666961626c6552616e646f6d4163636573734c6973f401010161e2",
        "01006a6176612e7574696c2e436f6c6c656374696f6e7324556e6d6f6469666961626c6552616e646f6d4163636573734c6973f401020161e2",
    ),
    (
        "Collection<T>",
        [],
        "01006a6176612e7574696c2e486173685365f40100",
        "01006a6176612e7574696c2e486173685365f40101",
    ),
    (
        "Map<T, I>",
        [("ab", 1)],
        "01006a6176612e7574696c2e547265654d61f00100010161e20102",
        "01006a6176612e7574696c2e547265654d61f00102000161e20102",
    ),
    (
        "Map<T, I>",
        [("ab", 1)],
        "01006a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244d6170b101010161e20102",
        "01006a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244d6170b101020161e202",
    ),
    (
        "Map<T, I>",
        [("ab", 1)],
        "01006a6176612e7574696c2e636f6e63757272656e742e436f6e63757272656e74536b69704c6973744d61f001010161e20102",
        "01006a6176612e7574696c2e636f6e63757272656e742e436f6e63757272656e74536b69704c6973744d61f00102000161e20102",
    ),
    (
        "Map<T, I>",
        [("ab", 1)],
        "01006a6176612e7574696c2e436f6c6c656374696f6e732453696e676c65746f6e4d61f001030161e20202",
        "01006a6176612e7574696c2e436f6c6c656374696f6e732453696e676c65746f6e4d61f001030161e20202",
    ),
    (
        "Map<T, I>",
        [("k", None)],
        "01006a6176612e7574696c2e486173684d61f0010101826b00",
        "01006a6176612e7574696c2e486173684d61f0010201826b00",
    ),
    (
        "Map<T, I>",
        [(None, 4)],
        "01006a6176612e7574696c2e486173684d61f00101000108",
        "01006a6176612e7574696c2e486173684d61f00102000108",
    ),
    (
        "Map<T, List<T>>",
        [("k", ["ab"])],
        "01006a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244d6170b1010101826b01016a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244c69737431b20101030161e2",
        "01006a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244d6170b1010201826b01016a6176612e7574696c2e496d6d757461626c65436f6c6c656374696f6e73244c69737431b201020161e2",
    ),
]

ARRAYS = (
    {"a": "List<T>[]", "b": "List<T[]>"},
    {"a": [["ab"]], "b": [["cd"], []]},
    "01005b4c6a6176612e7574696c2e4c697374bb010201016a6176612e7574696c2e41727261794c6973f401010161e20101010201020163e40101",
    "01005b4c6a6176612e7574696c2e4c697374bb010201016a6176612e7574696c2e41727261794c6973f4018203000161e20101010301020163e40101",
)
WILDCARDS = (
    {
        "a": "List<? extends T>",
        "b": "List<? super I>",
        "c": "List<?>",
        "d": "List<List<? extends T>>",
    },
    {"a": ["ab"], "b": [1], "c": ["cd"], "d": [["ef"]]},
    "01006a6176612e7574696c2e41727261794c6973f40101030161e201000101020201000101030163e40100010101000101030165e6",
    "01006a6176612e7574696c2e41727261794c6973f401020161e201000102020100018203000163e40100018201000001020165e6",
)


def expect_both_ways(fields: dict[str, str], values: dict[str, Any], *written: str) -> None:
    """Each version reads what it wrote, and writes what the other one wrote."""
    declared = {name: spelled(text) for name, text in fields.items()}
    classes = (kryo_class(CLASS, declared),)
    layout = Kryo(CLASS, (KryoRegistration(CLASS),))
    dialects = [KryoDialect(version, classes) for version in KryoVersion]
    data = [bytes.fromhex("5701" + one) for one in written]
    for dialect, one in zip(dialects, data, strict=True):
        assert read_kryo(layout, DataInputView(one), dialect).fields == values
        node = NodeGraph(layout, DataInputView(one), dialect).read_nodes()
        for other, expected in zip(dialects, data, strict=True):
            target = DataOutputView()
            write_nodes(layout, node, target, other)
            # Of which class the array behind an Arrays.asList is, 5.6 does not say.
            if b"\x4b" not in one or other is dialect:
                assert target.to_bytes() == expected


def spelled(text: str) -> str:
    """The type with the full names of its classes."""
    for mark in "<>,?[] ":
        text = text.replace(mark, f" {mark} ")
    return " ".join(NAMES.get(word, word) for word in text.split()).replace("[ ]", "[]")


@pytest.mark.parametrize(("declared", "value", "old", "new"), WRITTEN)
def test_what_is_in_a_collection(declared: str, value: Any, old: str, new: str) -> None:
    expect_both_ways({"field": declared}, {"field": value}, old, new)


@pytest.mark.parametrize(("fields", "values", "old", "new"), [ARRAYS, WILDCARDS])
def test_arrays_and_wildcards(
    fields: dict[str, str], values: dict[str, Any], old: str, new: str
) -> None:
    expect_both_ways(fields, values, old, new)
