"""The change ``forget-prices``: the job starts with the prices of its sources alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_processor.plugins import ChangeKind, TextWord, Words

if TYPE_CHECKING:
    from state_processor import SavepointWriter


def forget(writer: SavepointWriter, words: Words) -> SavepointWriter:
    """Leave the operator of the prices out."""
    return writer.remove_operator(words["operator"])


FORGET = ChangeKind(
    "forget-prices",
    "Forget all prices.",
    (TextWord("operator", "The operator that has them.", is_required=True),),
    forget,
)
