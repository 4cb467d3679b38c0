"""Users' names for an operator: its uid, its hash, or the first digits of the hash."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

from savepoint_formats.errors import (
    AmbiguousOperatorError,
    OperatorNotFoundError,
    UnknownUidWarning,
)
from savepoint_formats.key_groups.operator_id import OperatorId
from savepoint_formats.printable import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from savepoint_formats.metadata import CheckpointMetadata

    Uids = Mapping[str, str | None]

FEWEST_DIGITS = 4
"""Fewest digits of a hash that name an operator, as in git."""

_SHOWN_DIGITS = 8
_DIGITS = re.compile(rf"[0-9a-f]{{{FEWEST_DIGITS},32}}")


def id_called(name: str, uids: Uids, path: str) -> str:
    """Hash of the operator with this name: a uid, a hash, or its first digits, in this order.

    ``path`` names the savepoint in errors.

    Raises:
        OperatorNotFoundError: There is no such operator; the message lists all operators.
        AmbiguousOperatorError: Several hashes begin with these digits; the message lists them.
    """
    for operator_id, uid in uids.items():
        if uid == name:
            return operator_id
    for operator_id in (str(OperatorId.from_uid(name)), name.lower()):
        if operator_id in uids:
            return operator_id
    meant = ids_beginning(name, uids)
    if len(meant) > 1:
        raise AmbiguousOperatorError.among(
            path, name, [_described(uids, candidate) for candidate in meant]
        )
    if not meant:
        names = (uid or operator_id for operator_id, uid in uids.items())
        raise OperatorNotFoundError.among(path, name, names)
    return meant[0]


def ids_beginning(digits: str, uids: Uids) -> list[str]:
    """Hashes that begin with these digits; none if the digits are too few."""
    if not _DIGITS.fullmatch(digits.lower()):
        return []
    return sorted(operator_id for operator_id in uids if operator_id.startswith(digits.lower()))


def short_ids(uids: Uids) -> dict[str, str]:
    """Hash -> its shortest unique beginning, of 8 digits or more."""
    ordered, shortened = sorted(uids), {}
    names = set(uids.values())
    neighbours = zip(ordered, ["", *ordered[:-1]], [*ordered[1:], ""], strict=True)
    for operator_id, before, after in neighbours:
        count = _SHOWN_DIGITS
        while count < len(operator_id) and (
            operator_id[:count] in (before[:count], after[:count], *names)
        ):
            count += 1
        shortened[operator_id] = operator_id[:count]
    return shortened


def _described(uids: Uids, operator_id: str) -> str:
    uid = uids[operator_id]
    return operator_id if uid is None else f"{operator_id} ({uid})"


def names_by_id(metadata: CheckpointMetadata, uids: Iterable[str], path: str) -> dict[bytes, str]:
    """Operator id -> uid; warns of uids that fit no operator."""
    if isinstance(uids, str | bytes):
        raise TypeError(f"uids is {uids!r}, expected a list: uids=[{uids!r}]")
    given = {OperatorId.from_uid(uid): uid for uid in uids}
    known = {record.operator_id for record in metadata.operators}
    if unknown := [uid for operator_id, uid in given.items() if operator_id not in known]:
        names = sorted(
            record.uid or given.get(record.operator_id) or str(record.operator_id)
            for record in metadata.operators
        )
        message = (
            f"{path} has no operator {', '.join(map(repr, unknown))}; it has: {', '.join(names)}"
            f"{''.join(did_you_mean(uid, names) for uid in unknown)}"
        )
        warnings.warn(message, UnknownUidWarning, stacklevel=3)
    return {operator_id: uid for operator_id, uid in given.items() if operator_id in known}
