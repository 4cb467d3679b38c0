"""Changes of a savepoint beside a copy of its files by the system, and rescales of more and more keys.

    python benchmarks/changes.py [--keys 5000000] [--form grown] [--only copy update] [--rounds 3]
    python benchmarks/changes.py --form pojo --keys 1000000

| way      | what is written anew                                                                |
|----------|-------------------------------------------------------------------------------------|
| copy     | nothing: the system copies the files, and syncs them                                |
| subtasks | nothing but other files: two subtasks become four                                   |
| rescale  | 128 key groups become 512, two subtasks four                                        |
| delete   | one key of a hundred goes                                                           |
| update   | one value of a hundred is another one                                               |

With ``--form pojo`` each key has a POJO of 7 fields, of ``read_types.py``:

| way      | what is written anew                                                                |
|----------|-------------------------------------------------------------------------------------|
| again    | all: Spark reads all rows, and they are written as a new savepoint                  |
| mask     | the texts of all POJOs                                                              |
| sample   | half of the keys                                                                    |
| migrate  | what Flink 2 reads in another way                                                   |

The ways take turns in one warm session. A row has the least CPU time of all processes, the time of the
system in it, and how many times that of the first way it is.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from customers import COUNT, MAX_PARALLELISM, UID
from make_savepoint import FORMS, BenchmarkSavepoint
from measure import CORES, descendants, pin, sizes_parser
from read_types import CASES, TypeSavepoint
from rescale import PARALLELISM, copy

from state_processor import MaskRules, OperatorTransformation, Savepoint, local_session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    Way = Callable[[str, SparkSession, str], object]

NEW_MAX_PARALLELISM = 512
POJO = "pojo"
RULES = """
secret: {env: SAVEPOINT_MASK_SECRET}
rules: [{type: text, method: hash}, {method: keep}]
"""
SECRET = "a secret of the benchmark, and no other"  # it hides nothing

_HEADER = """
| savepoint | keys | way | seconds | seconds of CPU | of the system | x |
|---|---|---|---|---|---|---|"""


def rescale(source: str, spark: SparkSession, path: str, max_parallelism: int) -> None:
    """Writes the same state in other files."""
    rescaled = Savepoint.load(spark, source).rescale(
        parallelism=PARALLELISM, max_parallelism=max_parallelism
    )
    rescaled.write(path)


def delete(source: str, spark: SparkSession, path: str) -> None:
    """Removes one key of a hundred."""
    Savepoint.load(spark, source).delete_keys(UID, "key % 100 = 7").write(path)


def update(source: str, spark: SparkSession, path: str) -> None:
    """Changes the count of one key of a hundred."""
    changed = Savepoint.load(spark, source).update_state(
        UID, COUNT.name, f"{COUNT.name} + 1", where="key % 100 = 7"
    )
    changed.write(path)


def written_again(source: str, spark: SparkSession, path: str) -> None:
    """Reads and writes all rows."""
    rows = Savepoint.load(spark, source).read_keyed_state(UID)
    keyed = OperatorTransformation.bootstrap_with(rows).key_by("key")
    ((descriptor, _),) = _parcels(0).case.states
    writer = Savepoint.create(spark, parallelism=1, max_parallelism=MAX_PARALLELISM)
    writer.with_operator(UID, keyed.with_state(descriptor)).write(path)


def mask(source: str, spark: SparkSession, path: str) -> None:
    """Makes hashes of texts."""
    Savepoint.load(spark, source).masked(MaskRules.of_text(RULES)).write(path)


def sample(source: str, spark: SparkSession, path: str) -> None:
    """Takes every other key, by its hash."""
    Savepoint.load(spark, source).sample(0.5).write(path)


def migrate(source: str, spark: SparkSession, path: str) -> None:
    """Makes it a savepoint of Flink 2."""
    Savepoint.load(spark, source).migrate().write(path)


OF_COUNTS: Mapping[str, Way] = {
    "copy": copy,
    "subtasks": partial(rescale, max_parallelism=MAX_PARALLELISM),
    "rescale": partial(rescale, max_parallelism=NEW_MAX_PARALLELISM),
    "delete": delete,
    "update": update,
}
OF_POJOS: Mapping[str, Way] = {
    "again": written_again,
    "mask": mask,
    "sample": sample,
    "migrate": migrate,
}


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds, and the CPU time of all processes: of all, and of the system alone."""

    seconds: float
    cpu: float
    system: float

    @classmethod
    def of(cls, work: Callable[[], object]) -> Cost:
        """Does something."""
        before, start = _cpu(), time.perf_counter()
        work()
        seconds, after = time.perf_counter() - start, _cpu()
        return cls(seconds, after[0] - before[0], after[1] - before[1])


def _cpu() -> tuple[float, float]:
    times = [_ticks(process) for process in descendants(os.getpid())]
    second = os.sysconf("SC_CLK_TCK")
    return sum(map(sum, times)) / second, sum(it[1] + it[3] for it in times) / second


def _ticks(process: int) -> list[int]:
    """The time of the process and of the system in it, and that of its children that have ended."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
    # What is behind the name of the program: the 14th to 17th field of ``proc(5)``.
    return list(map(int, stat.rpartition(")")[2].split()[11:15]))


def measured(
    spark: SparkSession, source: Path, written: Path, ways: Mapping[str, Way], rounds: int
) -> dict[str, Cost]:
    """The least of each way in all rounds after a first one, which is all that ``rounds`` of 0 has."""
    costs: dict[str, Cost] = {}
    for number in range(rounds + 1):
        for name, way in ways.items():
            cost = Cost.of(partial(way, str(source), spark, str(written)))
            shutil.rmtree(written)
            is_counted = number or not rounds
            if is_counted and (name not in costs or cost.cpu < costs[name].cpu):
                costs[name] = cost
    return costs


def _parcels(keys: int, folder: Path = Path()) -> TypeSavepoint:
    (case,) = (case for case in CASES if case.name == "POJO of 7 fields")
    return TypeSavepoint(folder, case, keys)


def _source(folder: Path, form: str, keys: int) -> Path:
    if form != POJO:
        return BenchmarkSavepoint(folder, form, keys).path
    parcels = _parcels(keys, folder)
    parcels.make()
    return parcels.path("canonical")


def main() -> None:
    """Prints a row per way."""
    parser = sizes_parser(__doc__, keys=5_000_000)
    parser.add_argument("--form", choices=[*FORMS, POJO], default="grown")
    parser.add_argument("--only", choices=[*OF_COUNTS, *OF_POJOS], nargs="+", help="all by default")
    parser.add_argument(
        "--rounds", type=int, default=3, help="after the first, which is not counted"
    )
    options = parser.parse_args()
    pin()
    os.environ["SAVEPOINT_MASK_SECRET"] = SECRET
    all_ways = OF_POJOS if options.form == POJO else OF_COUNTS
    ways = {name: way for name, way in all_ways.items() if name in (options.only or all_ways)}
    written = options.folder / "changed"
    shutil.rmtree(written, ignore_errors=True)
    for keys in options.keys:
        source = _source(options.folder, options.form, keys)
        spark = local_session(f"local[{CORES}]")
        costs = measured(spark, source, written, ways, options.rounds)
        print(_HEADER, flush=True)
        for name, cost in costs.items():
            times = cost.cpu / next(iter(costs.values())).cpu
            print(
                f"| {options.form} | {keys / 1e6:g} M | `{name}` | {cost.seconds:.2f}"
                f" | {cost.cpu:.2f} | {cost.system:.2f} | {times:.1f} |",
                flush=True,
            )
        spark.stop()


if __name__ == "__main__":
    main()
