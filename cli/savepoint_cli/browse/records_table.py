"""A table of texts in the browser: rows, or records as the other commands print them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.widgets import DataTable

from savepoint_cli.browse.lines import cut
from savepoint_cli.terminal.cells import person_field, shortened
from savepoint_formats.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class RecordsTable(DataTable[Text]):
    """A table whose cursor is a row. Its cells are text, never markup."""

    def __init__(self, **given: Any) -> None:
        super().__init__(cursor_type="row", zebra_stripes=True, **given)
        self.short_ids: Mapping[str, str] = {}

    def show(self, names: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        """Replaces all rows; the cursor goes to the first one."""
        self.clear(columns=True)
        for name in names:
            self.add_column(Text(printable(name), style="bold"))
        for row in rows:
            self.add_row(*(Text(cell, no_wrap=True) for cell in row))

    def show_records(self, records: Sequence[Any]) -> None:
        """Shows a row per record, without columns that are empty in all records."""
        cells = {
            field.name: [self._cell(field.name, record) for record in records]
            for field in (fields(records[0]) if records else ())
        }
        filled = {name: texts for name, texts in cells.items() if any(texts)}
        self.show((name.replace("_", " ") for name in filled), zip(*filled.values(), strict=True))

    def _cell(self, name: str, record: Any) -> str:
        return cut(shortened(person_field(getattr(record, name), name), self.short_ids))
