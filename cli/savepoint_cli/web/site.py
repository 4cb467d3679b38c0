"""The application: addresses, pages and files."""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from savepoint_cli.web.guard import Guard
from savepoint_cli.web.views import VIEWS, Served, names, rows_sql
from savepoint_formats.errors import SavepointError
from savepoint_formats.printable import printable, without_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

_FORMS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def application(served: Mapping[str, Served], token: str, hosts: frozenset[str]) -> Guard:
    """The application for savepoints, by the names in their addresses."""
    pages = Pages(served)
    folder = Path(__file__).parent / "static"
    routes = [
        Route("/", pages.start),
        Mount("/static", StaticFiles(directory=folder)),
        Route("/{name}/names.json", pages.names),
        Route("/{name}/{view}/rows.{form}", pages.file),
        Route("/{name}/", pages.page),
        Route("/{name}/{view}", pages.page),
    ]
    return Guard(Starlette(routes=[Mount(f"/{token}", routes=routes)]), token, hosts)


def _root(request: Request) -> str:
    """The part of each path that has the token."""
    return str(request.scope["root_path"])


class Pages:
    """Pages of all savepoints. Starlette calls these functions in threads, because they read files."""

    def __init__(self, served: Mapping[str, Served]) -> None:
        self._served = served
        self._templates = Environment(
            loader=PackageLoader("savepoint_cli.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["shown"] = lambda value: printable(str(value), keep="")
        self._templates.filters["path"] = without_secrets

    def start(self, request: Request) -> Response:
        """The only savepoint, or a list of all."""
        if len(self._served) == 1:
            return RedirectResponse(f"{_root(request)}/{next(iter(self._served))}/")
        return self._html("start.html", 200, request)

    def page(self, request: Request) -> Response:
        """A view of a savepoint. An error of the savepoint or of the question is part of the page."""
        served = self._served.get(request.path_params["name"])
        view = request.path_params.get("view", "")
        if served is None or view not in VIEWS:
            return self._html("missing.html", 404, request)
        shared = {"name": served.name, "view": view, "path": served.savepoint.path}
        try:
            values = VIEWS[view][1](served, request.query_params)
        except (SavepointError, ValueError) as error:
            return self._html("failed.html", 400, request, **shared, error=str(error))
        return self._html(f"{view or 'overview'}.html", 200, request, **shared, **values)

    def names(self, request: Request) -> Response:
        """Words that complete SQL."""
        served = self._served.get(request.path_params["name"])
        return JSONResponse(names(served) if served else [])

    def file(self, request: Request) -> Response:
        """All rows of a table or query, as CSV or Parquet."""
        served = self._served.get(request.path_params["name"])
        view, form = request.path_params["view"], request.path_params["form"]
        if served is None or view not in ("table", "sql") or form not in _FORMS:
            return self._html("missing.html", 404, request)
        folder = Path(tempfile.mkdtemp(prefix="savepoint-serve-"))
        remove = partial(shutil.rmtree, folder, ignore_errors=True)
        try:
            path = served.rows.write(rows_sql(served, view, request.query_params), form, folder)
        except (SavepointError, ValueError) as error:
            remove()
            shared = {"name": served.name, "view": view, "path": served.savepoint.path}
            return self._html("failed.html", 400, request, **shared, error=str(error))
        return FileResponse(
            path, filename=path.name, media_type=_FORMS[form], background=BackgroundTask(remove)
        )

    def _html(self, template: str, status: int, request: Request, **values: Any) -> Response:
        def link(**changes: object) -> str:
            """The address of this page with other parameters; None leaves one out."""
            url = request.url.remove_query_params(
                [name for name, each in changes.items() if each is None]
            )
            given = {name: each for name, each in changes.items() if each is not None}
            return f"?{url.include_query_params(**given).query}"

        page = self._templates.get_template(template)
        shared = {
            "savepoints": self._served,
            "views": VIEWS,
            "link": link,
            "given": request.query_params,
            "root": _root(request),
        }
        return HTMLResponse(page.render(**shared, **values), status)
