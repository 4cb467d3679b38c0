"""Descriptions out of class files: those of ``tests/support/class_files`` and of the samples."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import voucher_classes
from support.commands import run
from support.object_classes import CARD, CLASSES
from support.object_samples import opened
from support.sample_rows import SAMPLES

from savepoint_database.types.class_library import ClassLibrary, described_classes
from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import DescriptionError, FormatError
from savepoint_formats.java.class_file import ClassFile
from savepoint_formats.java.pojo_rules import is_pojo
from savepoint_formats.values.kryo.class_files import UndescribableError, described_class
from savepoint_formats.values.kryo.descriptions import kryo_class

if TYPE_CHECKING:
    from savepoint_formats.layout import KryoClass

TESTS = Path(__file__).parents[3]
JAR = TESTS / "support" / "class_files" / "classes.jar"
SOURCES = (JAR.parent, SAMPLES / "job", TESTS / "flink" / "restore_job")
LIBRARIES = {"jar": ClassLibrary.of([JAR]), "sources": ClassLibrary.of([], SOURCES)}
everywhere = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)

TOLD = (
    kryo_class(
        "odd.Odd$Child",
        {
            "byNumber": "java.util.Map<? extends java.lang.Number, java.util.List<int[]>>",
            "any": "java.util.List<?>",
            "lists": "java.util.List<java.lang.String>[]",
            "raw": "java.util.List",
            "a": "boolean",
            "b": "byte",
            "c": "char",
            "d": "float",
            "e": "double",
            "zone": "short",
            "names": "java.lang.String[][]",
        },
        is_final=True,
        is_pojo=False,
    ),
    kryo_class("odd.Odd$Inner", {"level": "odd.Odd$Level"}, is_pojo=False),
    kryo_class("odd.Odd$Level", constants=["LOW", "HIGH"]),
)
NOT_TOLD = {
    "odd.Odd$Twice": "a superclass has a field zone, too",
    "odd.Odd$Box": "its field value has a type variable in its type",
    "odd.Odd$Boxes": "its field values has a type variable in its type",
    "odd.Odd$Words": "it extends java.util.ArrayList",
    "odd.Odd$Bag": "it is a java.util.Map",
    "odd.Odd$Point": "it extends java.lang.Record",
    "shop.Shape": "it is an interface: describe the classes of its objects",
    "shop.Missing": "there is no class file, and no source, of shop.Missing",
}


@everywhere
def test_class_files_and_sources_tell_what_kryo_writes(library: ClassLibrary) -> None:
    assert library.described(["odd.Odd$Child", "odd.Odd$Inner"]) == TOLD
    whole = library.described([voucher_classes.VOUCHER.class_name])
    assert set(whole) == set(map(no_pojo, voucher_classes.CLASSES))


def no_pojo(described: KryoClass) -> KryoClass:
    """A description that says of a class with fields that it is no POJO."""
    return described if described.constants else replace(described, is_pojo=False)


# What Flink's TypeExtractor says of them.
POJOS = {"Base", "Beans", "Child", "Half", "Line", "OfOther"}
OTHERS = {"Asks", "Closed", "Custom", "Empty", "Guarded", "Inner", "NoSetter", "OtherType", "Plain"}


@everywhere
def test_they_tell_what_flink_takes_as_a_pojo(library: ClassLibrary) -> None:
    names = [f"pojos/Pojos${name}" for name in sorted(POJOS | OTHERS)]
    taken = {name for name in names if is_pojo(name, library.class_file)}
    assert {name.rpartition("$")[2] for name in taken} == POJOS
    assert is_pojo("pojos/Missing", library.class_file) is None


@everywhere
def test_what_an_object_extends_may_be_what_its_collection_is_declared_of(
    library: ClassLibrary,
) -> None:
    """A class alone is a POJO only if it extends nothing, or if a field names it."""
    of_object = {one.class_name: one for one in library.described(["pojos.Pojos$Child"])}
    child = of_object["pojos.Pojos$Child"]
    assert (child.is_pojo, child.superclass) == (True, "pojos.Pojos$Base")
    told = {name.rpartition("$")[2]: of_object[name].is_pojo for name in of_object}
    assert told == {"Beans": True, "Child": True, "Line": True, "Plain": False}
    (other,) = library.described(["pojos.Pojos$OfOther"])
    assert (other.is_pojo, other.superclass) == (None, "")


def test_an_annotation_may_make_methods_that_no_source_has(tmp_path: Path) -> None:
    source = "package a; %s public class B { private int c; %s }"
    getters = "public int getC() { return c; } public void setC(int c) { this.c = c; }"
    for annotation, methods, taken in (
        ("", getters, True),
        ("", "", False),
        ("@Data", "", None),
        ("@AllArgsConstructor", getters, None),
        ("@Deprecated", getters, True),
        ("", getters.replace("int c)", "Lost c)"), None),
        ("", f"{getters} Lost find(Lost lost) {{ return lost; }}", True),
    ):
        (tmp_path / "B.java").write_text(source % (annotation, methods), encoding="utf-8")
        (described,) = ClassLibrary.of([], [tmp_path]).described(["a.B"])
        assert described.is_pojo is taken


@everywhere
@pytest.mark.parametrize("name", NOT_TOLD)
def test_what_they_do_not_tell_has_a_reason(library: ClassLibrary, name: str) -> None:
    assert library.reason(name) == NOT_TOLD[name]
    assert library.described([name]) == ()


SOURCE = """
package a.b;
import a.c.*;
import java.util.*;
import java.util.Map.Entry;
class Outer extends Above {
    Own own; OfAbove ofAbove; Next next; Far far; String text; Entry<Long, Own> entry; UUID id, ids[];
    @Deprecated java.util.Map.Entry<? super Own, a.c.Far.Deep> whole; Far.Deep deep; static Lost lost;
    class Own { %s }
}
"""


def test_names_are_looked_up_as_java_does(tmp_path: Path) -> None:
    others = {
        "Above": "package a.b; class Above extends Object { private int zone; class OfAbove {} }",
        "Next": "package a.b; enum Next { ONE, TWO }",
        "Far": "package a.c; public record Far(int x) { public static class Deep {} }",
        "Own": "package a.c; public class Own {}",
    }
    for name, text in others.items():
        (tmp_path / f"{name}.java").write_text(text, encoding="utf-8")
    outer = tmp_path / "Outer.java"
    outer.write_text(SOURCE % "", encoding="utf-8")
    (described,) = (
        one
        for one in ClassLibrary.of([], [tmp_path]).described(["a.b.Outer"])
        if one.class_name == "a.b.Outer"
    )
    assert described == kryo_class(
        "a.b.Outer",
        {
            "own": "a.b.Outer$Own",
            "ofAbove": "a.b.Above$OfAbove",
            "next": "a.b.Next",
            "far": "a.c.Far",
            "text": "java.lang.String",
            "entry": "java.util.Map$Entry<java.lang.Long, a.b.Outer$Own>",
            "id": "java.util.UUID",
            "ids": "java.util.UUID[]",
            "whole": "java.util.Map$Entry<? super a.b.Outer$Own, a.c.Far$Deep>",
            "deep": "a.c.Far$Deep",
            "zone": "int",
        },
        is_pojo=False,
    )
    for field, reason in {
        "Lost lost;": "its field lost is of Lost, which is in no import and no source",
        "int (;": "is not Java source that can be parsed",
    }.items():
        outer.write_text(SOURCE % field, encoding="utf-8")
        told = ClassLibrary.of([], [tmp_path]).reason("a.b.Outer$Own")
        assert told is not None
        assert reason in told


@pytest.mark.usefixtures("slow")
def test_a_savepoint_is_described_by_the_classes_of_its_job(tmp_path: Path) -> None:
    savepoint = opened("objects-1.20.5-hashmap-native", (CARD,)).with_classes_of([JAR])
    assert savepoint.kryo.classes == (CARD, *map(no_pojo, CLASSES))
    assert savepoint.classes_to_describe() == ()
    of_sources = opened("objects-1.20.5-hashmap-native").with_classes_of(sources=SOURCES)
    assert set(of_sources.kryo.classes) == {CARD, *map(no_pojo, CLASSES)}
    with zipfile.ZipFile(JAR) as archive:
        archive.extract("shop/Parcel.class", tmp_path)
    sample = SAMPLES / "objects-1.20.5-hashmap-native"
    code, output = run("classes", sample, "--uid", "shapes", "--jar", tmp_path)
    assert code == 0
    assert [one.fields for one in described_classes(output, "printed")[1:]] == [(), (), ()]
    assert "# there is no class file, and no source, of shop.Shape$Circle\n" in output


def test_damaged_class_files_are_told() -> None:
    with zipfile.ZipFile(JAR) as archive:
        data = archive.read("odd/Odd$Child.class")
    whole = ClassFile.read(DataInputView(data))
    for end in range(len(data)):
        try:
            assert ClassFile.read(DataInputView(data[:end])) == whole
        except FormatError:
            continue
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        try:
            ClassFile.read(DataInputView(changed))
        except FormatError:
            continue


def test_other_files_are_no_library(tmp_path: Path) -> None:
    (tmp_path / "app.txt").write_text("shop", encoding="utf-8")
    with pytest.raises(DescriptionError, match="neither a jar nor a directory of class files"):
        ClassLibrary.of([tmp_path / "app.txt"])
    for places in (([tmp_path / "gone.jar"],), ((), [tmp_path / "gone"])):
        with pytest.raises(DescriptionError, match=r"gone(\.jar)? does not exist$"):
            ClassLibrary.of(*places)
    large = io.BytesIO()
    with zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("shop/Large.class", bytes(17 << 20))
    (tmp_path / "app.jar").write_bytes(large.getvalue())
    with pytest.raises(DescriptionError, match="too many for a class file"):
        ClassLibrary.of([tmp_path / "app.jar"]).reason("shop.Large")


def test_an_archive_claims_gigabytes(tmp_path: Path) -> None:
    path, jar = tmp_path / "app.jar", bytearray(JAR.read_bytes())
    record = jar.rindex(b"shop/Parcel.class") - 46
    assert jar[record : record + 4] == b"PK\1\2"
    jar[record + 20 : record + 24] = (1 << 31).to_bytes(4, "little")  # its compressed size
    path.write_bytes(jar)
    with pytest.raises(DescriptionError, match="has 2147483648 bytes, too many"):
        ClassLibrary.of([path]).reason("shop.Parcel")


def test_an_archive_is_damaged(tmp_path: Path) -> None:
    whole, path = JAR.read_bytes(), tmp_path / "app.jar"
    with zipfile.ZipFile(JAR) as archive:
        start = archive.getinfo("shop/Parcel.class").header_offset
    told = set()
    for at in range(start, start + 200):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            ClassLibrary.of([path]).reason("shop.Parcel")
        except DescriptionError as error:
            told.add(str(error))
    assert any("decompressing" in text for text in told)
    assert any("CRC" in text for text in told)


def test_an_archive_is_compressed_as_java_does_it(tmp_path: Path) -> None:
    path = tmp_path / "app.jar"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("shop/Parcel.class", b"\xca\xfe\xba\xbe")
    with pytest.raises(DescriptionError, match="not compressed like Java's own files"):
        ClassLibrary.of([path]).reason("shop.Parcel")


def test_comments_stand_between_modifiers(tmp_path: Path) -> None:
    (tmp_path / "A.java").write_text(
        "package a; class A { static /* old */ @Deprecated int b; int c; }", encoding="utf-8"
    )
    (described,) = ClassLibrary.of([], [tmp_path]).described(["a.A"])
    assert [field.name for field in described.fields] == ["c"]


def test_a_class_file_names_a_class_that_java_forbids() -> None:
    with zipfile.ZipFile(JAR) as archive:
        data = archive.read("shop/Parcel.class").replace(
            b"Ljava/lang/String", b"Lj\x15va/lang/String"
        )
    changed = ClassFile.read(DataInputView(data))
    with pytest.raises(UndescribableError, match="expected a type such as long"):
        described_class("shop.Parcel", {"shop/Parcel": changed}.get)


@pytest.mark.usefixtures("slow")
def test_it_is_told_how_many_values_were_looked_at() -> None:
    looked_at: list[int] = []
    savepoint = opened("objects-1.20.5-hashmap-native", (CARD,))
    savepoint = savepoint.with_classes_of([JAR], on_progress=looked_at.append)
    rounds = sum(looked_at)
    assert rounds > 0
    savepoint.classes_to_describe(looked_at.append)
    assert sum(looked_at) > rounds
