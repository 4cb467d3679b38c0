"""Views: each asks a savepoint, and returns the values of its page's template."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from savepoint_cli.checks import fault_row
from savepoint_cli.terminal import bounded, key_lines, record_cells
from savepoint_database.audit.key_state import key_texts
from savepoint_database.snapshot import SqlTables
from savepoint_extensions.serving.table_rows import PAGE_ROWS, TableRows, Wanted
from savepoint_formats.errors import SavepointError
from savepoint_formats.metadata import TARGETS, release_text
from savepoint_formats.printable import fields_of
from savepoint_formats.quantities import ByteCount
from savepoint_formats.shared_names import without_shared
from savepoint_formats.tables import KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.datastructures import QueryParams

    from savepoint_extensions.serving.table_rows import RowsPage
    from state_processor import Savepoint

    Values = dict[str, Any]
    View = Callable[["Served", QueryParams], Values]


@dataclass(frozen=True, slots=True)
class Served:
    """A savepoint, with a way to the other ones by their names in addresses; None if there is no such."""

    savepoint: Savepoint
    other: Callable[[str], Savepoint | None]
    rows: TableRows

    def short(self, names: Sequence[str]) -> tuple[list[str], str]:
        """Names of operators without what all operators share, and a note on that."""
        uids = [operator.uid or operator.id for operator in self.savepoint.operators()]
        return without_shared("operator", names, uids)


@dataclass(frozen=True, slots=True)
class RecordsTable:
    """Records as a table. ``bars`` are the fractions of the largest size per row, if rows have sizes."""

    title: str
    names: list[str]
    cells: list[tuple[str, ...]]
    bars: list[float]
    note: str = ""

    @classmethod
    def of(
        cls, title: str, records: Sequence[Any], short_ids: Mapping[str, str], size: str = ""
    ) -> RecordsTable:
        bars = _bars([fields_of(record)[size] for record in records]) if size else []
        return cls(title, *record_cells(records, short_ids), bars)

    @classmethod
    def of_operators(cls, served: Served, title: str, records: Sequence[Any]) -> RecordsTable:
        """A table with sizes; of each operator's name it has what not all operators share."""
        rows = [dict(fields_of(record)) for record in records]
        size = _size_field(rows[0]) if rows else ""
        if not rows or not isinstance(rows[0].get("operator"), str):
            return cls.of(title, records, served.savepoint.short_ids(), size)
        names, note = served.short([row["operator"] for row in rows])
        for row, name in zip(rows, names, strict=True):
            row["operator"] = name
        table = cls.of(title, rows, served.savepoint.short_ids(), size)
        return replace(table, note=note)


def overview(served: Served, _given: QueryParams) -> Values:
    """The savepoint on one page: facts, and operators with their states and tables."""
    description = served.savepoint.describe()
    names = SqlTables(served.savepoint.operators())
    sizes = [each.keyed_size + each.operator_size for each in description.operators]
    short, note = served.short([each.uid or each.hash for each in description.operators])
    operators = [
        {
            "name": each.uid or each.hash,
            "short": shown,
            "title": each.name if each.name and each.name != each.uid else "",
            "size": ByteCount(size).text,
            "bar": bar,
            "parallelism": f"{each.parallelism} of {each.max_parallelism}",
            "states": each.states,
            "problems": each.problems,
            "tables": [
                {"name": table.table, "sql": table.sql, "problem": table.problem}
                for table in names.of_operator(operator)
            ],
        }
        for each, operator, shown, size, bar in zip(
            description.operators,
            served.savepoint.operators(),
            short,
            sizes,
            _bars(sizes),
            strict=True,
        )
    ]
    query = served.savepoint.query() if served.savepoint.plan is not None else ()
    size = ByteCount(description.size).text
    return {
        "description": description,
        "size": size,
        "operators": operators,
        "note": note,
        "query": query,
    }


def table(served: Served, given: QueryParams) -> Values:
    """Rows of a table, by page; optionally filtered and ordered."""
    wanted = _wanted(served, given)
    return {"wanted": wanted, **_shown_rows(served, wanted.sql, wanted.page)}


def query(served: Served, given: QueryParams) -> Values:
    """Rows of a query, by page."""
    sql = given.get("q", "")
    return _shown_rows(served, sql, _number(given, "page")) if sql.strip() else {"sql": ""}


def key(served: Served, given: QueryParams) -> Values:
    """All state of one key."""
    text, operator = given.get("key", ""), given.get("operator") or None
    if not text:
        return {"key": ""}
    shown = served.savepoint.with_forms(undescribed_subclasses="bytes")
    key_state = shown.key(text, operator=operator)
    return {
        "key": text,
        "is_found": key_state.is_found,
        "lines": list(bounded(key_lines(key_state))),
    }


def weight(served: Served, given: QueryParams) -> Values:
    """Sizes of states, key groups, subtasks and keys."""
    report = served.savepoint.stats(given.get("table") or None)
    tables = [
        RecordsTable.of_operators(served, title, records) for title, records in report.tables()
    ]
    charts: dict[str, list[int]] = {}
    for group in report.key_groups:
        charts.setdefault(group.operator, []).append(group.size)
    short, _ = served.short(list(charts))
    bars = [(name, _bars(sizes)) for name, sizes in zip(short, charts.values(), strict=True)]
    return {"report": report, "tables": tables, "charts": bars}


def verify(served: Served, given: QueryParams) -> Values:
    """Faults of the savepoint."""
    depth = given.get("depth")
    if depth not in ("deep", "quick"):
        return {}
    verification = served.savepoint.verify("deep" if depth == "deep" else "quick")
    rows = list(map(fault_row, verification.faults))
    return {"depth": depth, "answer": verification, "faults": _records(served, "Faults", rows)}


def doctor(served: Served, given: QueryParams) -> Values:
    """Whether a release of Flink restores the savepoint."""
    releases = [release_text(target) for target in TARGETS]
    target = given.get("target", "")
    if not target:
        return {"releases": releases}
    compatibility = served.savepoint.compatibility(target, backend=given.get("backend", ""))
    return {
        "releases": releases,
        "target": target,
        "answer": compatibility,
        "rules": compatibility.rule_lines(),
        "states": RecordsTable.of_operators(served, "States", compatibility.state_rows()),
    }


def diff(served: Served, given: QueryParams) -> Values:
    """Differences between two savepoints."""
    other = served.other(given.get("other", ""))
    if other is None:
        return {}
    differences = served.savepoint.diff(other)
    return {
        "other": given["other"],
        "is_equal": differences.is_equal,
        "tables": [
            _records(served, "Differences", differences.differences),
            _records(served, "Tables", differences.tables),
        ],
    }


VIEWS: dict[str, tuple[str, View]] = {
    "": ("Overview", overview),
    "sql": ("SQL", query),
    "key": ("Key", key),
    "weight": ("Weight", weight),
    "verify": ("Verify", verify),
    "doctor": ("Doctor", doctor),
    "diff": ("Compare", diff),
    "table": ("", table),
}
"""Last part of an address -> heading in the navigation, if it has one, and the view."""


def rows_sql(served: Served, view: str, given: QueryParams) -> str:
    """The query for all rows of a view that has rows."""
    return given.get("q", "") if view == "sql" else _wanted(served, given).sql


def names(served: Served) -> list[str]:
    """Words to complete in SQL: tables of the savepoint and their columns."""
    tables = SqlTables(served.savepoint.operators())
    columns = dict.fromkeys(each.column for each in served.savepoint.schema())
    return [*(each.sql for each in tables), *columns]


def _wanted(served: Served, given: QueryParams) -> Wanted:
    name = given.get("table", "")
    operator, described = served.savepoint.table(name)
    tables = SqlTables(served.savepoint.operators()).of_operator(operator)
    exact = next(each.exact_sql for each in tables if each.table == described.name)
    where, sort = given.get("where", ""), given.get("sort", "")
    return Wanted(name, exact, where, sort, given.get("order") == "desc", _number(given, "page"))


def _number(given: QueryParams, name: str) -> int:
    text = given.get(name, "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _shown_rows(served: Served, sql: str, number: int) -> Values:
    """Values of a page of rows; a wrong condition or query is shown next to the text."""
    values: Values = {"sql": sql, "page": number, "first": number * PAGE_ROWS + 1}
    try:
        rows = served.rows.page(sql, number)
    except SavepointError as error:
        return {**values, "error": str(error)}
    return {**values, "rows": rows, "keys": _keys(rows)}


def _keys(rows: RowsPage) -> tuple[str, ...]:
    """The key of each row as text, if rows have keys."""
    if KEY not in rows.rows.schema.names or not rows.rows.num_rows:
        return ()
    return key_texts(rows.rows.column(KEY).combine_chunks())


def _records(served: Served, title: str, records: Sequence[Any]) -> RecordsTable:
    return RecordsTable.of(title, records, served.savepoint.short_ids())


def _bars(sizes: Sequence[int]) -> list[float]:
    """Each size as a fraction of the largest one."""
    most = max(sizes, default=0) or 1
    return [size / most for size in sizes]


def _size_field(record: Any) -> str:
    return next((name for name in ("total_size", "size") if name in fields_of(record)), "")
