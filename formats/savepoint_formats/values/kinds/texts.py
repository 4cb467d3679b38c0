"""Texts as columns hold them: UTF-8, which knows no half of a surrogate pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.errors import UndecodableError

if TYPE_CHECKING:
    from savepoint_formats.bytes.data_view import DataInputView


def column_text(text: str, view: DataInputView) -> str:
    """The text, if it is one of UTF-8.

    Raises:
        UndecodableError: It has half a surrogate pair, legal in Java but not in UTF-8.
    """
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise view.error("a text with half a surrogate pair, which is no UTF-8", UndecodableError)
    return text


def utf8_text(view: DataInputView) -> str:
    """All bytes of a view as UTF-8."""
    try:
        return str(view.buffer, "utf-8")
    except UnicodeDecodeError as error:
        raise view.error(f"no UTF-8: {error.reason}") from error
