"""False alarms: what the commands say of snapshots that a real Flink wrote, where nothing is wrong.

    PYTHONPATH=…:tests python -m faults.planted.alarms sample_savepoints

``verify`` may find no damage, ``stats`` no problem, ``diff`` no difference of a snapshot from itself,
``doctor`` nothing that keeps the same job from restoring it, and ``gc`` no file that may go.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.commands import result_of

from savepoint_formats.locations.file_io import METADATA_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator


def alarms(snapshot: Path) -> Iterator[str]:
    """Each alarm of a snapshot, by the command that raises it; errors that are no answers, too."""
    for command, words, look in (
        ("verify", (), _damage),
        ("stats", (), _problems),
        ("diff", (snapshot,), _differences),
        ("doctor", ("--job", snapshot), _refusals),
        ("gc", (), _garbage),
    ):
        result = result_of(command, snapshot, *words, "--output", "json")
        if not result.stdout.startswith("{"):
            yield f"{command}: exit code {result.exit_code}: {result.stderr.strip()}"
            continue
        for alarm in look(json.loads(result.stdout)):
            yield f"{command}: {alarm}"


def _damage(answer: dict[str, Any]) -> Iterator[str]:
    for fault in answer["faults"]:
        yield f"{fault['severity']}: {fault['operator']}.{fault['state']}: {fault['problem']}"


def _problems(answer: dict[str, Any]) -> Iterator[str]:
    # A state whose values only the job's own classes tell says so itself; that is no alarm.
    yield from answer["problems"]


def _differences(answer: dict[str, Any]) -> Iterator[str]:
    yield from (str(one) for one in answer["differences"])
    for table in answer["tables"]:
        if table["inserted"] or table["deleted"] or table["updated"] or table["not_compared"]:
            yield str(table)


def _refusals(answer: dict[str, Any]) -> Iterator[str]:
    places = [("", answer["findings"])]
    for operator in answer["operators"]:
        places.append((operator["operator"], operator["findings"]))
        places += [(state["state"], state["findings"]) for state in operator["states"]]
    for place, findings in places:
        for finding in findings:
            if finding["verdict"] != "restorable":
                yield f"{place}: {finding['verdict']}: {finding['rule']} {finding['where']}"


def _garbage(answer: dict[str, Any]) -> Iterator[str]:
    yield from answer["problems"]
    yield from (f"{file['kind']} {file['path']}" for file in answer["files"] if not file["kept"])


def snapshots(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.rglob(METADATA_FILE))


def main() -> int:
    """Looks at all snapshots below folders; returns how many alarms there were."""
    parser = argparse.ArgumentParser(prog="python -m faults.planted.alarms")
    parser.add_argument("folders", nargs="+", type=Path)
    counts: Counter[str] = Counter()
    for folder in parser.parse_args().folders:
        for snapshot in snapshots(folder):
            counts["snapshots"] += 1
            for alarm in alarms(snapshot):
                counts["alarms"] += 1
                print(f"{snapshot.relative_to(folder)}: {alarm}", flush=True)
    print(f"{counts['snapshots']} snapshots, {counts['alarms']} alarms")
    return min(100, counts["alarms"])


if __name__ == "__main__":
    sys.exit(main())
