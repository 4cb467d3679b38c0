"""Long names of operators as the screen shows them: without what all of them share."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from savepoint_cli.terminal import shortened
from savepoint_formats.printable import printable
from savepoint_formats.shared_names import without_shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NAMES = ("uid", "operator", "name")


@dataclass(frozen=True, slots=True)
class ShortNames:
    """Short forms of the names of operators.

    Attributes:
        hashes: Hash of an operator -> its first digits.
        uids: Uid of an operator -> what only it has; empty if the uids share too little.
        note: What the uids share; "" if nothing is left out.
    """

    hashes: Mapping[str, str]
    uids: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    @classmethod
    def of(cls, hashes: Mapping[str, str], uids: Iterable[str]) -> Self:
        """The short forms of these uids."""
        known = list(uids)
        shown, note = without_shared("operator", known, known)
        return cls(hashes, dict(zip(known, shown, strict=True)) if note else {}, note)

    def text(self, text: str) -> str:
        """A title or a verdict with short names; it must not be data."""
        plain = shortened(printable(text), self.hashes)
        if not self.uids:
            return plain
        longest_first = sorted(map(printable, self.uids), key=len, reverse=True)
        short = {printable(uid): printable(name) for uid, name in self.uids.items()}
        return re.sub("|".join(map(re.escape, longest_first)), lambda uid: short[uid[0]], plain)

    def operator(self, name: str) -> str:
        """The short form of a uid or hash."""
        return self.uids.get(name) or self.hashes.get(name, name)

    def record(self, record: Any) -> Any:
        """A record with short names, and without a name that says the uid again."""
        if not self.uids or not is_dataclass(record) or isinstance(record, type):
            return record
        values = {each.name: getattr(record, each.name) for each in fields(record)}
        changes = {
            name: self.uids[values[name]] for name in _NAMES if values.get(name) in self.uids
        }
        if "uid" in values and values.get("name") == values["uid"]:
            changes["name"] = ""
        return replace(record, **changes)
