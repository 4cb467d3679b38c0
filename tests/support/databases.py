"""Databases on this machine that exports write to, read by their own programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from savepoint_database.files import TableTarget
from savepoint_formats.extras import imported

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

CATALOG = "local"


@dataclass(frozen=True)
class Database:
    """A database in a folder; ``place`` is that of its table ``stateful.keyed_state``."""

    target: TableTarget
    folder: Path

    @classmethod
    def in_folder(cls, target: TableTarget, folder: Path, patch: Any) -> Database:
        """An empty database. A catalog of Iceberg is named in the environment."""
        if target is TableTarget.ICEBERG:
            for name, value in {
                "TYPE": "sql",
                "URI": f"sqlite:///{folder}/catalog.db",
                "WAREHOUSE": (folder / "warehouse").as_uri(),
            }.items():
                patch.setenv(f"PYICEBERG_CATALOG__{CATALOG.upper()}__{name}", value)
            # pyiceberg has read the environment when it was imported.
            patch.setattr(
                "pyiceberg.catalog._ENV_CONFIG", imported("pyiceberg.utils.config").Config()
            )
            imported("pyiceberg.catalog").load_catalog(CATALOG).create_namespace("flink")
        return cls(target, folder)

    @property
    def place(self) -> str:
        match self.target:
            case TableTarget.DUCKDB:
                return str(self.folder / "state.duckdb")
            case TableTarget.DELTA:
                return str(self.folder / "totals")
            case TableTarget.ICEBERG:
                return f"{CATALOG}.flink.totals"

    def rows(self, table: str = "stateful.keyed_state") -> pa.Table:
        match self.target:
            case TableTarget.DUCKDB:
                with duckdb.connect(self.place, read_only=True) as database:
                    database.execute("SET TimeZone = 'UTC'")
                    return database.sql(f"FROM {table}").to_arrow_table()
            case TableTarget.DELTA:
                return imported("deltalake").DeltaTable(self.place).to_pyarrow_table()
            case TableTarget.ICEBERG:
                return self._iceberg().scan().to_arrow()

    def comments(self) -> tuple[str, dict[str, str]]:
        """Comment of the table, and those of columns."""
        match self.target:
            case TableTarget.DUCKDB:
                with duckdb.connect(self.place, read_only=True) as database:
                    (table,) = database.sql("SELECT comment FROM duckdb_tables()").fetchall()
                    columns = database.sql(
                        "SELECT column_name, comment FROM duckdb_columns() WHERE NOT internal"
                    ).fetchall()
                    return table[0], dict(columns)
            case TableTarget.DELTA:
                delta = imported("deltalake").DeltaTable(self.place)
                fields = delta.schema().fields
                said = {field.name: field.metadata.get("comment") for field in fields}
                return delta.metadata().description, said
            case TableTarget.ICEBERG:
                table = self._iceberg()
                fields = table.schema().fields
                return table.properties["comment"], {field.name: field.doc for field in fields}

    def _iceberg(self) -> Any:
        return imported("pyiceberg.catalog").load_catalog(CATALOG).load_table("flink.totals")

    def files(self) -> set[str]:
        """Files in the folder, without the catalog's own."""
        paths = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)) for path in paths} - {"catalog.db"}
