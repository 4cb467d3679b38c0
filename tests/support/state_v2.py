"""Samples as asynchronous operators with ForSt would have written them: entries are the same there."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from savepoint_formats.state_files.header import (
    KEYED_STATE_TYPE,
    NAMESPACE_SERIALIZER,
    USER_KEY_SERIALIZER,
    VALUE_SERIALIZER,
    BackendStateType,
    StateMetaInfo,
)
from support.changed_headers import with_infos

if TYPE_CHECKING:
    from pathlib import Path

_TTL = "ttl.TtlStateFactory$"


def as_v2(info: StateMetaInfo, *, is_of_2_2: bool = True) -> StateMetaInfo:
    """A state of keys as state V2; before Flink 2.2 it names no serializer of user keys."""
    value, namespace = info.serializer(VALUE_SERIALIZER), info.serializer(NAMESPACE_SERIALIZER)
    if info.type is not BackendStateType.KEY_VALUE or value is None or namespace is None:
        return info
    parts = {NAMESPACE_SERIALIZER: namespace, VALUE_SERIALIZER: value}
    match info.option(KEYED_STATE_TYPE):
        case "LIST":
            (parts[VALUE_SERIALIZER],) = value.nested
        case "MAP" if is_of_2_2:
            parts[USER_KEY_SERIALIZER], parts[VALUE_SERIALIZER] = value.nested
        case "MAP":
            _, parts[VALUE_SERIALIZER] = value.nested
    stored = parts[VALUE_SERIALIZER]
    if _TTL in stored.class_name:
        class_name = stored.class_name.replace(_TTL, f"v2.{_TTL}")
        parts[VALUE_SERIALIZER] = replace(stored, class_name=class_name)
    serializers = tuple((role, part) for role, part in parts.items())
    return replace(info, type=BackendStateType.KEY_VALUE_V2, serializers=serializers)


def savepoint_v2(sample: Path, out: Path, *, is_of_2_2: bool = True) -> Path:
    """A copy of a sample, native or canonical, all of whose states of keys are state V2."""
    return with_infos(sample, out, partial(as_v2, is_of_2_2=is_of_2_2))
