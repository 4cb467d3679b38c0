"""Descriptions out of class files: those of ``tests/support/class_files`` and of the samples."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from support import voucher_classes
from support.commands import run
from support.object_classes import CARD, CLASSES
from support.object_samples import opened
from support.sample_rows import SAMPLES

from savepoint_formats.bytes.data_view import DataInputView
from savepoint_formats.errors import DescriptionError, FormatError
from savepoint_formats.java.class_file import ClassFile
from savepoint_formats.values.kryo.descriptions import kryo_class
from state_processor.types.class_descriptions import described_classes
from state_processor.types.class_library import ClassLibrary

JAR = Path(__file__).parents[3] / "support" / "class_files" / "classes.jar"
LIBRARY = ClassLibrary.of([JAR])

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
    ),
    kryo_class("odd.Odd$Inner", {"level": "odd.Odd$Level"}),
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
    "shop.Missing": "there is no class file of shop.Missing",
}


def test_class_files_tell_what_kryo_writes() -> None:
    assert LIBRARY.described(["odd.Odd$Child", "odd.Odd$Inner"]) == TOLD
    whole = LIBRARY.described([voucher_classes.VOUCHER.class_name])
    assert {one.class_name: one for one in whole} == {
        one.class_name: one for one in voucher_classes.CLASSES
    }


@pytest.mark.parametrize("name", NOT_TOLD)
def test_what_class_files_do_not_tell_has_a_reason(name: str) -> None:
    assert LIBRARY.reason(name) == NOT_TOLD[name]
    assert LIBRARY.described([name]) == ()


def test_a_savepoint_is_described_by_the_classes_of_its_job(tmp_path: Path) -> None:
    savepoint = opened("objects-1.20.5-hashmap-native", (CARD,)).with_classes_of([JAR])
    assert savepoint.kryo.classes == (CARD, *CLASSES)
    assert savepoint.classes_to_describe() == ()
    with zipfile.ZipFile(JAR) as archive:
        archive.extract("shop/Parcel.class", tmp_path)
    sample = SAMPLES / "objects-1.20.5-hashmap-native"
    code, output = run("classes", sample, "--uid", "shapes", "--jar", tmp_path)
    assert code == 0
    assert [one.fields for one in described_classes(output, "printed")[1:]] == [(), (), ()]
    assert "# there is no class file of shop.Shape$Circle\n" in output


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
    large = io.BytesIO()
    with zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("shop/Large.class", bytes(17 << 20))
    (tmp_path / "app.jar").write_bytes(large.getvalue())
    with pytest.raises(DescriptionError, match="too many for a class file"):
        ClassLibrary.of([tmp_path / "app.jar"]).reason("shop.Large")
