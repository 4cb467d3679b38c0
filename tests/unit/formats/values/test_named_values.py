"""Names of classes in the bytes of values, which become other names there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import SchemaChangeError
from savepoint_formats.layout import Kryo, KryoRegistration, Pojo, Text
from savepoint_formats.snapshots.renamed_classes import ClassRename
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.dialect import KryoDialect, KryoVersion
from savepoint_formats.values.kryo.objects import Detailed, KryoNode, KryoObject
from savepoint_formats.values.kryo.writer import write_nodes
from savepoint_formats.values.named_values import Renaming
from savepoint_formats.values.state_entries import (
    Delimited,
    EntryWriter,
    KeyPrefix,
    NullableRest,
    Suffixed,
)

if TYPE_CHECKING:
    from typing import Any

    from savepoint_formats.layout import Layout

OLD, NEW = "shop.Item", "warehouse.of.many.things.Item"
RENAMES = (ClassRename("shop.Text", "a.B"), ClassRename(OLD, "c.D"), ClassRename("c.D", NEW))
ANY = Kryo("java.lang.Object", (KryoRegistration("java.lang.Object"),))
FIELDS = {"name": "java.lang.String", "next": "java.lang.Object"}
VERSIONS = {version: version.value for version in KryoVersion}


def dialect(version: KryoVersion) -> KryoDialect:
    names = (OLD, NEW, "shop.Text", "a.B")
    return KryoDialect(version, tuple(kryo_class(name, FIELDS) for name in names))


def graph(class_name: str, other: str, kryo: KryoDialect) -> bytes:
    """Objects of two classes in a list, of the first one twice, and a text that is the old name."""
    text = KryoNode("java.lang.String", OLD)
    second = KryoNode(class_name, KryoObject(class_name, {"name": text, "next": None}))
    first = KryoNode(other, KryoObject(other, {"name": text, "next": second}))
    array = KryoNode(f"[L{class_name};", [second, None])
    view = DataOutputView()
    elements = [first, second, array]
    write_nodes(ANY, KryoNode("java.util.ArrayList", Detailed(None, elements)), view, kryo)
    return view.to_bytes()


def around(data: bytes) -> dict[str, tuple[Layout, bytes]]:
    """Layouts with an object, and the bytes of each."""

    def written(layout: Layout, value: Any) -> tuple[Layout, bytes]:
        view = DataOutputView()
        EntryWriter(view).write(layout, value)
        return layout, view.to_bytes()

    one = {"json": None, "bytes": data, "reason": None}
    names = ("prefix", "key", "namespace")
    key = layouts.Struct(names, (KeyPrefix(0), Suffixed(ANY), Suffixed(Text())))
    return {
        "alone": written(ANY, one),
        "key": written(key, {"prefix": None, "key": one, "namespace": OLD}),
        "frame": written(layouts.Framed(ANY), one),
        "list": written(Delimited(ANY), [one, one]),
        "map": written(NullableRest(ANY), one),
        "POJO": written(Pojo("shop.Box", ("item",), (layouts.Nullable(ANY),)), {"item": one}),
    }


@pytest.mark.parametrize("version", VERSIONS, ids=VERSIONS.get)
@pytest.mark.parametrize("where", around(b""))
def test_an_object_of_kryo_names_the_new_class(where: str, version: KryoVersion) -> None:
    kryo = dialect(version)
    layout, before = around(graph(OLD, "shop.Text", kryo))[where]
    _, after = around(graph(NEW, "a.B", kryo))[where]
    assert Renaming(layout, kryo, RENAMES).of(before) == after
    assert Renaming(layout, kryo, RENAMES).of(after) == after


def pojo(class_name: str, *subclasses: str) -> Pojo:
    fields = (layouts.Nullable(Text()),)
    inner = tuple((name, Pojo(name, ("memo",), fields)) for name in subclasses)
    return Pojo(class_name, ("memo",), fields, unregistered=inner)


def value(subclass: str, memo: bytes = b"\3ab") -> bytes:
    name = subclass.encode()
    return b"\4" + len(name).to_bytes(2, "big") + name + b"\2\0" + memo


def test_a_value_of_a_subclass_names_the_new_class() -> None:
    kryo = dialect(KryoVersion.V2_24)
    renaming = Renaming(pojo("shop.Base", OLD, "shop.Items"), kryo, RENAMES)
    assert renaming.of(value(OLD)) == value(NEW)
    assert renaming.of(value("shop.Items")) == value("shop.Items")
    text = bytes([len(OLD) + 1]) + OLD.encode()
    assert renaming.of(value("shop.Items", text)) == value("shop.Items", text)
    assert renaming.of(b"\1") == b"\1"


def test_what_nobody_can_tell_apart_is_refused() -> None:
    kryo = dialect(KryoVersion.V2_24)
    with pytest.raises(SchemaChangeError, match=r"shop\.Item cannot be renamed.*does not describe"):
        Renaming(pojo("shop.Base"), kryo, RENAMES).of(value(OLD))
    unknown = KryoDialect(KryoVersion.V2_24, ())
    with pytest.raises(SchemaChangeError, match=r"whose fields are not known"):
        Renaming(ANY, unknown, RENAMES).of(graph(OLD, "shop.Text", kryo))
    java = b"\xac\xed\0\5sr\0\x09shop.Item\0\0\0\0\0\0\0\0\2\0\0xp"
    with pytest.raises(SchemaChangeError, match="serial versions"):
        Renaming(layouts.JavaObject(), kryo, RENAMES).of(java)
