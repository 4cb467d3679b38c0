"""Pages as HTML, and the answers that a process of a server gives."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import URL, QueryParams

from savepoint_cli.terminal import followable
from savepoint_extensions.serving.table_rows import TableRows
from savepoint_extensions.serving.views import VIEWS, Served, names, rows_sql
from savepoint_formats.errors import SavepointError
from savepoint_formats.printable import printable, without_secrets
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MEDIA_TYPES = {
    "html": "text/html",
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
}
"""Form of an answer -> its type in HTTP."""


_NO_MEMORY = (
    "there is not enough memory; a large key, value or list takes several times its size: ask for fewer"
    " rows or columns, or start savepoint serve where there is more"
)


@dataclass(frozen=True, slots=True)
class Question:
    """The address of a page, in parts.

    ``root`` is the part of each path that has the token. Rows as CSV or Parquet go into ``folder``.
    """

    root: str
    name: str = ""
    view: str = ""
    query: str = ""
    form: str = "html"
    folder: str = ""

    @property
    def given(self) -> QueryParams:
        return QueryParams(self.query)

    def link(self, **changes: object) -> str:
        """The address of this page with other parameters; None leaves one out."""
        url = URL(f"?{self.query}").remove_query_params(
            [name for name, each in changes.items() if each is None]
        )
        given = {name: each for name, each in changes.items() if each is not None}
        return f"?{url.include_query_params(**given).query}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The status of HTTP, and a text; rows are in a file instead."""

    status: int
    text: str


@dataclass(frozen=True)
class Templates:
    """Pages that need no savepoint: those of names, and of errors.

    Attributes:
        paths: A path per name.
        options: Options of the command; errors advise no other.
    """

    paths: Mapping[str, str]
    options: frozenset[str] = frozenset()

    def start(self, question: Question) -> Answer:
        """A list of all savepoints."""
        return self.html("start.html", 200, question)

    def missing(self, question: Question) -> Answer:
        return self.html("missing.html", 404, question)

    def failed(self, question: Question, error: str, status: int = 400) -> Answer:
        """A page with an error; the text of a query stays, so that it can be changed."""
        if question.view == "sql" and question.form == "html":
            sql = question.given.get("q", "")
            return self.html("sql.html", status, question, error=error, sql=sql)
        return self.html("failed.html", status, question, error=error)

    def html(self, template: str, status: int, question: Question, **values: Any) -> Answer:
        """A page with the values of a view."""
        shared = {
            "savepoints": self.paths,
            "path": self.paths.get(question.name, ""),
            "name": question.name,
            "view": question.view,
            "views": VIEWS,
            "link": question.link,
            "given": question.given,
            "root": question.root,
        }
        return Answer(status, self._environment.get_template(template).render(**shared, **values))

    @cached_property
    def _environment(self) -> Environment:
        environment = Environment(
            loader=PackageLoader("savepoint_extensions.serving"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["shown"] = lambda value: printable(str(value), keep="")
        environment.filters["path"] = without_secrets
        environment.filters["followable"] = lambda error: followable(error, self.options)
        return environment


@dataclass(frozen=True)
class Pages:
    """Answers about savepoints, each opened with ``settings`` when it is asked for the first time.

    DuckDB takes ``memory_limit`` before it uses the disk. ``options`` are those of the command: errors
    advise no other.
    """

    paths: Mapping[str, str]
    settings: Mapping[str, Any]
    memory_limit: str
    options: frozenset[str] = frozenset()
    _opened: dict[str, Savepoint] = field(default_factory=dict)

    def answer(self, question: Question) -> Answer:
        """The answer. An error of the savepoint or of the question is part of a page."""
        if question.name not in self.paths or question.view not in VIEWS:
            return self._templates.missing(question)
        try:
            return self._forms[question.form](question)
        except (SavepointError, ValueError) as error:
            return self._templates.failed(question, str(error))
        except MemoryError:
            return self._templates.failed(question, _NO_MEMORY)

    @cached_property
    def _templates(self) -> Templates:
        return Templates(self.paths, self.options)

    @property
    def _forms(self) -> Mapping[str, Callable[[Question], Answer]]:
        return {"html": self._page, "json": self._names, "csv": self._file, "parquet": self._file}

    def _page(self, question: Question) -> Answer:
        values = VIEWS[question.view][1](self._served(question.name), question.given)
        return self._templates.html(f"{question.view or 'overview'}.html", 200, question, **values)

    def _names(self, question: Question) -> Answer:
        """Words that complete SQL."""
        return Answer(200, json.dumps(names(self._served(question.name))))

    def _file(self, question: Question) -> Answer:
        """All rows of a table or query, in a file."""
        served = self._served(question.name)
        sql = rows_sql(served, question.view, question.given)
        served.rows.write(
            sql, "csv" if question.form == "csv" else "parquet", Path(question.folder)
        )
        return Answer(200, "")

    def _served(self, name: str) -> Served:
        savepoint = self._savepoint(name)
        return Served(savepoint, self._other, TableRows(savepoint, self.memory_limit))

    def _other(self, name: str) -> Savepoint | None:
        return self._savepoint(name) if name in self.paths else None

    def _savepoint(self, name: str) -> Savepoint:
        if name not in self._opened:
            self._opened[name] = Savepoint.open(self.paths[name], **self.settings)
        return self._opened[name]
