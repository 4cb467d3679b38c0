"""The job of Flink 1.x in ``tests/flink/filling_job``: its savepoints, operators and classes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from flink_home import FlinkHome

from state_processor import kryo_class
from support.flink_restore import (
    RESTORE_JOB,
    Elements,
    KeyedState,
    Operator,
    TimerService,
)
from support.sample_rows import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Sequence

FILLING_JOB = RESTORE_JOB.parent / "filling_job"
WITH_REGISTRATION = {"pipeline.serialization-config": "[depot.RareItem: {type: pojo}]"}
"""Setting of the job of Flink 2.x, because the job of 1.x registered the class."""

UIDS = (
    *("stocks", "places", "codes", "boxes", "windows", "lists", "rules", "numbers"),
    *(f"sink_{number}" for number in range(1, 7)),
)
_STOCK, _BOX, _PLACE = (f"POJO<depot.{name}>" for name in ("Stock", "Box", "Place"))
_CODE = "GENERIC<depot.Code>"
RENAMED = {f"depot.{name}": f"moved.{name}" for name in ("BigItem", "Code", "RareItem")}
"""Classes that Kryo and POJOs name in bytes, and what they are called in another job."""

WITH_RENAMED = {"pipeline.serialization-config": "[moved.RareItem: {type: pojo}]"}
_DAY_MS = 24 * 3_600_000


def _keeper(uid: str, key: str, code: str = _CODE) -> Operator:
    states = (
        KeyedState.value("stock", _STOCK),
        KeyedState.list("boxes", _BOX),
        KeyedState.map("by_place", _PLACE, _BOX),
        KeyedState.value("kept", _BOX).with_ttl(1000 * _DAY_MS),
        KeyedState.value("code", code),
    )
    return Operator(uid, key=key, states=states, timers=(TimerService(),))


def _keepers(code: str) -> tuple[Operator, ...]:
    keys = {"stocks": "LONG", "places": _PLACE, "codes": code}
    return tuple(_keeper(uid, key, code) for uid, key in keys.items())


KEYED = _keepers(_CODE)
WINDOWS = Operator(
    "windows",
    key=_PLACE,
    states=(KeyedState.list("window-contents", _BOX).under("TIME_WINDOW"),),
    timers=(TimerService("window-timers", "TIME_WINDOW"),),
)
ELEMENTS = (
    Operator(
        "lists",
        elements=(Elements("list", "list", (_BOX,)), Elements("union", "union", (_STOCK,))),
    ),
    Operator("rules", elements=(Elements("rules", "broadcast", (_PLACE, _BOX)),)),
)
OPERATORS = (*KEYED, WINDOWS, *ELEMENTS)
RENAMED_OPERATORS = (*_keepers("GENERIC<moved.Code>"), WINDOWS, *ELEMENTS)

_TEXT, _LONG, _LIST = "java.lang.String", "java.lang.Long", "java.util.List"
_ITEM = {"name": _TEXT, "size": "int"}
_OF_ITEM = "depot.Item"

CLASSES = (
    kryo_class(_OF_ITEM, _ITEM, is_pojo=True),
    kryo_class(
        "depot.BigItem",
        _ITEM | {"marks": f"{_LIST}<{_TEXT}>"},
        is_pojo=True,
        superclass=_OF_ITEM,
    ),
    kryo_class("depot.RareItem", _ITEM | {"weight": "long"}, is_pojo=True, superclass=_OF_ITEM),
    kryo_class("depot.Grade", constants=["LOW", "HIGH"], is_final=True),
    kryo_class("depot.Unit", constants=["PIECE", "DOZEN"]),
    kryo_class(
        "depot.Parcel",
        {"labels": f"{_LIST}<{_LIST}<{_TEXT}>>", "number": "long"},
        is_final=True,
        is_pojo=False,
    ),
    kryo_class(
        "depot.Box",
        {
            "counts": f"java.util.Map<{_TEXT}, {_LONG}>",
            "items": f"{_LIST}<{_OF_ITEM}>",
            "label": _TEXT,
        },
        is_pojo=True,
    ),
    kryo_class("depot.Place", {"path": f"{_LIST}<{_TEXT}>", "shelf": "int"}, is_pojo=True),
    kryo_class(
        "depot.Code",
        {"day": "java.time.LocalDate", "rate": "java.lang.Double", "text": _TEXT},
        is_final=True,
        is_pojo=False,
    ),
    kryo_class(
        "depot.Stock",
        {
            "anything": f"{_LIST}<java.lang.Object>",
            "arrays": f"{_LIST}<int[]>",
            "byGrade": "java.util.Map<depot.Grade, java.lang.Double>",
            "byName": f"java.util.Map<{_TEXT}, {_OF_ITEM}>",
            "boxes": f"{_LIST}<depot.Box>",
            "collection": f"java.util.Collection<{_OF_ITEM}>",
            "counts": f"java.util.Map<{_OF_ITEM}, java.lang.Integer>",
            "days": f"{_LIST}<java.util.Date>",
            "distinct": f"java.util.Set<{_OF_ITEM}>",
            "grades": f"{_LIST}<depot.Grade>",
            "ids": f"{_LIST}<java.util.UUID>",
            "items": f"{_LIST}<{_OF_ITEM}>",
            "iterable": f"java.lang.Iterable<{_TEXT}>",
            "lists": f"{_LIST}<{_TEXT}>[]",
            "prices": f"{_LIST}<java.math.BigDecimal>",
            "parcels": f"{_LIST}<depot.Parcel>",
            "raw": _LIST,
            "rows": f"{_LIST}<{_LIST}<{_TEXT}>>",
            "series": f"java.util.Map<{_TEXT}, {_LIST}<{_LONG}>>",
            "spans": f"java.util.Map<java.time.LocalDate, {_LONG}[]>",
            "units": "java.util.Set<depot.Unit>",
            "waits": f"java.util.Map<{_TEXT}, java.time.Duration>",
            "wild": f"{_LIST}<? extends {_OF_ITEM}>",
            "words": f"{_LIST}<{_TEXT}[]>",
        },
    ),
)


def filled(release: str, variants: Sequence[str], folder: Path) -> dict[str, Path]:
    """Savepoints of the job, by ``rocksdb-native`` and the like.

    Args:
        release: Of Flink, below 2.
        variants: A state backend each, and ``canonical`` or ``native``.
        folder: For savepoints and a log.
    """
    home = FlinkHome.cached(release)
    home.install()
    cluster = SAMPLES / "job" / "shop" / "LocalCluster.java"
    classes = home.compiled([RESTORE_JOB / "depot", FILLING_JOB, cluster])
    java = home.java(classes, ["-Xmx1g", "-Duser.timezone=UTC"])
    with (folder / "log").open("w", encoding="utf-8") as log:
        done = subprocess.run(
            [*java, "filling.FillingJob", str(folder), *variants],
            check=True,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    paths = [Path(line.removeprefix("file:")) for line in done.stdout.splitlines()]
    return {path.parent.name: path for path in paths}
