"""Makes all samples anew: python sample_savepoints/regenerate.py.

Needs a JDK 17 on PATH and pip, which fetches Flink. Every sample is a run of its own in a local
cluster of one JVM.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import time
from pathlib import Path

from expected import expected_json
from flink_home import CACHE, FlinkHome
from samples import MAX_PARALLELISM, OBJECTS, Sample, samples
from transactions import write_input

HERE = Path(__file__).resolve().parent
INPUT = HERE / "input"
METADATA = "_metadata"
MAGIC = bytes.fromhex("4960672d")

# Checkpoints name their files by absolute path, so what they say should be the same everywhere.
WRITTEN_AT = Path("/tmp/sample_savepoints")


def write(home: FlinkHome, sample: Sample, classes: Path) -> Path:
    """Runs the job of a sample; returns the folder of ``_metadata``."""
    folder, inbox = WRITTEN_AT / sample.name, WRITTEN_AT / "inbox"
    temporary = WRITTEN_AT / "temporary"
    for path in (folder, inbox, temporary):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    java = home.java(classes, ["-Xmx1g", f"-Djava.io.tmpdir={temporary}"])
    java += ["shop.SampleWriter", sample.case, str(INPUT), str(inbox)]
    java += [sample.variant.kind, folder.as_uri(), str(sample.variant.pause_s)]
    java += [f"{key}={value}" for key, value in sample.config(folder).items()]
    done = subprocess.run(java, check=True, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.splitlines()[-1].removeprefix("file:"))


def publish(sample: Sample, snapshot: Path, expected: str | None, into: Path) -> None:
    """Replaces the sample in a folder by what Flink wrote."""
    if (snapshot / METADATA).read_bytes()[:4] != MAGIC:
        raise ValueError(f"{snapshot / METADATA} does not begin with {MAGIC.hex(' ')}")
    # A checkpoint refers to the folders beside it.
    written = snapshot.parent if sample.variant.kind == "checkpoint" else snapshot
    folder = into / sample.name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(written, folder)
    if expected is not None:
        (folder / "expected.json").write_text(expected, encoding="utf-8")


def main() -> None:
    """Installs, compiles, runs."""
    options = _options()
    write_input(INPUT)
    homes = {version: options.cache / version for version in MAX_PARALLELISM}
    homes |= {version: Path(folder) for version, _, folder in options.flink_home}
    for version in options.flink or MAX_PARALLELISM:
        home = FlinkHome(version, homes[version])
        home.install()
        classes = home.compiled([HERE / "job"])
        for sample in samples():
            if sample.flink == version and options.only in sample.name:
                start = time.monotonic()
                # What is in objects is the tests' to say: it depends on what is known of them.
                expected = None if sample.case == OBJECTS else expected_json(sample)
                publish(sample, write(home, sample, classes), expected, options.into)
                print(f"{sample.name}: {time.monotonic() - start:.1f} s", flush=True)
    shutil.rmtree(WRITTEN_AT)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--flink", action="append", choices=list(MAX_PARALLELISM), help="all versions by default"
    )
    parser.add_argument("--only", default="", help="samples with this in their name")
    parser.add_argument("--into", type=Path, default=HERE, help="where the samples go")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where pip puts Flink")
    parser.add_argument(
        "--flink-home",
        action="append",
        default=[],
        type=lambda text: text.partition("="),
        metavar="VERSION=FOLDER",
        help="a version that pip has put elsewhere",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
