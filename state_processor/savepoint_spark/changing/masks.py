"""What a change of an operator asks of masks, whoever makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from savepoint_formats.pass_through import EntryChange

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import pyarrow as pa

    from savepoint_formats.hashing import HashKeys
    from savepoint_formats.state_files import State


class MaskedEntries(EntryChange, Protocol):
    """Masks the entries and elements of an operator; small, and can be pickled."""

    @property
    def rules(self) -> Mapping[str, Any]:
        """State -> its rules; other states stay."""

    def elements(self, data: pa.LargeBinaryArray, state: State) -> pa.LargeBinaryArray:
        """The masked elements of an operator state that has rules."""

    def with_hash_keys(self, hash_keys: HashKeys | None) -> MaskedEntries:
        """The same masks, with hash codes of keys whose type doesn't tell them."""


class Masks(Protocol):
    """The rules for all fields of an operator."""

    def masked(self) -> MaskedEntries | None:
        """The masks of the operator; None if all fields stay."""
