"""Kinds of plug-ins among those of Flink."""

from __future__ import annotations

import pickle
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from support.plug_ins import INTERVAL, MONEY, OWNER, SKU, example_in, on_path, package_in

from savepoint_formats import layout as layouts
from savepoint_formats.bytes.codecs import INT, UTF, Codec
from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.errors import FormatError, MissingPackageError, UndecodableError
from savepoint_formats.plug_ins import SERIALIZERS
from savepoint_formats.savepoint_warnings import PlugInWarning
from savepoint_formats.snapshots import (
    OpaqueSnapshot,
    SnapshotView,
    TypeSerializerSnapshot,
    constructed,
    plug_in_kinds,
    read_resynchronised,
)
from savepoint_formats.snapshots.basic import simple
from savepoint_formats.snapshots.nested import snapshot_bytes
from savepoint_formats.snapshots.plug_in_kinds import (
    owned_kind,
    plug_in_kind,
    refusal,
)
from savepoint_formats.snapshots.snapshot import SnapshotKind, kind_of, known_kind, why_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG = "org.apache.flink.api.common.typeutils.base.LongSerializer$LongSerializerSnapshot"
KINDS = """
from state_processor.plugins import *
KINDS = {KINDS}
"""


def plain(folder: Path, name: str, kinds: str) -> Path:
    module = name.replace("-", "_")
    text = KINDS.replace("{KINDS}", kinds)
    return package_in(folder, name, {SERIALIZERS: {"kinds": f"{module}:KINDS"}}, **{module: text})


def read(data: bytes) -> TypeSerializerSnapshot:
    return read_resynchronised(TypeSerializerSnapshot.read, SnapshotView(data))


@pytest.fixture
def example(tmp_path: Path) -> Iterator[None]:
    with on_path(example_in(tmp_path)):
        yield


@pytest.mark.usefixtures("example")
class TestTheExample:
    def test_a_codec_names_its_class_and_its_plug_in(self) -> None:
        layout = constructed.snapshot_of(MONEY).layout()
        assert isinstance(layout, layouts.Coded)
        assert (layout.class_name, layout.owner) == (MONEY, OWNER)

    def test_a_layout_is_that_of_a_class_with_its_own_hash_code(self) -> None:
        layout = constructed.snapshot_of(SKU).layout()
        fields = (layouts.Long(), layouts.JavaUtf())
        assert layout == layouts.OfClass(layouts.Struct(("supplier", "number"), fields), SKU)

    def test_a_composite_holds_other_serializers(self) -> None:
        money = constructed.snapshot_of(MONEY)
        interval = constructed.custom(INTERVAL, [money], {})
        data = snapshot_bytes(interval)
        again = read(data)
        assert again == interval
        assert again.layout() == layouts.OfClass(
            layouts.Struct(("low", "high"), (money.layout(), money.layout())), INTERVAL
        )

    def test_snapshots_of_flink_hold_those_of_plug_ins(self) -> None:
        pojo = constructed.pojo("shop.Order", {"price": constructed.snapshot_of(MONEY)})
        assert any(layouts.nodes_of(read(snapshot_bytes(pojo)).layout(), layouts.Coded))

    def test_another_number_of_nested_serializers_is_refused(self) -> None:
        with pytest.raises(
            ValueError, match="IntervalSerializerSnapshot with 0 nested serializers"
        ):
            constructed.custom(INTERVAL, [], {})
        with pytest.raises(ValueError, match="with 1 nested serializers"):
            constructed.custom(MONEY, [constructed.long()], {})

    def test_fields_that_the_body_does_not_have_are_refused(self) -> None:
        with pytest.raises(ValueError, match="has the fields none, but values are given for scale"):
            constructed.custom(MONEY, [], {"scale": 2})

    def test_an_unknown_version_is_bytes_with_the_reason(self) -> None:
        view = DataOutputView()
        view.write_utf(MONEY)
        view.write_int(9)
        snapshot = read(view.to_bytes())
        assert isinstance(snapshot, OpaqueSnapshot)
        assert "version 9 of its class is not known, but a newer Flink's" in snapshot.reason
        with pytest.raises(ValueError, match="version 9 of its class is not known"):
            constructed.custom(MONEY, [], {}, 9)

    def test_a_class_of_flink_asks_no_plug_in(self) -> None:
        assert kind_of(LONG) is not None
        assert plug_in_kinds._kinds.cache_info().currsize == 0


def test_a_snapshot_without_its_plug_in_says_what_to_install() -> None:
    snapshot = pickle.loads(pickle.dumps(TypeSerializerSnapshot(MONEY, 3)))
    assert why_unknown(MONEY) == "its class is not known"
    with pytest.raises(MissingPackageError, match=r"MoneySerializerSnapshot: its plug-in is not"):
        snapshot.layout()
    with pytest.raises(MissingPackageError):
        known_kind(MONEY)


def test_a_class_of_two_plug_ins_is_bytes_with_both_names(tmp_path: Path) -> None:
    row = "{'a.B': simple(Long()), 'a.C': simple(Int())}"
    first = plain(tmp_path / "1", "acme-kinds", row)
    second = plain(tmp_path / "2", "shop-kinds", "{'a.B': simple(Text())}")
    reason = "a.B is registered by acme-kinds 1.0 and by shop-kinds 1.0"
    with on_path(first, second):
        with pytest.warns(PlugInWarning) as warned:
            assert plug_in_kind("a.C") is not None
        assert plug_in_kind("a.B") is None
        assert refusal("a.B") == why_unknown("a.B") == reason
    assert len(warned) == 2


def test_a_class_of_flink_stays_flinks(tmp_path: Path) -> None:
    row = f"{{{LONG!r}: simple(Text())}}"
    with on_path(plain(tmp_path, "acme-kinds", row)):
        with pytest.warns(PlugInWarning) as warned:
            plug_in_kind("a.B")
        assert constructed.long().layout() == layouts.Long()
    assert f"{LONG} is registered by savepoint-state-processor itself and by acme-kinds 1.0" in str(
        warned[0].message
    )


@pytest.mark.parametrize(
    ("kinds", "problem"),
    [
        ("7", "TypeError: int, expected a mapping of snapshot classes to kinds"),
        ("{'no class': simple(Long())}", "ValueError: 'no class' is no name of a Java class"),
        ("{'a.B': Long()}", "TypeError: a.B: Long, expected a SnapshotKind"),
    ],
    ids=["no mapping", "no class", "no kind"],
)
def test_a_wrong_entry_is_a_warning(kinds: str, problem: str, tmp_path: Path) -> None:
    with on_path(plain(tmp_path, "acme-kinds", kinds)), pytest.warns(PlugInWarning, match=problem):
        assert plug_in_kind("a.B") is None


def fails(*_: Any) -> Any:
    raise ZeroDivisionError("oh")


FAILURE = "plug-in shop 1.0 failed: ZeroDivisionError: oh"


@pytest.mark.parametrize(
    ("layout", "reason"),
    [(fails, FAILURE), (lambda _: 7, "plug-in shop 1.0 failed: TypeError: 7 is no layout")],
    ids=["error", "no layout"],
)
def test_a_layout_that_fails_is_bytes_with_the_plug_in(layout: Any, reason: str) -> None:
    kind = owned_kind("a.B", SnapshotKind(layout), "shop 1.0")
    assert kind.layout(TypeSerializerSnapshot("a.B", 3)) == layouts.Opaque("a.B", reason)


def test_a_body_that_fails_is_an_error_with_the_plug_in() -> None:
    with pytest.raises(UndecodableError, match=FAILURE):
        owned_kind("a.B", SnapshotKind(simple(layouts.Long()).layout, fails), "shop 1.0").body(3)


def test_a_field_that_fails_is_an_error_with_the_plug_in() -> None:
    kind = SnapshotKind(fails, lambda _version: (("size", Codec(fails, fails)),))
    ((_, field),) = owned_kind("a.B", kind, "shop 1.0").body(1)
    with pytest.raises(FormatError, match=FAILURE):
        field.codec(()).read(SnapshotView(b""))  # type: ignore[union-attr]  # it depends on others


def test_a_body_that_is_misread_takes_no_other_serializer_along(tmp_path: Path) -> None:
    kinds = "{'a.B': SnapshotKind(lambda _: Long(), lambda _: (('size', UTF),), range(1, 2))}"
    view = DataOutputView()
    pair = constructed.map_of(constructed.long(), constructed.string())
    pair.nested[0].write(view)
    whole = snapshot_bytes(pair)
    own = DataOutputView()
    own.write_utf("a.B")
    own.write_int(1)
    INT.write(own, 77_000)
    UTF.write(own, "it is longer than a text")
    data = whole.replace(view.to_bytes(), own.to_bytes())
    assert data != whole
    with on_path(plain(tmp_path, "acme-kinds", kinds)):
        first, second = read(data).nested
    assert isinstance(first, OpaqueSnapshot)
    assert first.reason.startswith("its plug-in does not read its body: ")
    assert second == constructed.string()


def test_no_plug_in_is_asked_where_they_are_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAVEPOINT_PLUGINS", "off")
    with on_path(example_in(tmp_path)), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kind_of(MONEY) is None
        assert why_unknown(MONEY) == "its class is not known"
