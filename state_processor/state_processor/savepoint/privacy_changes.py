"""Changes that keep people out of a savepoint: masked values, samples of keys, erased keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from state_processor.savepoint.lifetime_changes import LifetimeChanges

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from savepoint_extensions.privacy.found_values import FoundValues
    from savepoint_extensions.privacy.mask_rules import MaskRules
    from state_processor.savepoint.writer import SavepointWriter


class PrivacyChanges(LifetimeChanges):
    """Changes for test data and for people who want to be forgotten; see ``StateChanges``."""

    __slots__ = ()

    def masked(
        self, rules: MaskRules | str | os.PathLike[str], *, strict: bool = False
    ) -> SavepointWriter:
        """Masks values, keys and operator state by rules.

        Equal values get equal masks in all operators and states. Masked keys get the key groups of
        their new values; their states, windows and timers go with them. ``write`` reads masked state
        twice: once to count, and to compare keys, and once to write. It raises ``MaskError`` if keys
        would become equal, and ``UnstableHashError`` if the hash codes of masked keys are unknown.

        Args:
            rules: The rules, or their file of YAML.
            strict: Refuses fields that no rule names, and bytes that can't be decoded.

        Raises:
            DescriptionError: The file has no valid rules.
            MaskError: A method can't mask a field, a secret is missing, or no rule names a field.

        Example:
            >>> savepoint.masked("rules.yaml").write("s3://staging/savepoint").masked
        """
        from savepoint_extensions.privacy.private_writer import masked  # noqa: PLC0415  # loads no extension before it is used

        return masked(self.writer(), rules, strict=strict)

    def sample(
        self,
        fraction: float | None = None,
        *,
        keys: Sequence[Any] | None = None,
        per_key_group: int | None = None,
    ) -> SavepointWriter:
        """Takes some keys of all operators, with all their states, windows and timers.

        Exactly one argument is given. Operators with equal keys keep the same ones. Operator state
        stays whole.

        Args:
            fraction: The fraction of the keys, by their hash: 0.01 takes about 1 %.
            keys: The keys, as ``Savepoint.key`` takes them; an operator with keys of another type
                has none.
            per_key_group: The number of keys of each key group, over all operators with the same max
                parallelism: an operator that has none of them keeps fewer. Reads all keys at once.

        Raises:
            ValueError: None or several arguments are given, or one is out of range.
            KeyTypeError: No operator has keys of the type of ``keys``.

        Example:
            >>> savepoint.sample(0.01).write("/tmp/small")
        """
        from savepoint_extensions.privacy.private_writer import sampled  # noqa: PLC0415  # loads no extension before it is used

        return sampled(self.writer(), fraction, keys, per_key_group)

    def erase(self, answer: FoundValues, *, rewrite: bool = False) -> SavepointWriter:
        """Leaves out the keys that ``find`` has found, in the operators where it found them.

        RocksDB's files and changelogs have old versions of values, and deleted keys. Where ``find``
        found a value in such a file, the keyed state of the operator is written anew.

        Args:
            answer: The answer of ``find`` about this savepoint. From an answer about other
                savepoints of the job, all keys are taken. Operators that are missing here have
                nothing to erase.
            rewrite: Writes the keyed state of all operators anew that may have old versions. Then
                numbers, times and constants can't hide there either.

        Raises:
            KeyTypeError: The answer is about another job, with keys of another type.
            SavepointError: Keyed state that must be written anew can't be read.

        Example:
            >>> found = savepoint.find(["ada@example.com"])
            >>> savepoint.erase(found).write("s3://jobs/without-ada")
        """
        from savepoint_extensions.privacy.private_writer import erased  # noqa: PLC0415  # loads no extension before it is used

        return erased(self.writer(), answer, rewrite=rewrite)
