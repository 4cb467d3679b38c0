r"""Texts of columns: UTF-8, which has no half of a surrogate pair.

Java's strings are UTF-16 units, and may have half a pair alone: a text that was cut in the middle
of an emoji. A column shows it as U+FFFD and an escape, ``\ufffd\ud83d``: no row is missing, and
different texts stay different. Such a text is refused when it is written, because a real text may
have exactly these characters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from savepoint_formats.lazy_modules import LazyModule

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from savepoint_formats.bytes.data_view import DataInputView

pc: Any = LazyModule("pyarrow.compute")

_HALF = re.compile("[\ud800-\udfff]")
_SHOWN_HALF = re.compile("\ufffd\\\\ud[89a-f][0-9a-f]{2}")
_SHOWN_HALF_BYTES = re.compile(_SHOWN_HALF.pattern.encode())


def column_text(text: str) -> str:
    r"""The text as a column shows it: ``"\ud83d"`` as ``"\ufffd\\ud83d"``."""
    if text.isascii():
        return text
    return _HALF.sub(lambda half: f"\ufffd\\u{ord(half[0]):04x}", text)


def written_text(text: str) -> str:
    """The text; ``ValueError`` if it has half a surrogate pair, or a column shows one so."""
    if text.isascii():
        return text
    if (half := _HALF.search(text)) is not None:
        raise ValueError(
            f"U+{ord(half[0]):04X} at character {half.start()} is half a surrogate pair, which is"
            " no UTF-8"
        )
    if (shown := _SHOWN_HALF.search(text)) is not None:
        raise ValueError(shown_half_message(shown[0]))
    return text


def rows_of_halves(texts: pa.Array) -> npt.NDArray[np.int64]:
    """The rows of a column of texts that ``written_text`` refuses."""
    _, _, content = texts.buffers()
    if content is None or _SHOWN_HALF_BYTES.search(memoryview(content)) is None:
        return np.empty(0, np.int64)
    has_half = pc.fill_null(pc.match_substring_regex(texts, _SHOWN_HALF.pattern), False)
    return np.flatnonzero(has_half.to_numpy(zero_copy_only=False))


def shown_half_message(text: str) -> str:
    """Why a column's form of half a surrogate pair is not written."""
    return (
        f"{text!r} is how a column shows half a surrogate pair of a stored string, and nothing tells"
        " it from a text of these very characters: to keep its state as it is stored, write only"
        " other states; or give a text without it, as replace(text, '\\ufffd', '?') does"
    )


def utf8_text(view: DataInputView) -> str:
    """All bytes of a view as UTF-8."""
    try:
        return str(view.buffer, "utf-8")
    except UnicodeDecodeError as error:
        raise view.error(f"not UTF-8: {error.reason}") from error
