"""Metrics, the alert rules and the board of the docs, with the parser and, if it is here, a real Prometheus."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
import yaml
from support.watched_jobs import checkpoint, incremental

from savepoint_extensions.watch.metrics import METRICS, Exporter
from state_processor import watch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from state_processor import WatchRound

parser = pytest.importorskip("prometheus_client.openmetrics.parser")

DOCS = Path(__file__).parents[4] / "docs"
RULES, BOARD = DOCS / "watch" / "alerts.yml", DOCS / "watch" / "board.json"
PAGE = DOCS / "reference" / "watch.md"
NAME = re.compile(r"\bsavepoint_[a-z_]+\b")
needs_prometheus = pytest.mark.skipif(
    shutil.which("promtool") is None or shutil.which("prometheus") is None,
    reason="Prometheus is not installed (apt-get install prometheus)",
)


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> WatchRound:
    """A round about a job that leaks, with an operator of RocksDB's in its newest checkpoint."""
    job = tmp_path_factory.mktemp("job")
    for number in range(1, 25):
        checkpoint(job, number, keys=100 + max(number - 12, 0) * 10)
    return watch(job, uids=["a"]).round()


@pytest.fixture
def exporter(answer: WatchRound) -> Iterator[tuple[Exporter, str]]:
    serving = Exporter(answer)
    with closing(serving):
        yield serving, f"127.0.0.1:{serving.serve('127.0.0.1', 0)}"


def text_of(address: str, *, is_open: bool = True) -> str:
    kind = "application/openmetrics-text; version=1.0.0" if is_open else "text/plain"
    request = Request(f"http://{address}/metrics", headers={"Accept": kind})
    return str(urlopen(request).read().decode())


def test_each_number_of_a_round_is_a_metric(
    exporter: tuple[Exporter, str], answer: WatchRound
) -> None:
    families = {
        family.name: family
        for family in parser.text_string_to_metric_families(text_of(exporter[1]))
    }
    assert families.keys() == METRICS.keys()
    (state,) = answer.states
    wanted = {
        "savepoint_checkpoint_id": 24,
        "savepoint_state_size_bytes": state.size,
        "savepoint_state_entries": 220,
        "savepoint_state_steady_growth_bytes_per_day": 20 * 10 * 1440,
        "savepoint_operator_largest_key_entries": 1,
        "savepoint_watch_problems": 0,
    }
    for name, value in wanted.items():
        (sample,) = families[name].samples
        assert sample.value == pytest.approx(value), name
        assert set(sample.labels) == set(METRICS[name].labels)
    # Without a time to live nothing is known of it.
    assert families["savepoint_state_expired_ratio"].samples == []


def test_names_of_states_are_labels_whatever_they_are(tmp_path: Path) -> None:
    incremental(tmp_path, 5)
    answer = watch(tmp_path).round()
    serving = Exporter(answer)
    with closing(serving):
        text = text_of(f"127.0.0.1:{serving.serve('127.0.0.1', 0)}")
    families = {it.name: it for it in parser.text_string_to_metric_families(text)}
    states = {
        (it.labels["operator"], it.labels["state"]): it.value
        for it in families["savepoint_state_size_bytes"].samples
    }
    assert states == {(it.operator, it.state): it.size for it in answer.states}


def test_a_name_that_utf_8_cannot_encode_hides_no_metric(answer: WatchRound) -> None:
    (state,) = answer.states
    serving = Exporter(replace(answer, states=(replace(state, state="half \ud83d"),)))
    with closing(serving):
        text = text_of(f"127.0.0.1:{serving.serve('127.0.0.1', 0)}")
    families = {it.name: it for it in parser.text_string_to_metric_families(text)}
    (sample,) = families["savepoint_state_size_bytes"].samples
    assert sample.labels == {"operator": "a", "state": r"half \ud83d"}


def test_before_the_first_round_there_is_no_metric() -> None:
    assert list(Exporter().collect()) == []


def test_the_page_has_each_metric_with_its_help() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(savepoint_\w+)` +\| [^|]*\| (.*?) +\|$", page, re.MULTILINE))
    assert rows == {name: metric.help for name, metric in METRICS.items()}


def test_rules_and_board_use_metrics_that_there_are() -> None:
    board = json.loads(BOARD.read_text(encoding="utf-8"))
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    used = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    used += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    names = {name for expression in used for name in NAME.findall(expression)}
    assert len(names) > 15
    assert names <= METRICS.keys()


@needs_prometheus
def test_promtool_finds_nothing_wrong_with_the_metrics(exporter: tuple[Exporter, str]) -> None:
    text = text_of(exporter[1], is_open=False)
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


SERIES = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'savepoint_state_steady_growth_bytes_per_day{{operator="a", state="open"}}', values: '0x10 2e9x10'}}
      - {{series: 'savepoint_checkpoint_timestamp_seconds', values: '0x60'}}
    alert_rule_test:
      - {{eval_time: 10m, alertname: StateGrowsSteadily, exp_alerts: []}}
      - eval_time: 12m
        alertname: StateGrowsSteadily
        exp_alerts:
          - exp_labels: {{severity: warning, operator: a, state: open}}
            exp_annotations:
              summary: State a.open grows by 1.863GiB a day
              description: It has grown over the whole window to where it never was, at least that fast.
      - {{eval_time: 14m, alertname: CheckpointIsOld, exp_alerts: []}}
      - eval_time: 16m
        alertname: CheckpointIsOld
        exp_alerts:
          - exp_labels: {{severity: critical}}
            exp_annotations: {{summary: No checkpoint for 16m 0s}}
  - interval: 1m
    input_series:
      - {{series: 'savepoint_checkpoint_timestamp_seconds', values: '0x70'}}
    alert_rule_test:
      - eval_time: 61m
        alertname: CheckpointIsNotIntact
        exp_alerts:
          - exp_labels: {{severity: critical}}
            exp_annotations: {{summary: No checkpoint for 1h 1m 0s whose files are all right}}
  - interval: 1m
    input_series:
      - {{series: 'savepoint_checkpoint_timestamp_seconds', values: '0x70'}}
      - {{series: 'savepoint_intact_checkpoint_timestamp_seconds', values: '0x30 1800x40'}}
    alert_rule_test:
      - {{eval_time: 61m, alertname: CheckpointIsNotIntact, exp_alerts: []}}
"""


@needs_prometheus
def test_the_rules_alert_when_they_should(tmp_path: Path) -> None:
    file = tmp_path / "tests.yml"
    file.write_text(SERIES.format(rules=RULES), encoding="utf-8")
    for command in (["check", "rules", str(RULES)], ["test", "rules", str(file)]):
        done = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


CONFIG = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - {{job_name: savepoint, static_configs: [{{targets: ["{target}"]}}]}}
"""


@contextmanager
def prometheus(folder: Path, target: str, rules: Path) -> Iterator[str]:
    """The address of a Prometheus that fetches the metrics."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = folder / "prometheus.yml"
    config.write_text(CONFIG.format(rules=rules, target=target), encoding="utf-8")
    options = [f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            ["prometheus", *options, f"--web.listen-address={address}"], stdout=log, stderr=log
        )
        try:
            yield f"http://{address}/api/v1"
        finally:
            process.terminate()
            process.wait(30)


def asked(address: str, path: str) -> Any:
    """The answer of Prometheus; None while it does not answer."""
    try:
        return json.loads(urlopen(f"{address}/{path}").read())["data"]
    except OSError:
        return None


@needs_prometheus
def test_a_prometheus_loads_the_rules_and_alerts_of_the_leak(
    exporter: tuple[Exporter, str], tmp_path: Path
) -> None:
    rules = tmp_path / "alerts.yml"
    # The job of this test leaks less than the example of the docs allows.
    text = RULES.read_text(encoding="utf-8")
    rules.write_text(text.replace("per_day > 1e9", "per_day > 1e5"), encoding="utf-8")
    board = json.loads(BOARD.read_text(encoding="utf-8"))
    with prometheus(tmp_path, exporter[1], rules) as address:
        firing: set[str] = set()
        end = time.monotonic() + 60
        while "StateGrowsSteadily" not in firing and time.monotonic() < end:
            time.sleep(0.5)
            alerts = (asked(address, "alerts") or {"alerts": []})["alerts"]
            firing = {it["labels"]["alertname"] for it in alerts if it["state"] == "firing"}
        assert "StateGrowsSteadily" in firing, (tmp_path / "log").read_text()
        loaded = asked(address, "rules")["groups"][0]["rules"]
        assert [rule["name"] for rule in loaded if rule["health"] != "ok"] == []
        assert len(loaded) == 10
        answers = {
            target["expr"]: asked(address, f"query?query={quote(target['expr'])}")
            for panel in board["panels"]
            for target in panel["targets"]
        }
        assert None not in answers.values()
        empty = {name for name, result in answers.items() if not result["result"]}
        # The states of this job have neither times to live nor timers.
        assert empty == {"savepoint_state_expired_ratio", "savepoint_state_overdue_timers"}
