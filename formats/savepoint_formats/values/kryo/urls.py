"""The row of ``java.net.URL``: Kryo 5.6 writes its text, 2.24 its fields in the order of their names.

| bytes of 2.24 | field     | in the text                        |
|---------------|-----------|------------------------------------|
| text or null  | authority | behind ``//``                      |
| text          | file      | path and query                     |
| zigzag        | hashCode  | -1; Java counts it again           |
| text or null  | host      | in the authority                   |
| zigzag        | port      | in the authority; -1 if there is none |
| text          | protocol  | in front of ``:``                  |
| text or null  | ref       | behind ``#``                       |
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from savepoint_formats.values.kryo.body import TEXT, Body, fields_body
from savepoint_formats.values.kryo.descriptions import kryo_class
from savepoint_formats.values.kryo.objects import KryoNode, KryoObject, plain
from savepoint_formats.values.kryo.types import ClassRow, KryoType, of_kind

if TYPE_CHECKING:
    from savepoint_formats.values.kinds.codec import Value
    from savepoint_formats.values.kryo.graph import KryoGraph
    from savepoint_formats.values.kryo.writer import KryoWriter

_URL, _TEXT = "java.net.URL", "java.lang.String"
_TEXTS = ("authority", "file", "host", "protocol", "ref")
_FORM = re.compile(r"([A-Za-z][\w+.-]*):(?://([^/?#\s]*))?([^#\s]*)(?:#(\S*))?")
_AUTHORITY = re.compile(r"(?:[^@]*@)?(\[[^\]]*\]|[^:]*)(?::(\d*))?")
_FIELDS = fields_body(
    kryo_class(_URL, {"hashCode": "int", "port": "int"} | dict.fromkeys(_TEXTS, _TEXT))
)


def _read(graph: KryoGraph) -> str:
    fields = _FIELDS.read(graph).fields
    authority, file, _, protocol, ref = (plain(fields[name]) for name in _TEXTS)
    around = "" if authority is None else f"//{authority}"
    return f"{protocol}:{around}{file or ''}" + ("" if ref is None else f"#{ref}")


def _write(value: Value, writer: KryoWriter) -> None:
    match = _FORM.fullmatch(plain(value))
    if match is None:
        raise ValueError(f"{plain(value)!r} is no {_URL}")
    protocol, authority, file, ref = match.groups()
    host, port = ("", "") if authority is None else _AUTHORITY.match(authority).groups()  # type: ignore[union-attr]
    texts = (authority, file, host, protocol, ref)
    fields: dict[str, Value] = {
        name: None if text is None else KryoNode(_TEXT, text)
        for name, text in zip(_TEXTS, texts, strict=True)
    }
    fields |= {"hashCode": -1, "port": int(port) if port else -1}
    _FIELDS.write(KryoObject(_URL, fields), writer)


def _content(value: Value) -> str:
    if _FORM.fullmatch(value) is None:
        raise ValueError(f"{value!r} is no {_URL}")
    return str(value)


URL = ClassRow(
    (Body(_read, _write), TEXT), is_final=True, column=KryoType(pa.utf8(), of_kind(str), _content)
)
