"""A certificate of erasure: what was searched, where values were, and what remains.

It does not have the values or keys themselves. A value is named by a salted digest: you can compare
it if you know the value, but not read it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from savepoint_database.audit.report_page import page_of, report_html
from savepoint_formats.printable import without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from savepoint_extensions.privacy.found_values import FoundPlace, FoundValues

UNKNOWABLE = tuple(
    " ".join(line.split())
    for line in """
Snapshots that were not searched, backups and copies of these files still have what they had.
Files that a store has deleted, or keeps as older versions, were not searched.
In bytes that nobody can decode, and in files as a whole, only text is found: in UTF-8, UTF-16, UTF-32, \
Latin-1, the forms of Flink and Kryo, JSON, URLs, XML, and hexadecimal or Base64 of at least eight letters. \
Compressed, encrypted or split text is not, nor text in other letters, such as upper case.
A number is only found as a number or as its digits, not as a text of another form.
The old savepoint keeps what it had, with old versions of values and deleted keys in its files.
A job that runs on, or is restored from another snapshot, may have the values again.
Sinks, topics, logs and tables of the job were not searched.
Values derived from the erased ones, such as sums over several people, stay.
""".strip().splitlines()
)
"""Limits of each search of savepoints."""

_VERDICTS = {
    True: "None of the values is left",
    False: "Values are left",
    None: "Unknown: no value was found, but a part could not be searched",
}


@dataclass(frozen=True, slots=True)
class CertifiedPlace:
    """Places of values in a state, without keys.

    Attributes:
        snapshot: The snapshot.
        operator: The operator; empty for ``_metadata``.
        state: The state; empty for keys.
        field: The field.
        file: The file.
        keys: The number of keys.
        count: The number of matches.
    """

    snapshot: str
    operator: str
    state: str
    field: str
    file: str
    keys: int
    count: int


@dataclass(frozen=True, slots=True)
class CertifiedFile:
    """A file of a searched snapshot, with its SHA-256."""

    snapshot: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ErasureCertificate:
    """Proof of a search for values, and of their erasure.

    Attributes:
        time: Time of the certificate, in UTC.
        salt: Salt of the digests of values, hexadecimal.
        values: SHA-256 of salt and value for each value.
        contains: Whether texts that only contain a value were looked for.
        is_erased: Whether the new savepoint has none of the values; None if a part of it could not
            be searched.
        before: The places in the searched snapshots.
        after: The places that are left in the new savepoint.
        files_before: Files of the searched snapshots.
        files_after: Files of the new savepoint.
        problems: What could not be searched before.
        problems_after: What could not be searched in the new savepoint.
        unknowable: What no search can tell.
    """

    time: str
    salt: str
    values: tuple[str, ...]
    contains: bool
    is_erased: bool | None
    before: tuple[CertifiedPlace, ...]
    after: tuple[CertifiedPlace, ...]
    files_before: tuple[CertifiedFile, ...]
    files_after: tuple[CertifiedFile, ...]
    problems: tuple[str, ...]
    problems_after: tuple[str, ...]
    unknowable: tuple[str, ...] = UNKNOWABLE

    @classmethod
    def of(cls, before: FoundValues, after: FoundValues) -> Self:
        """The certificate of two searches for the same values, before and after an erasure."""
        salt = secrets.token_bytes(16)
        digests = (hashlib.sha256(salt + value.encode()).hexdigest() for value in before.values)
        problems_after = _problems(after)
        if (before.values, before.contains) != (after.values, after.contains):
            raise ValueError("the two searches are for different values")
        return cls(
            datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            salt.hex(),
            tuple(digests),
            before.contains,
            False if after.places else None if problems_after else True,
            _places(before.places),
            _places(after.places),
            _files(before),
            _files(after),
            _problems(before),
            problems_after,
        )

    def to_json(self) -> str:
        """The certificate as JSON."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    def to_html(self) -> str:
        """The certificate as a page without scripts, which loads nothing."""
        verdict = _VERDICTS[self.is_erased]
        facts = {
            "time": self.time,
            "values": str(len(self.values)),
            "searched snapshots": str(len({file.snapshot for file in self.files_before})),
        }
        tables: list[tuple[str, Sequence[Any]]] = [
            ("Where the values were", self.before),
            ("Where they are in the new savepoint", self.after),
            ("What could not be searched in the new savepoint", _lines(self.problems_after)),
            ("What could not be searched before", _lines(self.problems)),
            ("What can't be known", _lines(self.unknowable)),
            ("Digests of the values", _lines((f"salt {self.salt}", *self.values))),
            ("Files before", self.files_before),
            ("Files after", self.files_after),
        ]
        shown = [(title, rows) for title, rows in tables if rows]
        title = "Erasure of values"
        return page_of(title, report_html(title, verdict, facts, shown))


def _lines(texts: Sequence[str]) -> list[dict[str, str]]:
    return [{"text": text} for text in texts]


def _problems(search: FoundValues) -> tuple[str, ...]:
    return tuple(
        without_secrets(f"{searched.path}: {problem}")
        for searched in search.snapshots
        for problem in searched.problems
    )


def _places(places: Sequence[FoundPlace]) -> tuple[CertifiedPlace, ...]:
    keys: dict[tuple[str, str, str, str, str], set[str]] = {}
    counts: dict[tuple[str, str, str, str, str], int] = {}
    for place in places:
        path = without_secrets(place.snapshot)
        where = (path, place.operator, place.state, place.field, without_secrets(place.file))
        keys.setdefault(where, set()).update([] if place.key is None else [place.key])
        counts[where] = counts.get(where, 0) + place.count
    return tuple(
        CertifiedPlace(snapshot, operator, state, field, file, len(of_place), counts[where])
        for where, of_place in keys.items()
        for snapshot, operator, state, field, file in (where,)
    )


def _files(search: FoundValues) -> tuple[CertifiedFile, ...]:
    return tuple(
        CertifiedFile(without_secrets(searched.path), without_secrets(path), digest)
        for searched in search.snapshots
        for path, digest in searched.files.items()
    )
