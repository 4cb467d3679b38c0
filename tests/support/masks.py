"""Masks as their definition says, computed apart from the product, and texts that must be gone."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import TYPE_CHECKING, Any

from savepoint_formats.bytes.data_view import DataOutputView
from savepoint_formats.values.kinds.precise_times import is_precise

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

SECRET = "a secret of more than 16 bytes"
_NUMBER = re.compile(r"[-\d.]+")


def hashed(text: str) -> str:
    """A text under the method ``hash``."""
    data = b"text\0" + text.encode("utf-8", "surrogatepass")
    return hmac.new(SECRET.encode(), data, hashlib.sha256).hexdigest()[:20]


def with_hashed_texts(value: Any, *, besides: tuple[str, ...] = ()) -> Any:
    """A row, or a part of one, with each text hashed; fields ``besides`` stay."""
    match value:
        case str():
            return hashed(value)
        case list():
            return [with_hashed_texts(item, besides=besides) for item in value]
        case dict():
            return {
                name: cell if name in besides else with_hashed_texts(cell, besides=besides)
                for name, cell in value.items()
            }
        case _:
            return value


def texts_in(data_type: pa.DataType, value: Any) -> Iterator[str]:
    """All texts in a value of Arrow."""
    if value is None or is_precise(data_type):
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, cell in value.items():
            yield from texts_in(data_type.field(name).type, cell)
    elif isinstance(value, list) and hasattr(data_type, "item_type"):
        for key, item in value:
            yield from texts_in(data_type.key_type, key)
            yield from texts_in(data_type.item_type, item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(data_type.value_type, item)


def is_number(text: str) -> bool:
    """Whether a text is a decimal, which is a text only in Arrow."""
    return _NUMBER.fullmatch(text) is not None


def stored_forms(text: str) -> set[bytes]:
    """The bytes that a text may have in a file."""
    view = DataOutputView()
    view.write_string_value(text)
    size = 1 if len(text) < 127 else 2
    forms = {
        text.encode(),
        text.encode("utf-16-be"),
        text.encode("utf-16-le"),
        view.to_bytes()[size:],
    }
    if text.isascii():
        forms.add(text[:-1].encode() + bytes([ord(text[-1]) | 0x80]))
    return forms


def bytes_of_files(folder: Path) -> bytes:
    """All files of a savepoint, one behind the other."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
