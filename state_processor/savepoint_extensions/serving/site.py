"""The application: addresses, pages and files."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from savepoint_extensions.serving.guard import Guard
from savepoint_extensions.serving.pages import MEDIA_TYPES, Answer, Question, Templates
from savepoint_extensions.serving.workers import NoAnswerError, OverdueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from savepoint_extensions.serving.workers import Workers

_OVERDUE, _ENDED = 504, 500


def application(
    paths: Mapping[str, str], workers: Workers, token: str, hosts: frozenset[str]
) -> Guard:
    """The application for savepoints, by the names in their addresses."""
    site = Site(paths, workers)
    folder = Path(__file__).parent / "static"
    routes = [
        Route("/", site.start),
        Mount("/static", StaticFiles(directory=folder)),
        Route("/{name}/names.json", site.names),
        Route("/{name}/{view}/rows.{form}", site.file),
        Route("/{name}/", site.page),
        Route("/{name}/{view}", site.page),
    ]
    return Guard(Starlette(routes=[Mount(f"/{token}", routes=routes)]), token, hosts)


class Site:
    """Pages of all savepoints. Starlette calls these functions in threads, because they wait."""

    def __init__(self, paths: Mapping[str, str], workers: Workers) -> None:
        self._paths, self._workers = paths, workers
        self._templates = Templates(paths)

    def start(self, request: Request) -> Response:
        """The only savepoint, or a list of all."""
        question = _question(request)
        if len(self._paths) == 1:
            return RedirectResponse(f"{question.root}/{next(iter(self._paths))}/")
        return _response(self._templates.start(question))

    def page(self, request: Request) -> Response:
        """A view of a savepoint."""
        return _response(self._answer(_question(request)))

    def names(self, request: Request) -> Response:
        """Words that complete SQL."""
        return _response(self._answer(_question(request, form="json")), "json")

    def file(self, request: Request) -> Response:
        """All rows of a table or query, as CSV or Parquet."""
        form = request.path_params["form"]
        question = _question(request, form=form)
        if question.view not in ("table", "sql") or form not in ("csv", "parquet"):
            return _response(self._templates.missing(question))
        folder = Path(tempfile.mkdtemp(prefix="savepoint-serve-"))
        remove = partial(shutil.rmtree, folder, ignore_errors=True)
        answer = self._answer(replace(question, folder=str(folder)))
        path = folder / f"rows.{form}"
        if answer.status != 200:
            remove()
            return _response(answer)
        return FileResponse(
            path,
            filename=path.name,
            media_type=MEDIA_TYPES[form],
            background=BackgroundTask(remove),
        )

    def _answer(self, question: Question) -> Answer:
        try:
            return self._workers.answer(question)
        except NoAnswerError as error:
            status = _OVERDUE if isinstance(error, OverdueError) else _ENDED
            return self._templates.failed(question, str(error), status)


def _question(request: Request, form: str = "html") -> Question:
    name, view = (request.path_params.get(each, "") for each in ("name", "view"))
    return Question(str(request.scope["root_path"]), name, view, request.url.query, form)


def _response(answer: Answer, form: str = "html") -> Response:
    return Response(answer.text, answer.status, media_type=MEDIA_TYPES[form])
