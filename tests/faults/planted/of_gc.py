"""Files that ``gc`` must list, and those that it must keep."""

from __future__ import annotations

import json
import os
import shutil
import time
from typing import TYPE_CHECKING, Any

from support.commands import result_of

from faults.planted.editing import copied
from faults.planted.plant import Plant
from savepoint_formats.locations.file_io import METADATA_FILE
from state_processor import Savepoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

JOB = "states-2.2.1-rocksdb-incremental"
MERGED = "states-2.2.1-rocksdb-filemerging"
DAY = 24 * 3600
NAME = "00000000-0000-4000-8000-000000000001"
OTHER = "00000000-0000-4000-8000-000000000002"
_OLD = ("--older-than", "1d")


def told(plant: Plant, folder: Path) -> list[str]:
    """What ``gc`` tells of the files beside a checkpoint of ten days ago.

    ``<kind> <path>``, with ``kept: <why>`` where it must stay. Then it removes what is older than a day:
    exactly the files that it told, without a reason to keep them, may be gone, and all snapshots must be
    whole.
    """
    job = copied(plant.sample, folder)
    (job / "expected.json").unlink()
    _age(job, 10)
    planted = plant.plant(job)
    words = planted if isinstance(planted, tuple) else ()
    snapshots = sorted(path.parent for path in job.rglob(METADATA_FILE) if path.is_file())
    whole = [one for one in snapshots if _is_whole(one)]
    before = _files(job)
    result = result_of("gc", job, "--output", "json", *words)
    if result.exit_code:
        return [f"exit code {result.exit_code}: {result.stderr}"]
    answer = json.loads(result.stdout)
    facts = [_fact(file) for file in answer["files"]]
    facts += [f"problem: {problem}" for problem in answer["problems"]]
    removed = result_of("gc", job, "--output", "json", "--delete", *_OLD, *words)
    if removed.exit_code:
        facts.append(f"refused: {removed.stderr}")
    gone = {str(path.relative_to(job)) for path in before - _files(job)}
    told_gone = {
        file["path"]
        for file in (json.loads(removed.stdout)["files"] if not removed.exit_code else ())
        if file["is_deleted"]
    }
    may_go = {file["path"] for file in answer["files"] if not file["kept"]}
    if gone != told_gone or not gone <= may_go:
        facts.append(f"removed, but not told: {sorted(gone ^ told_gone)} {sorted(gone - may_go)}")
    facts += [f"damaged by it: {one}" for one in whole if not _is_whole(one)]
    return facts + [f"removed {path}" for path in sorted(gone)]


def _fact(file: dict[str, Any]) -> str:
    kept = f", kept: {file['kept']}" if file["kept"] else ""
    return f"{file['kind']} {file['path']}{kept}"


def _is_whole(snapshot: Path) -> bool:
    try:
        return Savepoint.open(str(snapshot)).verify("quick").is_whole
    except Exception:
        return False


def _files(job: Path) -> set[Path]:
    return {path for path in job.rglob("*") if not path.is_dir() or path.is_symlink()}


def _age(folder: Path, days: float) -> None:
    """Lets all files below be so old."""
    for path in folder.rglob("*"):
        _touch(path, days)


def _touch(path: Path, days: float) -> None:
    os.utime(path, (time.time() - days * DAY,) * 2, follow_symlinks=False)


def _plant(
    name: str, plant: Callable[[Path], object], *says: str, sample: str = JOB, why: str = ""
) -> Plant:
    return Plant("gc", name, sample, plant, says, why)


def _file(*places: str, days: float = 20) -> Callable[[Path], None]:
    """Plants files of these days."""

    def plant(job: Path) -> None:
        for place in places:
            path = job / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"orphan")
            _touch(path, days)

    return plant


def _orphan(name: str, place: str, kind: str, **more: Any) -> Plant:
    """A file that no snapshot needs, and that may go."""
    return _plant(name, _file(place), f"^{kind} {place}$", f"^removed {place}$", **more)


def _stays(
    name: str, place: str, kind: str, why: str = "Flink has no such file there", days: float = 20
) -> Plant:
    """A file that no snapshot needs, and that stays."""
    return _plant(name, _file(place, days=days), f"^{kind} {place}, kept: {why}$")


def _second_checkpoint(job: Path) -> None:
    """Another checkpoint of the job, which shares its files with the first one."""
    second = job / "chk-3"
    shutil.copytree(job / "chk-2", second)
    _age(second, 9)


def _without_first(job: Path) -> None:
    """A checkpoint that went on with the shared files of another one, which is gone."""
    _second_checkpoint(job)
    shutil.rmtree(job / "chk-2")


def _half_written(job: Path) -> None:
    """A directory of a checkpoint that never came to its ``_metadata``."""
    _file(f"chk-3/{NAME}", f"chk-3/{OTHER}")(job)


def _in_progress(job: Path) -> None:
    """Files of a checkpoint under way: exclusive and shared ones, younger than the newest."""
    _file(f"chk-3/{NAME}", f"shared/{OTHER}", days=0.01)(job)


def _unreadable(job: Path) -> None:
    _file(f"shared/{NAME}")(job)
    (job / "chk-9").mkdir()
    (job / "chk-9" / METADATA_FILE).write_bytes((job / "chk-2" / METADATA_FILE).read_bytes()[:500])
    _age(job / "chk-9", 20)


def _no_snapshot(job: Path) -> None:
    _file(f"shared/{NAME}")(job)
    (job / "chk-2" / METADATA_FILE).unlink()


def _moved(job: Path) -> None:
    """The job's directory lies elsewhere than Flink wrote it, one level deeper."""
    inner = job / "moved" / "job"
    inner.mkdir(parents=True)
    for name in ("chk-2", "shared"):
        shutil.move(job / name, inner / name)
    _file(f"moved/job/shared/{NAME}")(job)


def _link_out(job: Path) -> None:
    """Links to a directory, and to a file, outside."""
    outside = job.parent / "outside" / "shared"
    outside.mkdir(parents=True)
    (outside / NAME).write_bytes(b"precious")
    _age(job.parent / "outside", 30)
    (job / "shared" / "link").symlink_to(outside)
    (job / "shared" / OTHER).symlink_to(outside / NAME)


def _link_back(job: Path) -> None:
    (job / "shared" / "back").symlink_to(job)


def _link_nowhere(job: Path) -> None:
    (job / "shared" / OTHER).symlink_to(job / "nowhere")


def _young_job(job: Path) -> None:
    """The snapshot is some hours old, and a file half a day."""
    _age(job, 0.2)
    _file(f"shared/{NAME}", days=0.5)(job)


def _copy_elsewhere(job: Path) -> None:
    """A file with the name of one that is needed, as of a directory that was moved."""
    needed = next(path for path in (job / "shared").rglob("*") if path.is_file())
    place = job / "taskowned" / needed.name
    place.parent.mkdir(exist_ok=True)
    shutil.copy(needed, place)
    _touch(place, 20)


def _link_to_needed(job: Path) -> None:
    """A snapshot lies behind a link; what it needs is needed."""
    elsewhere = job.parent / "elsewhere"
    shutil.move(job / "chk-2", elsewhere)
    (job / "chk-2").symlink_to(elsewhere)


def _claimed(job: Path) -> object:
    """Another job began with the checkpoint in claim mode, and owns its files now."""
    other = job.parent / "other"
    shutil.copytree(job / "chk-2", other / "chk-3")
    _age(other, 9)
    shutil.rmtree(job / "chk-2")
    return ("--also", other)


def _claimed_alone(job: Path) -> None:
    """The same, and nobody names the other job."""
    _claimed(job)


def _nested(job: Path) -> None:
    _file(f"shared/{'a/' * 40}{NAME}")(job)


def _native_savepoint(job: Path) -> None:
    """A savepoint below the directory whose files nobody else refers to."""
    savepoint = job / "savepoint-ab-cd"
    shutil.copytree(job / "chk-2", savepoint)
    _age(savepoint, 10)
    _file(f"savepoint-ab-cd/{NAME}")(job)


def _empty_folder(job: Path) -> None:
    (job / "chk-1").mkdir()


def _many(job: Path) -> None:
    _file(*(f"shared/00000000-0000-4000-8000-{number:012d}" for number in range(1000, 1400)))(job)


def _uppercase(job: Path) -> None:
    _file(f"shared/{NAME.replace('0', 'A', 1)}")(job)


def _dated_ahead(job: Path) -> None:
    """A file of the future, by a clock that jumped."""
    _file(f"shared/{NAME}", days=-400)(job)


def _newest_of_the_future(job: Path) -> None:
    """The newest snapshot is of the future, by a clock that jumped; the file is of an hour ago."""
    _touch(job / "chk-2" / METADATA_FILE, -400)
    _file(f"shared/{NAME}", days=0.04)(job)


def _two_jobs(job: Path) -> None:
    """Two jobs below one directory; each has an orphan."""
    for name in ("one", "two"):
        (job / name).mkdir()
    shutil.copytree(job / "chk-2", job / "one" / "chk-2")
    shutil.copytree(job / "shared", job / "one" / "shared")
    shutil.move(job / "chk-2", job / "two" / "chk-2")
    shutil.move(job / "shared", job / "two" / "shared")
    _age(job, 10)
    _file(f"one/shared/{NAME}", f"two/shared/{OTHER}")(job)


YOUNGER = "it is younger than the newest snapshot"
FIRST = rf"shared/{NAME}"

GC = (
    _plant("nothing", lambda _: None),
    _plant("nothing, merged files", lambda _: None, sample=MERGED),
    _orphan("shared file", FIRST, "shared"),
    _orphan("file of a task manager", f"taskowned/{NAME}", "taskowned"),
    _orphan("file of a task manager, merged files", f"taskowned/{NAME}", "taskowned", sample=MERGED),
    _orphan("file of a changelog", f"dstl/job/dstl/{NAME}", "taskowned"),
    _orphan("file in a checkpoint that does not refer to it", f"chk-2/{NAME}", "exclusive"),
    _orphan("file in an older checkpoint without _metadata", f"chk-1/{NAME}", "left over"),
    _orphan("file in a savepoint without _metadata", f"savepoint-ab-cd/{NAME}", "left over"),
    _orphan("file in a checkpoint of another job", f"a1b2/chk-7/{NAME}", "left over"),
    _orphan("shared file in a folder of a subtask", f"shared/job_op_1_2_1_/{NAME}", "shared"),
    _orphan("shared file below a folder of a checkpoint", f"chk-5/shared/{NAME}", "shared"),
    _orphan("folder of a checkpoint below shared", f"shared/chk-5/{NAME}", "left over"),
    _orphan("file below a folder of a checkpoint", f"chk-5/deeper/{NAME}", "left over"),
    _plant("file forty folders deep", _nested, rf"^shared shared/(a/)+{NAME}$", rf"^removed shared/(a/)+{NAME}$"),
    _plant("directory of a checkpoint half written", _half_written,
           rf"^left over chk-3/{NAME}$", rf"^left over chk-3/{OTHER}$",
           rf"^removed chk-3/{NAME}$", rf"^removed chk-3/{OTHER}$"),
    _plant("four hundred shared files", _many, r"^shared shared/0{8}-0000-4000-8000-0{8}1\d\d\d$",
           r"^removed shared/0{8}-0000-4000-8000-0{8}1\d\d\d$"),
    _plant("native savepoint with an orphan", _native_savepoint, rf"^exclusive savepoint-ab-cd/{NAME}$",
           rf"^removed savepoint-ab-cd/{NAME}$"),
    _plant("two jobs with an orphan each", _two_jobs,
           rf"^shared one/shared/{NAME}$", rf"^shared two/shared/{OTHER}$",
           rf"^removed one/shared/{NAME}$", rf"^removed two/shared/{OTHER}$"),
    _plant("moved directory", _moved, rf"^shared moved/job/shared/{NAME}$",
           rf"^removed moved/job/shared/{NAME}$"),
    # What must stay.
    _plant("checkpoint that shares all files", _second_checkpoint),
    _plant("checkpoint whose files another one made", _without_first),
    _plant("checkpoint under way", _in_progress, rf"^left over chk-3/{NAME}, kept: {YOUNGER}$",
           rf"^shared shared/{OTHER}, kept: {YOUNGER}$"),
    _stays("shared file of an hour ago", FIRST, "shared", YOUNGER, days=0.04),
    _stays("shared file of nine days ago, after the snapshot", FIRST, "shared", YOUNGER, days=9),
    _plant("shared file of half a day ago, before the snapshot",
           _young_job,
           rf"^shared {FIRST}$"),
    _stays("file of another name", "shared/README", "unknown"),
    _stays("file of another name in a checkpoint", "chk-1/notes.txt", "unknown"),
    _stays("file with the name of a file under way", f"shared/{NAME}.inprogress", "unknown"),
    _stays("hidden file", f"shared/.{NAME}", "unknown"),
    _plant("name in capitals", _uppercase, r"^unknown shared/A\S+, kept: Flink has no such file there$"),
    _stays("file of Flink's name beside the checkpoints", NAME, "unknown"),
    _stays("file of Flink's name in a foreign folder", f"backup/{NAME}", "unknown"),
    _stays("folder whose name begins as that of a checkpoint", f"chk-2-copy/{NAME}", "unknown"),
    _stays("folder that is called shared-old", f"shared-old/{NAME}", "unknown"),
    _plant("empty directory of a checkpoint", _empty_folder),
    _plant("links out of the directory", _link_out),
    _plant("link that leads back", _link_back),
    _plant("link that leads nowhere", _link_nowhere),
    _plant("copy of a needed file elsewhere", _copy_elsewhere),
    _plant("snapshot behind a link", _link_to_needed),
    _plant("checkpoint that another job has claimed", _claimed),
    _plant("checkpoint that another job has claimed, and nobody says so", _claimed_alone,
           rf"^shared shared/\S+, kept: {YOUNGER}$", r"^refused: .*it has no snapshot that tells"),
    _plant("file of the future", _dated_ahead, rf"^shared {FIRST}, kept: {YOUNGER}$"),
    _plant("snapshot of the future, file of an hour ago", _newest_of_the_future, rf"^shared {FIRST}$"),
    _plant("snapshot that can't be read", _unreadable, rf"^shared {FIRST}$", r"^problem: .*chk-9",
           r"^refused: .*nothing is removed"),
    _plant("no snapshot at all", _no_snapshot, r", kept: ", r"^refused: .*no snapshot"),
)  # fmt: skip
