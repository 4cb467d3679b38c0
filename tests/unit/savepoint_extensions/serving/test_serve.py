"""Pages of savepoints: a real server, asked by plain requests and by a real browser."""

from __future__ import annotations

import http.client
import io
import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import pyarrow.csv
import pyarrow.parquet
import pytest
from support.long_names import LARGEST, NAMES, job_of_long_names

from savepoint_extensions.serving.serve_commands import names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.usefixtures("slow")

STATES = "states-2.2.1-rocksdb-native"
WINDOWS = "windows-2.2.1-hashmap-native"
TABLE = "stateful.keyed_state"
PROGRAM = Path(sys.executable).with_name("savepoint")


@dataclass(frozen=True)
class Server:
    """A running server, and the address that it has printed."""

    address: str
    process: subprocess.Popen[str]

    @property
    def token(self) -> str:
        return self.root.rpartition("/")[2]

    @property
    def root(self) -> str:
        return self.address.rstrip("/")

    def get(self, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=60)
        connection.request(headers.pop("method", "GET"), path, headers=headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers, data

    def own(self, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
        """An answer for the user who has the token."""
        return self.get(urlsplit(self.root).path + path, **headers)

    def page(self, path: str) -> str:
        """A page for the user who has the token."""
        return self.own(path)[2].decode()


@contextmanager
def served(*arguments: str | Path) -> Iterator[Server]:
    command = [PROGRAM, "serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Server(process.stdout.readline().strip(), process)
        finally:
            process.send_signal(signal.SIGINT)


@pytest.fixture(scope="module")
def server(samples: Path) -> Iterator[Server]:
    with served(samples / STATES, samples / WINDOWS, "--seconds", "15") as running:
        yield running


def rows_address(view: str, **given: str) -> str:
    words = "&".join(f"{name}={quote(value)}" for name, value in given.items())
    return f"/{STATES}/{view}?{words}"


def test_nobody_gets_a_page_without_the_token(server: Server) -> None:
    paths = ("/", "/guessed/", f"/{STATES}/", "/static/page.js", "//", f"/x{server.token}/")
    for path in (*paths, f"/?token={server.token}", f"/%2e/{server.token}/"):
        assert server.get(path)[0] == 403, path
        assert server.get(path, Cookie=f"token={server.token}")[0] == 403, path
    status, headers, _ = server.own("/")
    assert (status, headers["set-cookie"]) == (200, None)


def test_a_server_at_another_port_of_this_machine_learns_no_secret(
    server: Server, browser: Browser
) -> None:
    heard: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(f"{self.path} {self.headers}")
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
            """Says nothing."""

    with HTTPServer(("127.0.0.1", 0), Other) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        context = browser.new_context()
        page = context.new_page()
        page.goto(server.address)
        page.goto(f"http://127.0.0.1:{other.server_port}/")
        other.shutdown()
    assert heard
    assert not any(server.token in request for request in heard)
    assert context.cookies() == []
    context.close()


def test_a_name_that_leads_here_is_refused(server: Server) -> None:
    assert server.own("/", Host="evil.example")[0] == 421


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(server: Server, method: str) -> None:
    assert server.own("/", method=method)[0] == 405


def test_pages_may_load_nothing_from_elsewhere_and_run_nothing_inline(server: Server) -> None:
    _, headers, page = server.own(f"/{STATES}/")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    loaded = re.findall(r'(?:src|href)="((?:https?:)?//[^"]*)"', page.decode())
    assert loaded == []


def test_rows_of_a_table_are_filtered_sorted_and_leafed_through(server: Server) -> None:
    chosen = {"where": "last_id > 236", "sort": "last_id", "order": "desc"}
    page = server.page(rows_address("table", table=TABLE, **chosen))
    assert re.findall(r"</a></td><td>(\d+)</td>", page) == ["239", "238", "237"]
    numbers = "SELECT range AS n FROM range(120)"
    pages = [server.page(rows_address("sql", q=numbers, page=str(n))) for n in range(4)]
    cells = [re.findall(r"<td>(\d+)</td>", page) for page in pages]
    assert [len(each) for each in cells] == [50, 50, 20, 0]
    assert cells[1][0] == "50"
    assert ['rel="next"' in page for page in pages] == [True, True, False, False]


def test_rows_are_files_of_csv_and_parquet(server: Server) -> None:
    given = {"table": TABLE, "where": "last_id > 230"}
    status, headers, data = server.own(rows_address("table/rows.csv", **given))
    assert (status, headers.get_filename()) == (200, "rows.csv")
    count = pyarrow.csv.read_csv(io.BytesIO(data)).num_rows
    _, _, data = server.own(rows_address("table/rows.parquet", **given))
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    assert table.num_rows == count > 5
    assert min(table["last_id"].to_pylist()) > 230


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT nope FROM stateful.keyed_state", "there is no column &#39;nope&#39;"),
        (
            "FROM read_csv('/etc/passwd')",
            "are disabled by configuration; savepoint query takes --allow-files",
        ),
        ("DROP TABLE stateful.keyed_state", "a statement of type DROP, expected a query"),
    ],
)
def test_a_query_without_an_answer_says_why(server: Server, sql: str, reason: str) -> None:
    assert reason in server.page(rows_address("sql", q=sql))


def test_a_query_that_takes_too_long_is_ended(samples: Path) -> None:
    endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b"
    with served(samples / STATES, "--seconds", "3") as running:
        assert "no answer within 3 s" in running.page(rows_address("sql", q=endless))


def test_a_condition_is_no_way_to_other_statements(server: Server) -> None:
    page = server.page(rows_address("table", table=TABLE, where="true); DROP VIEW x; --"))
    assert 'role="alert"' in page


def test_what_is_asked_wrongly_is_a_page_that_says_so(server: Server) -> None:
    for path, status in (
        (rows_address("table", table="stateful.nothing"), 400),
        (rows_address("doctor", target="9.9"), 400),
        (rows_address("table/rows.csv", table="stateful.nothing"), 400),
        (f"/{STATES}/nothing", 404),
        ("/nothing/", 404),
        (f"/{STATES}/table/rows.exe?table={TABLE}", 404),
    ):
        assert server.own(path)[0] == status, path


def test_words_for_completion_are_tables_and_columns(server: Server) -> None:
    words = json.loads(server.own(f"/{STATES}/names.json")[2])
    assert {TABLE, "stateful.timers", "last_id", "customer"} <= set(words)


def test_paths_of_one_name_have_numbers() -> None:
    named = names_of(["a/sp", "b/sp/_metadata", "a/sp", "c/sp-2"])
    assert named == {"sp": "a/sp", "sp-2": "b/sp/_metadata", "sp-2-2": "c/sp-2"}


@pytest.fixture
def page(server: Server, browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    opened = context.new_page()
    opened.goto(server.address)
    yield opened
    context.close()


@pytest.mark.parametrize(
    ("view", "text"),
    [
        ("", "native savepoint, rocksdb"),
        (f"table?table={TABLE}", "customer-005"),
        ("key?key=customer-001", "key group 152"),
        ("weight", "bytes per key group"),
        ("verify?depth=deep", "whole: 7 operators"),
        ("doctor?target=1.20", "not restorable"),
        (f"diff?other={WINDOWS}", "different"),
    ],
)
def test_each_view_is_shown_on_a_phone_and_in_the_dark_without_an_error(
    server: Server, browser: Browser, view: str, text: str
) -> None:
    dark = browser.new_context(color_scheme="dark", viewport={"width": 400, "height": 800})
    page, errors = dark.new_page(), []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.address)
    page.goto(f"{server.root}/{STATES}/{view}")
    assert text in page.inner_text("main")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 26, 33)"
    assert errors == []
    dark.close()


def test_pages_of_forty_operators_with_long_names_have_five_screens(
    browser: Browser, tmp_path: Path
) -> None:
    savepoint = job_of_long_names(tmp_path, keys=1)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    with served(savepoint, "--seconds", "60") as running:
        for view in ("", "weight", "doctor?target=2.2", "verify?depth=quick"):
            page.goto(running.address)
            page.goto(f"{running.root}/{savepoint.name}/{view}")
            assert page.evaluate("document.documentElement.scrollHeight") <= 5 * 900, view
            shown = page.inner_text("main")
            if not view.startswith("verify"):
                assert "begins with com.acme.payments.risk.streaming. and ends" in shown, view
                assert f"\n{NAMES[LARGEST]}" in shown, view
        page.goto(f"{running.root}/{savepoint.name}/weight")
        folded = page.locator("details")
        assert "35 more charts" in folded.first.inner_text()
        for part in folded.all():
            part.evaluate("each => each.open = true")
        assert all(name in page.inner_text("main") for name in NAMES)
    page.close()


def test_texts_of_a_savepoint_never_become_elements(server: Server, page: Page) -> None:
    hostile = "<img src=x onerror=\"document.title='lost'\">"
    sql = f"SELECT '{hostile.replace(chr(39), chr(39) * 2)}' AS \"<b>name</b>\""
    page.goto(server.root + rows_address("sql", q=sql))
    assert page.inner_text("td") == hostile
    assert page.inner_text("th") == "<b>name</b>"
    assert page.locator("main img, main b").count() == 0
    assert "lost" not in page.title()


def test_keys_lead_through_pages_and_sql_is_completed(server: Server, page: Page) -> None:
    page.goto(server.root + rows_address("sql", q="SELECT range AS n FROM range(120)"))
    page.locator("h1").click()
    page.keyboard.press("n")
    page.wait_for_url("**page=1*")
    page.locator("h1").click()
    page.keyboard.press("/")
    page.locator("textarea").fill("")
    page.keyboard.type("FROM stateful.key")
    page.locator(".words li").first.wait_for()
    page.keyboard.press("Tab")
    assert page.locator("textarea").input_value() == f"FROM {TABLE}"
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**FROM*stateful.keyed_state*")
    assert "customer-005" in page.inner_text("main")


def test_a_key_in_a_row_leads_to_all_that_it_has(server: Server, page: Page) -> None:
    page.goto(server.root + rows_address("table", table=TABLE))
    page.get_by_role("link", name="customer-005").click()
    page.wait_for_url("**/key?key=customer-005")
    assert "by_currency" in page.inner_text("main")


def test_ctrl_c_ends_the_server_and_leaves_nothing(samples: Path) -> None:
    with served(samples / STATES) as running:
        assert running.own("/")[0] == 307
    assert running.process.returncode in (0, 130)
