"""Masks and samples as entries of a file: rows of the table of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_extensions.privacy.mask_methods import METHODS
from savepoint_extensions.privacy.mask_rules import MaskRules
from state_processor.plugins import (
    ChangeKind,
    FileWord,
    FlagWord,
    NumberWord,
    Rows,
    TextsWord,
    TextWord,
)

if TYPE_CHECKING:
    from state_processor import SavepointWriter
    from state_processor.plugins import Words


def _mask(writer: SavepointWriter, words: Words) -> SavepointWriter:
    return _masked(writer, words["rules"], is_strict=words["strict"])


def _masked(writer: SavepointWriter, rules: str | Rows, *, is_strict: bool) -> SavepointWriter:
    if isinstance(rules, Rows):
        return writer.masked(MaskRules.of_sections(rules.sections), strict=is_strict)
    return writer.masked(rules, strict=is_strict)


def _sample(writer: SavepointWriter, words: Words) -> SavepointWriter:
    sampled = writer.sample(
        words["fraction"], keys=words["key"] or None, per_key_group=words["per-key-group"]
    )
    if words["mask"] is None:
        return sampled
    return _masked(sampled, words["mask"], is_strict=words["strict"])


def _mistake_of_sample(words: Words) -> str:
    chosen = [words["fraction"], words["key"] or None, words["per-key-group"]]
    if sum(argument is not None for argument in chosen) != 1:
        return "sample needs one of 'fraction', 'key' and 'per-key-group'"
    return "'strict' needs 'mask'" if words["strict"] and words["mask"] is None else ""


def _always(_words: Words) -> bool:
    return True


_RULE = (
    *(
        TextsWord(name, f"Globs for the {name} of a field.")
        for name in ("operator", "state", "field", "name", "type")
    ),
    TextWord("method", "The method of the mask.", is_required=True, choices=tuple(METHODS)),
    TextWord("value", "For fixed: the text of all masks."),
    TextWord("by", "For shift: a duration, perhaps with a minus."),
    TextWord("unit", "For times in numbers.", choices=("s", "ms", "us", "ns")),
    TextsWord("values", "For fake: the texts to choose from."),
    FileWord("file", "For fake: a file of texts, one per line."),
    TextWord("sql", "For sql: the expression."),
    FlagWord("keep_domain", "For texts with an @: leave what follows."),
    FlagWord("numbers", "Mask texts that are numbers, too."),
)
_STRICT = FlagWord("strict", "Refuse fields that no rule names, and bytes that can't be decoded.")

CHANGES = (
    ChangeKind(
        "mask",
        "Mask values and keys by rules.",
        (
            FileWord(
                "rules", "The file of rules, or a list of them.", is_required=True, rows=_RULE
            ),
            _STRICT,
        ),
        _mask,
        needs_session=_always,
    ),
    ChangeKind(
        "sample",
        "Take a sample of the keys, masked if wanted.",
        (
            NumberWord("fraction", "The fraction of keys.", high=1, is_fraction=True),
            TextsWord("key", "The keys to take."),
            NumberWord("per-key-group", "The number of keys of each key group.", low=1),
            FileWord("mask", "The file of rules of a mask, or a list of them.", rows=_RULE),
            _STRICT,
        ),
        _sample,
        _mistake_of_sample,
        _always,
    ),
)
"""The rows of masks and samples."""
