"""Values that are looked for in all state of one or many snapshots, and the places that have them.

All state is read and decoded. A text is compared with texts, numbers and times as they are shown;
bytes that can't be decoded are searched for its forms, see ``text_forms``. Files are searched as
bytes, too, and what is compressed in them: they also have state that only operators can read, old
versions of values, and deleted keys.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING, Any, Self

from savepoint_database.snapshot import Snapshot, opening_of, snapshots
from savepoint_extensions.privacy.file_search import FileSearch, hidden_parts
from savepoint_extensions.privacy.search_parts import Findings, PartPlan
from savepoint_extensions.privacy.text_forms import SoughtTexts
from savepoint_formats.errors import DescriptionError, SavepointError
from savepoint_formats.savepoint_warnings import UnknownUidWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from savepoint_database.snapshot import GivenType, Operator, StateTypes
    from savepoint_database.types import DescribedClasses
    from savepoint_extensions.privacy.search_parts import Part, Run
    from savepoint_formats.locations import PathText


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """A place that has a value.

    Attributes:
        snapshot: The path of the snapshot.
        operator: The operator; empty for ``_metadata``.
        state: The state; empty for keys.
        field: The field, as rules for masks name it; ``bytes`` if the value can't be decoded.
        key: The text of the key, as ``savepoint key`` takes it; None in operator state and files.
        file: The file, if it was searched as bytes.
        count: The number of entries, elements or bytes that match there.
    """

    snapshot: str
    operator: str
    state: str
    field: str
    key: str | None = None
    file: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class SearchedSnapshot:
    """A snapshot that was searched.

    Attributes:
        path: Its path.
        checkpoint_id: Its id.
        entries: The number of entries and elements.
        files: SHA-256 of each of its files.
        problems: What could not be searched, and why.
    """

    path: str
    checkpoint_id: int | None
    entries: int
    files: dict[str, str]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundValues:
    """The answer of ``find``. It has the values themselves: keep it as safe as the savepoint.

    Attributes:
        values: The texts that were looked for.
        contains: Whether texts that only contain a value count.
        snapshots: The searched snapshots.
        places: The places that have a value.
    """

    values: tuple[str, ...]
    contains: bool
    snapshots: tuple[SearchedSnapshot, ...]
    places: tuple[FoundPlace, ...]

    @property
    def is_found(self) -> bool:
        """Whether any place has a value."""
        return bool(self.places)

    def keys(self, path: str = "") -> dict[str, list[str]]:
        """The keys of entries that have a value, by operator.

        If the snapshot at ``path`` was searched, only its keys; else the keys of all snapshots.
        """
        keys: dict[str, dict[str, None]] = {}
        is_searched = any(searched.path == path for searched in self.snapshots)
        for place in self.places:
            if place.key is not None and (not is_searched or place.snapshot == path):
                keys.setdefault(place.operator, {})[place.key] = None
        return {operator: list(of_it) for operator, of_it in keys.items()}

    def to_json(self) -> str:
        """The answer as JSON, for ``of_json``."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str, file: str = "the answer") -> Self:
        """The answer that ``to_json`` gave; ``DescriptionError`` for another text."""
        try:
            known = json.loads(text)
            places = tuple(_made(FoundPlace, place) for place in known["places"])
            searched = tuple(_made(SearchedSnapshot, values) for values in known["snapshots"])
            return cls(tuple(map(str, known["values"])), bool(known["contains"]), searched, places)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DescriptionError(f"{file} is not an answer of savepoint find: {error}") from error


_OF_JSON: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, NoneType),
    "int": (int,),
    "int | None": (int, NoneType),
    "dict[str, str]": (dict,),
    "tuple[str, ...]": (list,),
}
"""Type of a field -> types of its value in JSON."""


def _made(kind: type[Any], values: dict[str, Any]) -> Any:
    types = {field.name: _OF_JSON[str(field.type)] for field in fields(kind)}
    made = {name: value for name, value in values.items() if name in types}
    for name, value in made.items():
        if not isinstance(value, types[name]):
            raise TypeError(f"{name} is {str(value)[:80]!r}")
    if "problems" in made:
        made["problems"] = tuple(made["problems"])
    return kind(**made)


def find_in(
    snapshot: Snapshot, values: Sequence[str], *, contains: bool = False, run: Run = map
) -> FoundValues:
    """See ``Savepoint.find``; ``run`` searches the parts."""
    wanted = _texts(values)
    searched, places = _searched(snapshot, wanted, contains=contains, run=run)
    return FoundValues(wanted, contains, (searched,), tuple(places))


def find(  # noqa: PLR0913  # as Snapshot.open
    directory: PathText,
    values: Sequence[str],
    *,
    contains: bool = False,
    uids: Iterable[str] = (),
    kryo_classes: DescribedClasses = (),
    allow_paths: Iterable[PathText] = (),
    strict_paths: bool = False,
    key_types: Mapping[str, GivenType] | None = None,
    plan: PathText | None = None,
    types: StateTypes | None = None,
) -> FoundValues:
    """Looks for values in all snapshots below a directory, the newest first.

    Args:
        directory: Directory with the snapshots.
        values: Texts; a number, a time or bytes as they are shown.
        contains: Whether a text that contains a value counts, too.
        uids: Uids of operators, because Flink 1.x stores only their hashes; a snapshot may lack some operators.
        kryo_classes: Classes that Kryo wrote, or a file of YAML or JSON that describes them; see ``kryo_class``.
        allow_paths: Local directories and URIs. Files on another store are followed only below these.
        strict_paths: Follow no other path out of the directories of a savepoint and of its checkpoint.
        key_types: Uid or hash of an operator -> type of its keys, for operators whose files don't tell it.
        plan: File with the compiled plan of a SQL job.
        types: Types of states of a PyFlink job, see ``Savepoint.open``.

    Returns:
        All places of all snapshots. Snapshots that are incomplete or can't be opened are among the
        searched ones, with their problem.

    Raises:
        SavepointNotFoundError: There is no such directory.
        ValueError: A value is empty, or there is none.

    Example:
        >>> find("s3://jobs/checkpoints", ["ada@example.com"]).keys()
    """
    opening = opening_of(
        uids=uids,
        kryo_classes=kryo_classes,
        allow_paths=allow_paths,
        strict_paths=strict_paths,
        key_types=key_types,
        plan=plan,
        types=types,
    )
    wanted, allowed = _texts(values), opening["allow_paths"]
    searched: list[SearchedSnapshot] = []
    places: list[FoundPlace] = []
    for retained in snapshots(directory, allow_paths=allowed, strict_paths=strict_paths):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnknownUidWarning)
                opened = Snapshot.open(retained.path, **opening)
            snapshot, of_snapshot = _searched(opened, wanted, contains=contains)
            if retained.problem:
                problems = (retained.problem, *snapshot.problems)
                snapshot = replace(snapshot, problems=problems)
            places += of_snapshot
        except SavepointError as error:
            snapshot = SearchedSnapshot(retained.path, retained.id, 0, {}, (str(error),))
        searched.append(snapshot)
    return FoundValues(wanted, contains, tuple(searched), tuple(places))


def _texts(values: Sequence[str]) -> tuple[str, ...]:
    if not values or not all(values):
        raise ValueError("no text to look for, expected at least one that is not empty")
    return tuple(dict.fromkeys(values))


def _searched(
    snapshot: Snapshot, values: tuple[str, ...], *, contains: bool, run: Run = map
) -> tuple[SearchedSnapshot, list[FoundPlace]]:
    sought, plan, total = SoughtTexts(values), PartPlan(), Findings()
    in_metadata = FileSearch(sought)
    in_metadata.in_metadata(snapshot.metadata_bytes)
    total.take(Findings(counts=in_metadata.counts, digests=in_metadata.digests))
    hindered = [list[str]() for _ in snapshot.operators()]
    parts = [
        list(plan.parts(operator, problems))
        for operator, problems in zip(snapshot.operators(), hindered, strict=True)
    ]
    search = partial(_findings, sought, contains)
    findings, places = iter(run(search, list(chain.from_iterable(parts)))), list[FoundPlace]()
    for operator, of_operator, problems in zip(snapshot.operators(), parts, hindered, strict=True):
        answer = Findings(problems=problems)
        for _ in of_operator:
            answer.take(next(findings))
        for (state, name, key), count in answer.hits.items():
            places.append(FoundPlace(snapshot.path, operator.name, state, name, key, "", count))
        answer.file_problems += _hidden(operator, sought, answer)
        total.take(replace(answer, hits={}))
    for path, count in total.counts.items():
        name = plan.owners.get(path, "")
        places.append(FoundPlace(snapshot.path, name, "", "bytes", None, path, count))
    searched = SearchedSnapshot(
        snapshot.path,
        snapshot.metadata.checkpoint_id,
        total.entries,
        total.digests,
        (*total.problems, *total.file_problems),
    )
    return searched, places


def _findings(sought: SoughtTexts, contains: bool, part: Part) -> Findings:
    return part.findings(sought, contains=contains)


def _hidden(operator: Operator, sought: SoughtTexts, answer: Findings) -> list[str]:
    hidden = hidden_parts(
        operator,
        sought,
        has_old_versions=answer.versions > answer.table_entries,
        has_former_keys=answer.has_former_keys,
    )
    return [f"operator {operator.name}: {problem}" for problem in hidden]
