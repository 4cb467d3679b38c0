"""Values of people in a savepoint: found, and named for masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_database.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_extensions.privacy.found_values import FoundValues
    from savepoint_extensions.privacy.suggestions import MaskSuggestions


class PrivacyVerbs(Snapshot):
    """Finds values in a savepoint, and drafts rules for masks."""

    def find(self, values: Sequence[str], *, contains: bool = False) -> FoundValues:
        """Looks for texts in all state: keys, values, inner fields, operator state and files.

        All state is read and decoded. Bytes that can't be decoded, and whole files, are searched
        for the bytes of a text in UTF-8, UTF-16 and the forms of Flink and Kryo.

        Args:
            values: Texts; a number, a time or bytes as they are shown.
            contains: Whether a text that only contains a value counts.

        Returns:
            The places, with the keys of entries, and a digest of each file. State that could not be
            read is among the problems.

        Raises:
            ValueError: A value is empty, or there is none.

        Example:
            >>> savepoint.find(["ada@example.com"]).keys()
            {'summarize': ['42']}
        """
        from savepoint_extensions.privacy.found_values import find_in  # noqa: PLC0415  # loads no extension before it is used

        return find_in(self, values, contains=contains)

    def mask_suggestions(self, limit: int = 100_000) -> MaskSuggestions:
        """Drafts rules for ``masked``, by names of fields and by what their texts look like.

        Args:
            limit: The number of entries to look at in each state.

        Raises:
            SavepointError: A file can't be read.

        Example:
            >>> Path("rules.yaml").write_text(savepoint.mask_suggestions().to_yaml())
        """
        from savepoint_extensions.privacy.suggestions import MaskSuggestions  # noqa: PLC0415  # loads no extension before it is used

        return MaskSuggestions.of(self, limit)
